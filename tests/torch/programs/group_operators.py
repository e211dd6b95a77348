# SPDX-License-Identifier: Apache-2.0
"""Operators that take a group's name, on several ranks, against plain torch; test_ranks.py starts it. Says "all good" on each rank that has nothing to say."""

import os

import torch
import torch_npu
from torch import distributed

WRONG = []


def judge(name, found, expected, exact=False):
    torch.npu.synchronize()
    found = found.cpu()
    good = torch.equal(found, expected) if exact else torch.allclose(found.float(), expected.float(), rtol=2e-3, atol=2e-3)
    if found.shape != expected.shape or found.dtype != expected.dtype or not good:
        WRONG.append(f"{name}: {found.dtype} {tuple(found.shape)} {found.flatten()[:4].tolist()}, "
                     f"not {expected.dtype} {tuple(expected.shape)} {expected.flatten()[:4].tolist()}")


def values(*shape, seed, dtype=torch.float16):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) / 4).to(dtype)


def summed(parts):
    """As the group adds: in the order of the ranks, in float, rounded once."""
    total = parts[0].float()
    for part in parts[1:]:
        total = total + part.float()
    return total.to(parts[0].dtype)


def products(rank, world, name):
    for dtype in (torch.float16, torch.bfloat16):
        xs = [values(8 * world, 32, seed=each, dtype=dtype) for each in range(world)]
        ws = [values(32, 16, seed=100 + each, dtype=dtype) for each in range(world)]
        bias = values(16, seed=7, dtype=dtype)
        plain = [torch.matmul(x.npu(), w.npu()).cpu() for x, w in zip(xs, ws)]  # the plain operator's bits
        x, w = xs[rank].npu(), ws[rank].npu()
        judge(f"mm_all_reduce {dtype}", torch_npu.npu_mm_all_reduce_base(x, w, name), summed(plain), exact=True)
        composed = plain[rank].npu()
        distributed.all_reduce(composed)
        judge(f"mm_all_reduce {dtype}, composed", composed, summed(plain), exact=True)
        judge(f"mm_all_reduce {dtype} with bias", torch_npu.npu_mm_all_reduce_base(x, w, name, bias=bias.npu()),
              summed([each + bias for each in plain]), exact=True)
        judge(f"mm_reduce_scatter {dtype}", torch_npu.npu_mm_reduce_scatter_base(x, w, name, world),
              summed(plain)[8 * rank:8 * (rank + 1)], exact=True)
        part = xs[rank][:8].npu()
        out, gathered = torch_npu.npu_all_gather_base_mm(part, ws[0].npu(), name, world)
        everybody = torch.cat([each[:8] for each in xs])
        judge(f"all_gather_mm {dtype}: what was gathered", gathered, everybody, exact=True)
        judge(f"all_gather_mm {dtype}", out, torch.matmul(everybody.npu(), ws[0].npu()).cpu(), exact=True)


def large(rank, world, name):
    """Enough for a team of threads, and for ranks to read each other's blocks as they lie."""
    xs = [values(256, 300, seed=each) for each in range(world)]
    ws = [values(300, 640, seed=200 + each) for each in range(world)]
    for _ in range(3):  # a block is offered to the others from its second use on
        out = torch_npu.npu_mm_all_reduce_base(xs[rank].npu(), ws[rank].npu(), name)
        composed = torch.matmul(xs[rank].npu(), ws[rank].npu())
        distributed.all_reduce(composed)
        judge("large mm_all_reduce", out, composed.cpu(), exact=True)
    scattered = torch_npu.npu_mm_reduce_scatter_base(xs[rank].npu(), ws[rank].npu(), name, world)
    rows = 256 // world
    judge("large mm_reduce_scatter", scattered, composed.cpu()[rank * rows:(rank + 1) * rows], exact=True)


def quantised(rank, world, name):
    xs = [torch.randint(-8, 8, (4, 32), generator=torch.Generator().manual_seed(each)).to(torch.int8) for each in range(world)]
    ws = [torch.randint(-8, 8, (32, 16), generator=torch.Generator().manual_seed(50 + each)).to(torch.int8) for each in range(world)]
    column, token = values(16, seed=1, dtype=torch.float32).abs(), values(4, seed=2, dtype=torch.float32).abs()
    parts = [((x.float() @ w.float()) * column * token.unsqueeze(1)).half() for x, w in zip(xs, ws)]
    judge("quantised mm_all_reduce", torch_npu.npu_mm_all_reduce_base(xs[rank].npu(), ws[rank].npu(), name, dequant_scale=column.npu(),
                                                                      pertoken_scale=token.npu()), summed(parts))
    x = [values(4, 32, seed=each) for each in range(world)]
    scale = values(1, 16, seed=3)
    parts = [(each.float() @ (w.float() * scale.float())).half() for each, w in zip(x, ws)]
    judge("weight-quantised mm_all_reduce", torch_npu.npu_mm_all_reduce_base(x[rank].npu(), ws[rank].npu(), name, antiquant_scale=scale.npu()),
          summed(parts))


def exchanges(rank, world, name):
    xs = [values(4 * world, 16, seed=each) for each in range(world)]
    w = values(16 * world, 8, seed=30)
    rows = torch.cat([each[4 * rank:4 * (rank + 1)] for each in xs], 1)
    out = torch_npu.npu_all_to_all_matmul(xs[rank].npu(), w.npu(), name, world)
    judge("all_to_all_matmul: what was exchanged", out[1], rows, exact=True)
    judge("all_to_all_matmul", out[0], (rows.float() @ w.float()).half())
    w = values(16, 8 * world, seed=31)
    out = torch_npu.npu_matmul_all_to_all(xs[rank].npu(), w.npu(), name, world)
    judge("matmul_all_to_all", out, torch.cat([(x.float() @ w.float()).half()[:, 8 * rank:8 * (rank + 1)] for x in xs]))
    # Two experts on each rank; rank i sends i + j + 1 tokens to expert j of all.
    experts, width = 2, 16
    total = experts * world
    gives = [[source + expert % 3 + 1 for expert in range(total)] for source in range(world)]
    tokens = [values(sum(gives[source]), width, seed=60 + source) for source in range(world)]
    split = [torch.split(tokens[source], gives[source]) for source in range(world)]
    weights = [values(experts, width, 8, seed=70 + each) for each in range(world)]
    mine = [torch.cat([split[source][rank * experts + expert] for source in range(world)]) for expert in range(experts)]
    made = torch.cat([(rows.float() @ weights[rank][expert].float()).half() for expert, rows in enumerate(mine)])
    gets = [gives[source][rank * experts + expert] for source in range(world) for expert in range(experts)]
    out = torch_npu.npu_alltoallv_gmm(tokens[rank].npu(), weights[rank].npu(), name, world, gives[rank], gets)
    judge("alltoallv_gmm", out[0], made)
    back = torch_npu.npu_gmm_alltoallv(torch.cat(mine).npu(), weights[rank].npu(), name, world, gets, gives[rank])
    judge("gmm_alltoallv", back[0], torch.cat([(split[rank][each].float() @ weights[each // experts][each % experts].float()).half()
                                               for each in range(total)]))


def experts_apart(rank, world, name):
    """Each token is multiplied by its expert's number + 1, weighted and added up."""
    experts, tokens, width, chosen = 2 * world, 6, 32, 3
    for dtype, version in ((torch.float16, 1), (torch.bfloat16, 2)):
        x = values(tokens, width, seed=rank, dtype=dtype)
        ids = torch.stack([torch.randperm(experts, generator=torch.Generator().manual_seed(10 * rank + each))[:chosen] for each in range(tokens)]).int()
        weights = values(tokens, chosen, seed=20 + rank, dtype=torch.float32).abs()
        dispatch = torch_npu.npu_moe_distribute_dispatch if version == 1 else torch_npu.npu_moe_distribute_dispatch_v2
        combine = torch_npu.npu_moe_distribute_combine if version == 1 else torch_npu.npu_moe_distribute_combine_v2
        expand, _, idx, counts, ep, tp, scales = dispatch(x.npu(), ids.npu(), name, world, rank, experts, expert_scales=weights.npu(), global_bs=0)
        torch.npu.synchronize()
        counts = counts.cpu().tolist()
        everybody = [None] * world
        distributed.all_gather_object(everybody, ids.tolist())
        expected = [sum(row.count(2 * rank + local) for each in everybody for row in each) for local in range(2)]
        if counts != expected:
            WRONG.append(f"dispatch v{version}: {counts} tokens for each expert, not {expected}")
        factor = torch.cat([torch.full((count,), float(2 * rank + local + 1)) for local, count in enumerate(counts)]).to(dtype)
        worked = expand.clone()
        worked[:sum(counts)] *= factor.npu().unsqueeze(1)
        back = combine(worked, ids.npu(), idx, ep, weights.npu(), name, world, rank, experts, tp_send_counts=tp, expand_scales=scales, global_bs=0)
        made = sum((x * (ids[:, k:k + 1] + 1).to(dtype)).float() * weights[:, k:k + 1] for k in range(chosen)).to(dtype)
        judge(f"dispatch and combine v{version}", back, made)


def experts_in_int8(rank, world, name):
    """Tokens are quantised on the way, and one of each two ranks' worth of copies is masked."""
    experts, tokens, width, chosen = world, 4, 32, 2
    x = values(tokens, width, seed=40 + rank)
    ids = torch.tensor([[(rank + each) % experts, (rank + each + 1) % experts] for each in range(tokens)]).int()
    weights = torch.ones(tokens, chosen)
    active = torch.tensor([True, True, True, False])
    expand, dynamic, idx, counts, ep, tp, scales = torch_npu.npu_moe_distribute_dispatch_v2(
        x.npu(), ids.npu(), name, world, rank, experts, x_active_mask=active.npu(), quant_mode=2, global_bs=0)
    torch.npu.synchronize()
    count = int(counts.cpu().sum())
    if expand.dtype != torch.int8 or count != 6:
        WRONG.append(f"dispatch in int8: {expand.dtype}, {count} tokens came, not 6")
    worked = (expand.float() * dynamic.float().reshape(-1, 1)).half()
    back = torch_npu.npu_moe_distribute_combine_v2(worked, ids.npu(), idx, ep, weights.npu(), name, world, rank, experts, tp_send_counts=tp,
                                                   x_active_mask=active.npu(), expand_scales=scales, global_bs=0)
    torch.npu.synchronize()
    apart = (back.cpu()[:3].float() - 2 * x[:3].float()).abs().max() / x.float().abs().max()
    if apart > 2 / 127 or back.cpu()[3].abs().sum() != 0:
        WRONG.append(f"dispatch in int8 and combine: {apart} apart, the masked token is {back.cpu()[3][:4].tolist()}")


def shared_experts(rank, world, name):
    """The first rank has the shared expert, which doubles; the others have one expert each, which do nothing."""
    if world < 3:
        return
    experts, tokens, width = world - 1, 3, 32
    x = values(tokens, width, seed=80 + rank)
    ids = torch.tensor([[(rank + each) % experts] for each in range(tokens)]).int()
    weights = torch.full((tokens, 1), 0.5)
    shared = {"shared_expert_num": 1, "shared_expert_rank_num": 1, "global_bs": 0}
    expand, _, idx, _, ep, tp, scales = torch_npu.npu_moe_distribute_dispatch_v2(x.npu(), ids.npu(), name, world, rank, experts, **shared)
    worked = expand * 2 if rank == 0 else expand
    residual, gamma = values(tokens, 1, width, seed=90 + rank), values(width, seed=91)
    back = torch_npu.npu_moe_distribute_combine_v2(worked, ids.npu(), idx, ep, weights.npu(), name, world, rank, experts, tp_send_counts=tp,
                                                   expand_scales=scales, **shared)
    judge("shared experts", back, (2.5 * x.float()).half())
    y, _, added = torch_npu.npu_moe_distribute_combine_add_rms_norm(worked, ids.npu(), idx, ep, weights.npu(), residual.npu(), gamma.npu(), name, world, rank,
                                                                    experts, tp_send_counts=tp, expand_scales=scales, **shared)
    total = ((2.5 * x.float()).half().view(tokens, 1, width) + residual).float()
    judge("combine, add", added, total.half())
    judge("combine, add, norm", y, (total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * gamma.float()).half())


def experts_in_8_bit_floats(rank, world, name):
    """Two experts on each rank, two tokens for each from everybody: values in 8-bit floats with a power of two for 32 of them."""
    experts, width, count = 2, 64, 4 * world

    def powers(*shape, seed):
        return torch.randint(125, 130, shape, generator=torch.Generator().manual_seed(seed)).to(torch.uint8)

    def plain(x, scale):
        return x.float() * torch.exp2(scale.flatten(-2).float() - 127).repeat_interleave(32, -1)

    def there(tensor, dtype):
        return tensor.view(torch.uint8).npu().view(dtype)

    eight, power = torch.float8_e4m3fn, torch.float8_e8m0fnu
    xs, scales = [values(count, width, seed=each).to(eight) for each in range(world)], [powers(count, 1, 2, seed=20 + each) for each in range(world)]
    ws, columns = [values(experts, width, 8, seed=40 + each).to(eight) for each in range(world)], [powers(experts, 8, 1, 2, seed=60 + each) for each in range(world)]
    matrices = [[plain(ws[each][expert].t(), columns[each][expert]).t() for expert in range(experts)] for each in range(world)]
    split = [plain(x, scale).split(2) for x, scale in zip(xs, scales)]
    made = torch.cat([split[source][rank * experts + expert] @ matrices[rank][expert] for expert in range(experts) for source in range(world)]).half()
    back = torch.cat([split[rank][each] @ matrices[each // experts][each % experts] for each in range(experts * world)]).half()
    by_expert = [(source, 2 * (rank * experts + expert) + row) for expert in range(experts) for source in range(world) for row in range(2)]
    came = torch.stack([xs[source].view(torch.uint8)[row] for source, row in by_expert])
    came_scales = torch.stack([scales[source][row] for source, row in by_expert])
    weight, column = there(ws[rank], eight), there(columns[rank].transpose(1, 2).contiguous(), power)
    counts = [2] * (experts * world)
    mx = {"gmm_x_quant_mode": 6, "gmm_weight_quant_mode": 6, "gmm_x_scale_dtype": torch_npu.float8_e8m0fnu, "gmm_weight_scale_dtype": torch_npu.float8_e8m0fnu}
    half = 5  # torch's number of float16
    out = torch_npu.npu_alltoallv_quant_gmm(there(xs[rank], eight), weight, there(scales[rank], power), column, name, world, counts, counts, half, **mx)
    judge("alltoallv_quant_gmm", out[0], made)
    out = torch_npu.npu_quant_gmm_alltoallv(there(came, eight), weight, there(came_scales, power), column, name, world, counts, counts, half, **mx)
    judge("quant_gmm_alltoallv", out[0], back)
    # Tokens that a dispatch quantises so, each for one expert.
    x = [values(experts * world, width, seed=80 + each, dtype=torch.bfloat16) for each in range(world)]
    ids = torch.arange(experts * world, dtype=torch.int32).view(-1, 1)
    rows, scale, *_ = torch_npu.npu_moe_distribute_dispatch_v2(x[rank].npu(), ids.npu(), name, world, rank, experts * world, quant_mode=2,
                                                               y_dtype=torch_npu.float8_e4m3fn)
    torch.npu.synchronize()
    expected = torch.stack([each[token] for token in range(rank * experts, (rank + 1) * experts) for each in x]).float()
    rows, scale = rows.view(torch.uint8).cpu().view(eight)[:len(expected)].float(), scale.cpu()[:len(expected)]
    apart = (rows * scale.unsqueeze(1) - expected).abs().max() / expected.abs().max()
    if apart > 1 / 16:
        WRONG.append(f"dispatch in 8-bit floats: {apart} apart")


def main():
    rank = int(os.environ["RANK"])
    world = int(os.environ["WORLD_SIZE"])
    torch.npu.set_device(rank)
    distributed.init_process_group("hccl")
    group = distributed.distributed_c10d._get_default_group()
    name = group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)
    for part in (products, large, quantised, exchanges, experts_apart, experts_in_int8, experts_in_8_bit_floats, shared_experts):
        try:
            part(rank, world, name)
        except (RuntimeError, TypeError, ValueError) as error:
            WRONG.append(f"{part.__name__}: {error}")
    try:
        torch_npu.npu_mm_all_reduce_base(values(4, 8, seed=1).npu(), values(8, 4, seed=2).npu(), "nobody")
        torch.npu.synchronize()
        WRONG.append("a group that nobody knows was accepted")
    except RuntimeError as error:
        if "no group 'nobody'" not in str(error) or name not in str(error):
            WRONG.append(f"an unknown group: {error}")
    os.write(1, ("\n".join([f"rank {rank}: {each}" for each in WRONG] or [f"rank {rank}: all good"]) + "\n").encode())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
