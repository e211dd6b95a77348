# SPDX-License-Identifier: Apache-2.0
"""GE attention, rotary embedding, quantisation, experts, collectives and lists, against plain torch: the shape that the library tells, then the values."""

import pytest
import torch
import torch.nn.functional as F

I8, I32, I64 = torch.int8, torch.int32, torch.int64


def values(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def whole(low, high, *shape, seed=1, dtype=I8):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def ints(*numbers, dtype=I64):
    return torch.tensor(list(numbers), dtype=dtype)


def compare(ge, kind, inputs, attributes, want, refs=None, atol=1e-4):
    want = list(want) if isinstance(want, (list, tuple)) else [want]
    for have, wanted in zip(ge.run(kind, inputs, attributes, outputs=len(want), refs=refs), want):
        if wanted is not None:
            assert (have.shape, have.dtype) == (wanted.shape, wanted.dtype)
            torch.testing.assert_close(have, wanted, atol=atol, rtol=1e-3)


# Attention: 2 batches, 4 heads over 2 key heads, 6 queries, 5 keys, heads of 8.
Q, K, V = values(2, 4, 6, 8), values(2, 2, 5, 8, seed=2), values(2, 2, 5, 8, seed=3)
SCALE = 8 ** -0.5


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k.repeat_interleave(q.size(1) // k.size(1), 1), v.repeat_interleave(q.size(1) // k.size(1), 1))


def flat(x):
    """BNSD to BSH."""
    return x.transpose(1, 2).flatten(2)


OUT = attention(Q, K, V)
SCORES = Q @ K.repeat_interleave(2, 1).mT * SCALE
MAX = SCORES.amax(-1)
SUM = (SCORES - MAX.unsqueeze(-1)).exp().sum(-1)
LSE = torch.logsumexp(SCORES, -1, keepdim=True)
DOUT = values(2, 4, 6, 8, seed=4)
DQ, DK, DV = torch.autograd.functional.vjp(attention, (Q, K, V), DOUT)[1]


def eight(x):
    return x.unsqueeze(-1).expand(*x.shape, 8).contiguous()


ATTENTION = [
    ("FlashAttentionScore", [Q, K, V], {"head_num": 4, "input_layout": "BNSD", "scale_value": SCALE}, (eight(MAX), eight(SUM), torch.zeros(0), OUT)),
    ("FlashAttentionScore", [flat(Q), flat(K), flat(V)], {"head_num": 4, "input_layout": "BSH", "scale_value": SCALE}, (None, None, None, flat(OUT))),
    ("FlashAttentionScoreGrad", [Q, K, V, DOUT, None, None, None, None, eight(MAX), eight(SUM), None, OUT],
     {"head_num": 4, "input_layout": "BNSD", "scale_value": SCALE}, (DQ, DK, DV)),
    ("FusedInferAttentionScore", [Q, K, V] + [None] * 28, {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BNSD", "scale": SCALE,
                                                          "softmax_lse_flag": True}, (OUT, LSE)),
    ("FusedInferAttentionScore", [flat(Q), flat(K), flat(V)] + [None] * 28, {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BSH", "scale": SCALE},
     (flat(OUT), torch.zeros(1))),
    ("FusedInferAttentionScore", [Q, K, V] + [None] * 28, {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BNSD_BSND", "scale": SCALE},
     (OUT.transpose(1, 2).contiguous(), None)),
    ("PromptFlashAttention", [Q, K, V], {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BNSD", "scale_value": SCALE, "next_tokens": 2147483647}, OUT),
    ("IncreFlashAttention", [Q[:, :, :1].contiguous(), K, V] + [None] * 12,
     {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "BNSD", "scale_value": SCALE}, OUT[:, :, :1].contiguous()),
]
HEADS, COS, SIN = values(2, 3, 4, 8), values(1, 3, 1, 8, seed=5), values(1, 3, 1, 8, seed=6)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


DHEADS = values(2, 3, 4, 8, seed=7)
ROTARY_GRADS = torch.autograd.functional.vjp(rotate, (HEADS, COS, SIN), DHEADS)[1]
ROTARY = [
    ("RotaryMul", [HEADS, COS, SIN], {}, rotate(HEADS, COS, SIN)),
    ("RotaryMulGrad", [HEADS, COS, SIN, DHEADS], {}, ROTARY_GRADS),
    ("RotaryPositionEmbedding", [HEADS, COS, SIN], {"mode": 0}, rotate(HEADS, COS, SIN)),
]
ROWS = values(4, 16)
ROW_SCALE = ROWS.abs().amax(-1) / 127
A8, B8 = whole(-20, 20, 4, 16), whole(-20, 20, 16, 8, seed=2)
COLUMN_SCALE, TOKEN_SCALE = values(8, seed=3).abs() / 100, values(4, seed=4).abs()
PRODUCT = A8.float() @ B8.float()
GATE = values(4, 32, seed=5)
QUANT = [
    ("AscendQuantV2", [ROWS, torch.tensor([20.0])], {"dst_type": 2}, (ROWS * 20).round().clamp(-128, 127).to(I8)),
    ("AscendQuant", [ROWS], {"scale": 20.0, "offset": 3.0}, (ROWS * 20 + 3).round().clamp(-128, 127).to(I8)),
    ("AscendDequant", [PRODUCT.int(), torch.tensor([0.5])], {"dtype": 1}, (PRODUCT * 0.5).half()),
    ("AscendAntiQuantV2", [A8, torch.tensor([0.5]), torch.tensor([1.0])], {"dst_type": 1}, ((A8 + 1.0) * 0.5).half()),
    ("DynamicQuant", [ROWS.half()], {}, ((ROWS.half() / (ROWS.half().float().abs().amax(-1, keepdim=True) / 127)).round().to(I8),
                                         ROWS.half().float().abs().amax(-1) / 127)),
    ("QuantBatchMatmulV3", [A8, B8, COLUMN_SCALE, None, None, TOKEN_SCALE], {"dtype": 1}, (PRODUCT * COLUMN_SCALE * TOKEN_SCALE.unsqueeze(1)).half()),
    ("QuantBatchMatmulV3", [A8, B8.T.contiguous(), COLUMN_SCALE], {"dtype": 1, "transpose_x2": True}, (PRODUCT * COLUMN_SCALE).half()),
    ("WeightQuantBatchMatmulV2", [ROWS.half(), B8, COLUMN_SCALE.half()], {}, (ROWS.half().float() @ (B8 * COLUMN_SCALE.half().float())).half()),
    ("WeightQuantBatchMatmulV2", [ROWS.half(), B8.T.contiguous(), COLUMN_SCALE.half()], {"transpose_weight": True},
     (ROWS.half().float() @ (B8 * COLUMN_SCALE.half().float())).half()),
    ("DequantBias", [PRODUCT.int(), COLUMN_SCALE, TOKEN_SCALE], {"output_dtype": 1}, (PRODUCT * COLUMN_SCALE * TOKEN_SCALE.unsqueeze(1)).half()),
    ("DequantSwigluQuant", [GATE.half()], {"quant_mode": "dynamic"}, None),
    ("FFN", [ROWS.half(), values(16, 32, seed=6).half(), values(32, 16, seed=7).half()], {"activation": "relu"},
     ((ROWS.half().float() @ values(16, 32, seed=6).half().float()).relu() @ values(32, 16, seed=7).half().float()).half()),
]
TOKENS, EXPERTS = values(6, 8), whole(0, 4, 6, 2, seed=3, dtype=I32)
ROUTER = values(6, 4, seed=4)
TOP = torch.softmax(ROUTER, -1).topk(2)
ORDER = EXPERTS.flatten().long().argsort(stable=True)
MOE = [
    ("MoeGatingTopKSoftmax", [ROUTER], {"k": 2}, (TOP.values, TOP.indices.int(), (torch.arange(12).view(2, 6).T).int())),
    ("MoeComputeExpertTokens", [ints(0, 0, 1, 3, dtype=I32)], {"num_experts": 4}, ints(2, 3, 3, 4, dtype=I32)),
    ("MoeInitRoutingV3", [TOKENS, EXPERTS], {"active_num": 12, "expert_num": 4, "expert_tokens_num_type": 1, "expert_tokens_num_flag": True,
                                             "active_expert_range": [0, 4]},
     (TOKENS[ORDER // 2], ORDER.argsort().int(), EXPERTS.flatten().bincount(minlength=4), None)),
    ("MoeFinalizeRoutingV2", [TOKENS[ORDER // 2], ORDER.argsort().view(6, 2).T.flatten().int(), None, None, None, TOP.values], {},
     TOKENS * TOP.values.sum(-1, keepdim=True)),
]
LISTED = [values(3, 4), values(5, seed=2)]
W1, W2 = values(16, 8, seed=6), values(16, 8, seed=7)
MISC = [
    ("ForeachMulScalarList", [*LISTED, torch.tensor([2.0, 3.0])], {}, (LISTED[0] * 2, LISTED[1] * 3)),
    ("ForeachNorm", [*LISTED, torch.tensor([2.0])], {}, (LISTED[0].norm(), LISTED[1].norm())),
    ("ForeachLerpScalar", [LISTED[0], LISTED[0] * 3, torch.tensor([0.25])], {}, LISTED[0] * 1.5),
    ("ForeachPowScalarAndTensor", [torch.tensor([2.0]), *LISTED], {}, (2 ** LISTED[0], 2 ** LISTED[1])),
    ("Einsum", [values(2, 3, 4), values(4, 5, seed=2)], {"equation": "bij,jk->bik", "N": 2}, values(2, 3, 4) @ values(4, 5, seed=2)),
    ("FFT", [torch.complex(values(3, 8), values(3, 8, seed=2))], {}, torch.fft.fft(torch.complex(values(3, 8), values(3, 8, seed=2)))),
    ("HcomAllReduce", [ROWS], {"reduction": "sum", "group": "hccl_world_group", "fusion": 0}, ROWS),
    ("HcomAllGather", [ROWS], {"rank_size": 1, "group": "hccl_world_group"}, ROWS),
    ("HcomReduceScatter", [ROWS], {"rank_size": 1, "reduction": "max", "group": "hccl_world_group"}, ROWS),
    ("HcomBroadcast", [*LISTED], {"root_rank": 0, "group": "hccl_world_group", "fusion": 0}, LISTED),
    ("HcomAllToAllV", [ROWS.flatten(), ints(8), ints(4), ints(8), ints(0)], {"group": "hccl_world_group"}, ROWS.flatten()[4:12]),
    ("MatmulAllReduce", [ROWS, W1, values(8)], {"group": "hccl_world_group"}, ROWS @ W1 + values(8)),
    ("AllGatherMatmul", [ROWS, W1], {"group": "hccl_world_group", "rank_size": 1}, (ROWS @ W1, ROWS)),
    ("AddLora", [torch.zeros(2, 6), values(2, 4, seed=2), values(3, 1, 6, 2, seed=3), ints(2, 0, dtype=I32), values(3, 1, 2, 4, seed=4)], {"scale": 1.0},
     torch.stack([values(3, 1, 6, 2, seed=3)[which, 0] @ values(3, 1, 2, 4, seed=4)[which, 0] @ values(2, 4, seed=2)[row]
                  for row, which in enumerate((2, 0))])),
    ("GroupedMatmul", [ROWS, torch.stack([W1, W2]), *[torch.zeros(0)] * 5, ints(1, 4)], {"split_item": 3, "group_type": 0, "dtype": -1},
     torch.cat([ROWS[:1] @ W1, ROWS[1:] @ W2])),
]
CASES = [case for case in ATTENTION + ROTARY + QUANT + MOE + MISC if case[3] is not None]


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, case):
    compare(ge, *case)


def test_rotary_embedding_turns_query_and_key_in_place(ge):
    compare(ge, "ApplyRotaryPosEmb", [HEADS, DHEADS, COS, SIN], {"layout": 1}, (rotate(HEADS, COS, SIN), rotate(DHEADS, COS, SIN)), refs={0: 0, 1: 1})


@pytest.mark.parametrize("sent, sent_from", [(8, 2**63 - 1), (2**63 - 1, 4)])
def test_a_part_whose_end_cannot_be_counted_is_refused(ge, sent, sent_from):
    with pytest.raises((AssertionError, RuntimeError), match="do not lie within the tensor"):
        ge.run("HcomAllToAllV", [ROWS.flatten(), ints(sent), ints(sent_from), ints(8), ints(0)], {"group": "hccl_world_group"})


def test_a_group_with_more_ranks_is_refused(ge):
    with pytest.raises((AssertionError, RuntimeError), match="has 1 ranks, and 2 were told"):
        ge.run("HcomAllGather", [ROWS], {"rank_size": 2, "group": "hccl_world_group"})


def test_text_is_printed_with_its_tensors(ge, capfd):
    text, = ge.run("StringFormat", [torch.tensor([[1.5, -2.0]]), torch.arange(20)], {"template": "x={} n={}!", "placeholder": "{}", "summarize": 2})
    ge.run("PrintV2", [text], {"output_stream": "stderr"}, outputs=0)
    assert "x=[[1.5 -2]] n=[0 1 ... 18 19]!" in capfd.readouterr().err
