# SPDX-License-Identifier: Apache-2.0
"""Every aclnn function that takes a group's name, called as a C program calls it, against its page's formula in plain torch; test_ranks.py starts it.

A call names the arguments that matter; the operator table says what there are, and form() fills in the rest. A function of the table's mc2.ops that nobody
calls here is complained of. Says "all good" on each rank that has nothing to say."""

import functools
import os
import re
import sys
from pathlib import Path

import torch
import torch_npu  # noqa: F401  registers the device
from torch import distributed

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "torch" / "ops"))
from aclnn_calls import Aclnn, room

E4, E5, E8 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
HALF, BRAIN, FLOAT = torch.float16, torch.bfloat16, torch.float32
LARGEST = {torch.int8: 127.0, E4: 448.0, E5: 57344.0}
WRONG, CALLED = [], set()


class Ranks:
    """This rank, its group, and the calls."""

    def __init__(self):
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.npu.set_device(self.rank)
        distributed.init_process_group("hccl")
        self.group = ""
        self.aclnn = Aclnn()

    def name_of(self, group):
        return group._get_backend(torch.device("npu")).get_hccl_comm_name(self.rank)

    def arguments(self, name, expected, given):
        """In the table's order: what is given, room for what is expected, else what means nothing."""
        usual = {"group": self.group, "groupEp": self.group, "groupTp": "", "reduceOp": "sum", "commMode": "ai_cpu", "commAlg": "", "streamMode": 1,
                 "epWorldSize": self.world, "worldSize": self.world, "epRankId": self.rank, "commQuantDtype": -1, "expertTokenNumsType": 1}
        words, outputs = [], {}
        for argument in self.aclnn.rows[name].args:
            short = argument.name.removesuffix("Optional").removesuffix("Out") if argument.kind == "kTensor" else argument.name.removesuffix("Optional")
            key = next((key for key in (argument.name, short) if key in given or key in expected), short)
            value = given.get(key)
            if value is None and key in expected:
                value = room(*expected[key].shape, dtype=expected[key].dtype)
            if value is None and key not in given:
                value = usual.get(argument.name, {"kBool": False, "kInt": 0, "kDouble": 1e-6}.get(argument.kind))
            if argument.flow:
                outputs[key] = value
            if value is None and not argument.optional and argument.kind != "kString":
                raise TypeError(f"{name} needs {argument.name}")
            words.append(value)
        return words, outputs

    def form(self, name, expected, near=2e-3, **given):
        """Calls it, compares what is expected with what it wrote, and gives all of that."""
        CALLED.add(name)
        words, outputs = self.arguments(name, expected, given)
        code, said = self.aclnn.status(name, words)
        if code != 0:
            raise RuntimeError(f"{name}: {code} {said}")
        for key, want in expected.items():
            if key not in outputs:
                raise TypeError(f"{name} has no output {key}")
            found = outputs[key]
            exact = near == 0 or not want.dtype.is_floating_point
            good = same(found, want) if exact else torch.allclose(found.float(), want.float(), rtol=near, atol=near)
            if not good:
                WRONG.append(f"{name} {sorted(given)}: {key} is {found.flatten()[:4].float().tolist()}, not {want.flatten()[:4].float().tolist()}; "
                             f"{(found.float() - want.float()).abs().max()} apart")
        return outputs

    def refused(self, name, text, expected=None, **given):
        """The first phase must say no, with this text."""
        CALLED.add(name)
        words, _ = self.arguments(name, expected or {}, given)
        code, said = self.aclnn.status(name, words)
        if code == 0 or text not in said:
            WRONG.append(f"{name} {sorted(given)}: '{text}' is not in: {code} {said}")


def same(found, want):
    return found.dtype == want.dtype and found.shape == want.shape and found.contiguous().view(torch.uint8).equal(want.contiguous().view(torch.uint8))


def values(*shape, seed, dtype=HALF, scale=0.25):
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def whole(*shape, seed, dtype=torch.int8):
    return torch.randint(-8, 8, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def summed(parts):
    """As the group adds: in the order of the ranks, in float, rounded once."""
    total = parts[0].float()
    for part in parts[1:]:
        total = total + part.float()
    return total.to(parts[0].dtype)


def spread(scale, block, size, dim):
    return scale.float().repeat_interleave(block, dim).narrow(dim, 0, size)


def squares(x, scale):
    """One scale for 128 x 128 values."""
    return x.float() * spread(spread(scale, 128, x.shape[-2], -2), 128, x.shape[-1], -1)


def powers(*shape, seed):
    """Scales in float8_e8m0: the bytes are exponents."""
    return torch.randint(124, 131, shape, generator=torch.Generator().manual_seed(seed)).to(torch.uint8).view(E8)


def mx(x, scale):
    """One power of two for 32 values of the last dimension."""
    exponents = scale.view(torch.uint8).reshape(*x.shape[:-1], -1).float() - 127
    return x.float() * spread(torch.exp2(exponents), 32, x.shape[-1], -1)


def pairs(length):
    return (length + 63) // 64


def norm(x, gamma):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gamma.float()


def sums(r):
    """Products that are added up."""
    xs, ws = ([values(*shape, seed=seed + each) for each in range(r.world)] for shape, seed in (((6, 32), 0), ((32, 16), 50)))
    x3, bias = [values(6, 16, seed=90 + each) for each in range(r.world)], values(16, seed=5)
    plain = [(x.float() @ w.float()).half() for x, w in zip(xs, ws)]
    given = {"x1": xs[r.rank], "x2": ws[r.rank]}
    for name in ("aclnnMatmulAllReduce", "aclnnMatmulAllReduceV2", "aclnnMatmulAllReduceV3"):
        r.form(name, {"output": summed([part + bias for part in plain])}, bias=bias, **given)
        for text, wrong in (("only 1 (stop", {"streamMode": 0}), ("only 0 (the device", {"commTurn": 2}), ("only sum is", {"reduceOp": "max"})):
            r.refused(name, text, {"output": plain[0]}, **wrong, **given)
    for name in ("aclnnMatmulAllReduceV2", "aclnnMatmulAllReduceV3"):
        r.form(name, {"output": summed([part + more for part, more in zip(plain, x3)])}, x3=x3[r.rank], **given)
    residual, gamma = values(6, 16, seed=7), values(16, seed=8)
    total = (summed(plain) + residual).float()
    made = {"y": total.half(), "norm": norm(total, gamma).half()}
    r.form("aclnnMatmulAllReduceAddRmsNorm", made, residual=residual, gamma=gamma, **given)
    r.form("aclnnInplaceMatmulAllReduceAddRmsNorm", {"residual": made["y"], "norm": made["norm"]}, residual=residual.clone(), gamma=gamma, **given)
    # A weight in int8 with a scale and an offset for each column.
    eight, scale, offset = [whole(32, 16, seed=60 + each) for each in range(r.world)], values(1, 16, seed=3), values(1, 16, seed=4)
    parts = [(x.float() @ ((w.float() + offset.float()) * scale.float())).half() for x, w in zip(xs, eight)]
    given = {"x1": xs[r.rank], "x2": eight[r.rank], "antiquantScale": scale, "antiquantOffset": offset}
    for name in ("aclnnWeightQuantMatmulAllReduce", "aclnnWeightQuantMatmulAllReduceV2"):
        r.form(name, {"output": summed(parts)}, **given)
    # The pages of the forms with a norm add the offset when x2 has been scaled.
    parts = [(x.float() @ (w.float() * scale.float() + offset.float())).half() for x, w in zip(xs, eight)]
    total = (summed(parts) + residual).float()
    made = {"y": total.half(), "norm": norm(total, gamma).half()}
    r.form("aclnnWeightQuantMatmulAllReduceAddRmsNorm", made, residual=residual, gamma=gamma, **given)
    r.form("aclnnInplaceWeightQuantMatmulAllReduceAddRmsNorm", {"residual": made["y"], "norm": made["norm"]}, residual=residual.clone(), gamma=gamma, **given)


def quantised_sums(r):
    xs, ws = ([whole(*shape, seed=seed + each) for each in range(r.world)] for shape, seed in (((5, 32), 0), ((32, 16), 50)))
    column, token = values(16, seed=1, dtype=FLOAT).abs(), values(5, seed=2, dtype=FLOAT).abs()
    once = [(x.float() @ w.float()) * column for x, w in zip(xs, ws)]
    parts = [(part * token.unsqueeze(1)).half() for part in once]
    given = {"x1": xs[r.rank], "x2": ws[r.rank], "dequantScale": column, "pertokenScale": token, "x1Scale": token, "x2Scale": column}
    r.form("aclnnQuantMatmulAllReduce", {"output": summed([part.half() for part in once])}, **given)
    forms = ["aclnnQuantMatmulAllReduce" + version for version in ("V2", "V3", "V4", "V5")]
    for name in forms:
        r.form(name, {"output": summed(parts)}, **given)
    # On the way in int8: quantised, added up as integers, quantised again.
    there, back = ((values(16, seed=seed, dtype=FLOAT).abs() + 0.05).half() for seed in (11, 12))
    sent = [(part.float() / there.float()).round().clamp(-128, 127) for part in parts]
    total = (sum(sent) * (there.float() / back.float())).round().clamp(-128, 127)
    for name in forms[1:]:
        r.form(name, {"output": (total * back.float()).half()}, commQuantScale1=there, commQuantScale2=back, **given)
    residual, gamma = values(5, 16, seed=7), values(16, seed=8)
    total = (summed([part.half() for part in once]) + residual).float()
    made = {"y": total.half(), "norm": norm(total, gamma).half()}
    r.form("aclnnQuantMatmulAllReduceAddRmsNorm", made, residual=residual, gamma=gamma, **given)
    r.form("aclnnInplaceQuantMatmulAllReduceAddRmsNorm", {"residual": made["y"], "norm": made["norm"]}, residual=residual.clone(), gamma=gamma, **given)
    for name in forms[2:]:
        r.refused(name, "communication in 8-bit floats", {"output": parts[0]}, commQuantMode=1, **given)


def eights(r, rows, seed):
    """Each rank's 8-bit floats: rows x 200 and 200 x 140, neither whole blocks."""
    return [(values(rows, 200, seed=seed + each).to(E4), values(200, 140, seed=seed + 50 + each).to(E5)) for each in range(r.world)]


def block_sums(r):
    """8-bit floats with scales for rows and columns, for 128 x 128 values, and for 32."""
    both, bias = eights(r, 130, 300), values(140, seed=9, dtype=FLOAT)
    x, w = both[r.rank]
    token, column = values(130, seed=1, dtype=FLOAT).abs(), values(140, seed=2, dtype=FLOAT).abs()
    left, right = values(2, 2, seed=3, dtype=FLOAT).abs(), values(2, 2, seed=4, dtype=FLOAT).abs()
    lines, columns = powers(130, pairs(200), 2, seed=5), powers(140, pairs(200), 2, seed=6)
    inside = [((x.float() @ w.float() + bias) * token.unsqueeze(1) * column).half() for x, w in both]
    square = [(squares(x, left) @ squares(w, right)).half() for x, w in both]
    block = [(mx(x, lines) @ mx(w.t(), columns).t() + bias).half() for x, w in both]
    for name in ("aclnnQuantMatmulAllReduceV4", "aclnnQuantMatmulAllReduceV5"):
        r.form(name, {"output": summed(inside)}, near=1e-2, x1=x, x2=w, bias=bias, x1Scale=token, x2Scale=column)
        r.form(name, {"output": summed(square)}, near=1e-2, x1=x, x2=w, x1Scale=left, x2Scale=right, groupSize=128 | 128 << 16 | 128 << 32)
        r.form(name, {"output": summed(block)}, near=5e-2, x1=x, x2=w, bias=bias, x1Scale=lines, x2Scale=columns, groupSize=32 | 1 << 16 | 1 << 32)


def gathers(r):
    xs, plain, bias = [values(5, 32, seed=each) for each in range(r.world)], values(32, 16, seed=50), values(16, seed=5)
    everybody = torch.cat(xs)
    made = {"output": (everybody.float() @ plain.float()).half() + bias, "gather": everybody}
    for name in ("aclnnAllGatherMatmul", "aclnnAllGatherMatmulV2"):
        r.form(name, made, x1=xs[r.rank], x2=plain, bias=bias)
    wholes = [values(6 * r.world, 32, seed=20 + each) for each in range(r.world)]
    total = summed([(x.float() @ plain.float()).half() for x in wholes])[6 * r.rank:6 * (r.rank + 1)]
    for name in ("aclnnMatmulReduceScatter", "aclnnMatmulReduceScatterV2"):
        r.form(name, {"output": total}, x1=wholes[r.rank], x2=plain)
    # Quantised: the scales of each rank's rows are gathered as well.
    eight, right = [whole(5, 32, seed=each) for each in range(r.world)], whole(32, 16, seed=70)
    token, column = [values(5, 1, seed=80 + each, dtype=FLOAT).abs() for each in range(r.world)], values(1, 16, seed=2, dtype=FLOAT).abs()
    r.form("aclnnAllGatherMatmulV2", {"output": ((torch.cat(eight).float() @ right.float()) * torch.cat(token) * column).half(), "gather": torch.cat(eight)},
           x1=eight[r.rank], x2=right, x1Scale=token[r.rank], x2Scale=column)
    both = eights(r, 130, 400)
    x, w = both[r.rank][0], both[0][1]
    left, right = [values(2, 2, seed=30 + each, dtype=FLOAT).abs() for each in range(r.world)], values(2, 2, seed=4, dtype=FLOAT).abs()
    lines, columns = [powers(130, pairs(200), 2, seed=40 + each) for each in range(r.world)], powers(140, pairs(200), 2, seed=6)
    square = torch.cat([squares(each, scale) for (each, _), scale in zip(both, left)]) @ squares(w, right)
    block = torch.cat([mx(each, scale) for (each, _), scale in zip(both, lines)]) @ mx(w.t(), columns).t()
    r.form("aclnnAllGatherMatmulV2", {"output": square, "gather": torch.cat([bytes_of(each) for each, _ in both]).view(E4)}, x1=x, x2=w, x1Scale=left[r.rank], x2Scale=right)
    r.form("aclnnAllGatherMatmulV2", {"output": block}, x1=x, x2=w, x1Scale=lines[r.rank], x2Scale=columns)
    rows = 40 * r.world
    both = eights(r, rows, 500)
    x, w = both[r.rank]
    left, lines = values((rows + 127) // 128, 2, seed=31, dtype=FLOAT).abs(), powers(rows, pairs(200), 2, seed=32)
    mine = slice(40 * r.rank, 40 * (r.rank + 1))
    r.form("aclnnMatmulReduceScatterV2", {"output": summed([squares(each, left) @ squares(other, right) for each, other in both])[mine]}, x1=x, x2=w, x1Scale=left,
           x2Scale=right)
    r.form("aclnnMatmulReduceScatterV2", {"output": summed([mx(each, lines) @ mx(other.t(), columns).t() for each, other in both])[mine]}, x1=x, x2=w,
           x1Scale=lines, x2Scale=columns)
    for name in ("aclnnAllGatherMatmulV2", "aclnnMatmulReduceScatterV2"):
        r.refused(name, "a quantised result (quantScale)", {"output": total}, x1=wholes[r.rank], x2=plain, quantScale=torch.ones(1))


def exchanges(r):
    """Rows go to ranks and stand side by side, or columns do and stand below each other."""
    xs, w = [values(4 * r.world, 24, seed=each) for each in range(r.world)], values(24 * r.world, 8, seed=30)
    mine = slice(4 * r.rank, 4 * (r.rank + 1))
    rows = torch.cat([each[mine] for each in xs], 1)
    for name in ("aclnnAlltoAllMatmul", "aclnnAlltoAllMatmulV2"):
        r.form(name, {"output": (rows.float() @ w.float()).half(), "alltoAll": rows}, x1=xs[r.rank], x2=w, alltoAllAxes=[-2, -1])
    # Rows that are quantised when they have come; a smoothing of their columns goes before.
    smooth, column, bias = values(24 * r.world, seed=31).abs() + 0.5, values(8, seed=32, dtype=FLOAT).abs(), values(8, seed=33, dtype=FLOAT)
    eight = whole(24 * r.world, 8, seed=34)
    given = {"x1": xs[r.rank], "x1QuantMode": 7, "x2QuantMode": 2, "bias": bias, "x2Scale": column}
    quantised, scale = by_row(rows.float() * smooth.float(), torch.int8)
    made = {"output": ((quantised.float() @ eight.float()) * scale * column + bias).half(), "alltoAll": rows}
    floats = w.to(E4)
    quantised, scale = by_row(rows.float(), E5)
    inside = {"output": ((quantised.float() @ floats.float() + bias) * scale * column).half()}
    packed, lines, columns = [x.to(E4) for x in xs], [powers(4 * r.world, 1, 2, seed=35 + each) for each in range(r.world)], powers(8, pairs(24 * r.world), 2, seed=39)
    left = torch.cat([mx(x[mine], scale[mine]) for x, scale in zip(packed, lines)], 1)
    block = {"output": left @ mx(floats.t().contiguous(), columns).t() + bias, "alltoAll": torch.cat([x.view(torch.uint8)[mine] for x in packed], 1).view(E4)}
    for name in ("aclnnAlltoAllQuantMatmul", "aclnnAlltoAllQuantMatmulV2"):
        r.form(name, made, x2=eight, x1Scale=smooth, **given)
        r.form(name, inside, x2=floats, x1QuantDtype=35, **given)
        r.form(name, block, x1=packed[r.rank], x2=floats.t().contiguous(), transposeX2=True, x1Scale=lines[r.rank], x2Scale=columns, bias=bias, x1QuantMode=6,
               x2QuantMode=6, groupSize=32)
    w = values(24, 8 * r.world, seed=40)
    part = slice(8 * r.rank, 8 * (r.rank + 1))
    made = torch.cat([(x.float() @ w.float()).half()[:, part] for x in xs])
    for name in ("aclnnMatmulAlltoAll", "aclnnMatmulAlltoAllV2"):
        r.form(name, {"output": made}, x1=xs[r.rank], x2=w)
        r.refused(name, "transposeX1 is set", {"output": made}, x1=xs[r.rank].t().contiguous(), x2=w, transposeX1=True)
    # A float bias of bfloat16 products is added before they are rounded: by itself it would be half of what makes a difference.
    ones, bias = torch.ones(24, 8 * r.world).bfloat16(), torch.full((8 * r.world,), 2**-8 * (1 + 2**-12))
    made = (torch.ones(6 * r.world, 8) + bias[:8]).bfloat16()
    r.form("aclnnMatmulAlltoAll", {"output": made}, near=0, x1=torch.eye(6, 24).bfloat16(), x2=ones, bias=bias)
    eights_of, right = [whole(6, 24, seed=each) for each in range(r.world)], whole(24, 8 * r.world, seed=41)
    token, column = values(6, seed=42, dtype=FLOAT).abs(), values(8 * r.world, seed=43, dtype=FLOAT).abs()
    made = torch.cat([((x.float() @ right.float()) * token.unsqueeze(1) * column).half()[:, part] for x in eights_of])
    packed, lines, columns = [x.to(E5) for x in xs], powers(4 * r.world, 1, 2, seed=44), powers(8 * r.world, 1, 2, seed=45)
    block = torch.cat([(mx(x, lines) @ mx(w.t().to(E4), columns).t())[:, part] for x in packed])
    for name in ("aclnnQuantMatmulAlltoAll", "aclnnQuantMatmulAlltoAllV2"):
        r.form(name, {"output": made}, x1=eights_of[r.rank], x2=right, x1Scale=token, x2Scale=column, x1QuantMode=3, x2QuantMode=2)
        r.form(name, {"output": block}, x1=packed[r.rank], x2=w.t().contiguous().to(E4), transposeX2=True, x1Scale=lines, x2Scale=columns, x1QuantMode=6,
               x2QuantMode=6)


def grouped(r):
    """Two experts on each rank; rank i sends i + j % 3 tokens to expert j of all, the first rank none to some."""
    experts, width = 2, 96
    total = experts * r.world
    gives = [[source + expert % 3 for expert in range(total)] for source in range(r.world)]
    tokens = [values(sum(gives[source]), width, seed=60 + source) for source in range(r.world)]
    split = [torch.split(tokens[source], gives[source]) for source in range(r.world)]
    weights = [values(experts, width, 8, seed=70 + each) for each in range(r.world)]
    mine = [torch.cat([split[source][r.rank * experts + expert] for source in range(r.world)]) for expert in range(experts)]
    gets = [gives[source][r.rank * experts + expert] for source in range(r.world) for expert in range(experts)]
    shared, matrix = values(5, 64, seed=1), values(64, 8, seed=2)
    given = {"mmX": shared, "mmWeight": matrix.t().contiguous(), "transMmWeight": True, "permuteOutFlag": True}
    made = {"gmmY": torch.cat([(rows.float() @ weights[r.rank][expert].float()).half() for expert, rows in enumerate(mine)]),
            "mmY": (shared.float() @ matrix.float()).half(), "permute": torch.cat(mine)}
    for name in ("aclnnAlltoAllvGroupedMatMul", "aclnnAlltoAllvGroupedMatMulV2"):
        r.refused(name, "mmX and mmWeight go together", made, gmmX=tokens[r.rank], gmmWeight=weights[r.rank], sendCounts=gives[r.rank], recvCounts=gets,
                  mmX=shared)
        r.form(name, made, gmmX=tokens[r.rank], gmmWeight=weights[r.rank], sendCounts=gives[r.rank], recvCounts=gets, **given)
    back = {"y": torch.cat([(split[r.rank][each].float() @ weights[each // experts][each % experts].float()).half() for each in range(total)]), "mmY": made["mmY"]}
    for name in ("aclnnGroupedMatMulAlltoAllv", "aclnnGroupedMatMulAlltoAllvV2"):
        r.form(name, back, gmmX=torch.cat(mine), gmmWeight=weights[r.rank], sendCounts=gets, recvCounts=gives[r.rank], **given)
    # The same in 8-bit floats with a power of two for 32 values, which come along.
    lines = [powers(len(tokens[source]), pairs(width), 2, seed=80 + source) for source in range(r.world)]
    columns = [powers(experts, 8, pairs(width), 2, seed=90 + each) for each in range(r.world)]
    plain = [torch.split(mx(tokens[source].to(E4), lines[source]), gives[source]) for source in range(r.world)]
    matrices = [[mx(weights[each][expert].t().to(E5), columns[each][expert]).t() for expert in range(experts)] for each in range(r.world)]
    came = [torch.cat([plain[source][r.rank * experts + expert] for source in range(r.world)]) for expert in range(experts)]
    line, column = powers(5, 1, 2, seed=3), powers(8, 1, 2, seed=4)
    modes = {"gmmXQuantMode": 6, "gmmWeightQuantMode": 6, "mmXQuantMode": 6, "mmWeightQuantMode": 6, "groupSize": 32 | 1 << 16 | 1 << 32, "permuteOutFlag": True,
             "mmX": shared.to(E4), "mmXScale": line, "mmWeight": matrix.to(E5), "mmWeightScale": bytes_of(column).transpose(0, 1).contiguous().view(E8)}
    mm = (mx(shared.to(E4), line) @ mx(matrix.t().to(E5), column).t()).half()
    made = {"gmmY": torch.cat([(rows @ matrices[r.rank][expert]).half() for expert, rows in enumerate(came)]), "mmY": mm, "permute": torch.cat(mine).to(E4)}
    weight, scale = weights[r.rank].to(E5), columns[r.rank]
    turned = {"gmmWeight": weight.view(torch.uint8).transpose(1, 2).contiguous().view(E5), "gmmWeightScale": scale, "transGmmWeight": True}
    straight = {"gmmWeight": weight, "gmmWeightScale": bytes_of(scale).transpose(1, 2).contiguous().view(E8)}
    for name in ("aclnnAlltoAllvQuantGroupedMatMul", "aclnnAlltoAllvQuantGroupedMatMulV2"):
        for way in (turned, straight):
            r.form(name, made, near=1e-2, gmmX=tokens[r.rank].to(E4), gmmXScale=lines[r.rank], sendCounts=gives[r.rank], recvCounts=gets, **way, **modes)
        r.refused(name, "a scale for each 32 values", made, gmmX=tokens[r.rank].to(E4), gmmXScale=torch.ones(1), gmmWeight=weight, gmmWeightScale=torch.ones(1),
                  sendCounts=gives[r.rank], recvCounts=gets, gmmXQuantMode=1, gmmWeightQuantMode=1)
    sent = torch.cat([torch.cat([bytes_of(lines[source]).split(gives[source])[r.rank * experts + expert] for source in range(r.world)]) for expert in range(experts)])
    back = {"y": torch.cat([(plain[r.rank][each] @ matrices[each // experts][each % experts]).half() for each in range(total)]), "mmY": mm}
    for name in ("aclnnQuantGroupedMatMulAlltoAllv", "aclnnQuantGroupedMatMulAlltoAllvV2"):
        for way in (turned, straight):
            r.form(name, back, near=1e-2, gmmX=torch.cat(mine).to(E4), gmmXScale=sent.view(E8), sendCounts=gets, recvCounts=gives[r.rank], **way, **modes)
        r.refused(name, "communication of quantised values", back, gmmX=torch.cat(mine).to(E4), gmmXScale=sent.view(E8), sendCounts=gets,
                  recvCounts=gives[r.rank], commQuantMode=1, **straight, **modes)


def bytes_of(tensor):
    return tensor.view(torch.uint8)


def by_row(value, kind, width=None):
    """Quantised, with the scale that makes the largest of so many values the type's largest."""
    size = value.shape[-1]
    width = width or size
    tiles = torch.nn.functional.pad(value.float(), (0, -size % width)).unflatten(-1, (-1, width))
    scale = tiles.abs().amax(-1, keepdim=True) / LARGEST[kind]
    scaled = (tiles / torch.where(scale == 0, 1.0, scale)).flatten(-2)[..., :size]
    scaled = scaled.round().clamp(-128, 127) if kind == torch.int8 else scaled.clamp(-LARGEST[kind], LARGEST[kind])
    return scaled.to(kind), scale.squeeze(-1)


def by_block(value, kind):
    """Quantised with a power of two for 32 values, by the largest one's exponent; the scales as bytes, in pairs."""
    size = value.shape[-1]
    blocks = torch.nn.functional.pad(value.float(), (0, -size % 64)).unflatten(-1, (-1, 32))
    largest = blocks.abs().amax(-1)
    power = torch.where(largest == 0, 0, (torch.frexp(largest).exponent - 1 - {E4: 8, E5: 15}[kind] + 127).clamp(min=0))
    scaled = (blocks * torch.exp2(127.0 - power).unsqueeze(-1)).flatten(-2)[..., :size]
    return scaled.clamp(-LARGEST[kind], LARGEST[kind]).to(kind), power.to(torch.uint8)


def there_and_back(rows, kind):
    packed, scales = by_block(rows, kind)
    return mx(packed, scales.view(E8))


class Tokens:
    """What every rank has and where it goes, which all ranks know."""

    def __init__(self, r, special=0):
        self.r, self.experts, self.tokens, self.width = r, 2 * r.world, 5, 160
        self.chosen = min(3, self.experts)
        self.x = [values(self.tokens, self.width, seed=each, dtype=BRAIN) for each in range(r.world)]
        self.ids = [torch.stack([torch.randperm(self.experts + special, generator=torch.Generator().manual_seed(10 * each + token))[:self.chosen]
                                 for token in range(self.tokens)]).int() for each in range(r.world)]
        self.weights = values(self.tokens, self.chosen, seed=20 + r.rank, dtype=FLOAT).abs()
        self.room = self.tokens * r.world * 2
        self.common = {"expertIds": self.ids[r.rank], "moeExpertNum": self.experts}

    def came(self, number):
        """(rank, token) of the copies that come to this rank's expert."""
        expert = 2 * self.r.rank + number
        return [(source, token) for source in range(self.r.world) for token in range(self.tokens) if expert in self.ids[source][token].tolist()]

    @property
    def places(self):
        return [(number, *place) for number in range(2) for place in self.came(number)]

    def filled(self, rows):
        """As an output: what is behind the rows is zero."""
        whole_room = torch.zeros(self.room, *rows.shape[1:], dtype=torch.uint8 if rows.element_size() == 1 else rows.dtype)
        whole_room[:len(rows)] = bytes_of(rows) if rows.element_size() == 1 else rows
        return whole_room.view(rows.dtype)

    def dispatch(self, name, rows, scales_of_rows=None, **given):
        """Expects these rows; what the combine needs."""
        expected = {"expandX": self.filled(rows), "expertTokenNums": torch.tensor([len(self.came(0)), len(self.came(1))])}
        if scales_of_rows is not None:
            expected["dynamicScales"] = self.filled(scales_of_rows)
        r = self.r
        rooms = {"expandIdx": room(self.tokens * self.chosen, dtype=torch.int32), "assistInfoForCombine": room(self.room * 128, dtype=torch.int32),
                 "epRecvCounts": room(2 * r.world, dtype=torch.int32), "tpRecvCounts": room(1, dtype=torch.int32), "expandScales": room(self.room)}
        outputs = r.form(name, expected, near=0, **{**self.common, **rooms, "x": self.x[r.rank], **given})
        return {"expandIdx": rooms["expandIdx"], "assistInfoForCombine": rooms["assistInfoForCombine"], "epSendCounts": outputs["epRecvCounts"]}

    def worked(self):
        """Each expert multiplies by its number + 1."""
        return self.filled(torch.stack([self.x[source][token] * (2 * self.r.rank + number + 1) for number, source, token in self.places]))

    def made(self, back=lambda rows: rows.float(), weights=None, own=None):
        """What this rank's tokens become: `back` is what the way does to rows, `own` what experts without a rank make."""
        mine, ids = self.x[self.r.rank], self.ids[self.r.rank]
        total = torch.zeros(self.tokens, self.width)
        for k in range(self.chosen):
            rows = back(mine * (ids[:, k:k + 1] + 1).to(BRAIN))
            if own is not None:
                rows = torch.stack([own(token, int(ids[token, k])) if ids[token, k] >= self.experts else rows[token] for token in range(self.tokens)])
            total += rows * (1 if weights is None else weights[:, k:k + 1])
        return total


def experts_apart(r):
    """Tokens go to their experts' ranks and come back, in every version."""
    t = Tokens(r)
    plain = torch.stack([t.x[source][token] for _, source, token in t.places])
    for version in ("", "V2", "V3", "V4"):
        sent = t.dispatch("aclnnMoeDistributeDispatch" + version, plain)
        given = {**t.common, **sent, "expandX": t.worked(), "expertScales": t.weights}
        name = "aclnnMoeDistributeCombine" + version
        r.form(name, {"x": t.made(weights=t.weights).to(BRAIN)}, near=1e-2, **given)
        in_int8 = t.made(back=lambda rows: by_row(rows, torch.int8)[0].float() * by_row(rows, torch.int8)[1], weights=t.weights)
        r.form(name, {"x": in_int8.to(BRAIN)}, near=1e-2, commQuantMode=2, **given)
    for mode, kind in ((3, E5), (4, E4)):
        blocks = t.made(back=functools.partial(there_and_back, kind=kind), weights=t.weights)
        r.form("aclnnMoeDistributeCombineV4", {"x": blocks.to(BRAIN)}, near=1e-2, commQuantMode=mode, **given)
    r.form("aclnnMoeDistributeCombineV4", {"x": t.made().to(BRAIN)}, near=1e-2, **{**given, "expertScales": torch.empty(0)})
    residual, gamma = values(t.tokens, 1, t.width, seed=7, dtype=BRAIN), values(t.width, seed=8, dtype=BRAIN)
    total = (t.made(weights=t.weights).to(BRAIN).view_as(residual) + residual).float()
    for name in ("aclnnMoeDistributeCombineAddRmsNorm", "aclnnMoeDistributeCombineAddRmsNormV2"):
        r.form(name, {"y": norm(total, gamma).to(BRAIN), "x": total.to(BRAIN), "rstd": torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6)}, near=2e-2,
               residualX=residual, gamma=gamma, **given)


def experts_without_ranks(r):
    """Numbers behind the experts': one that makes nothing, one that copies, two that mix the token with a vector."""
    t = Tokens(r, special=4)
    alpha1, alpha2, vectors = (values(2, t.width, seed=seed, dtype=BRAIN) for seed in (1, 2, 3))
    mine = t.x[r.rank].float()

    def own(token, number):
        which = number - t.experts
        if which == 0:
            return torch.zeros(t.width)
        return mine[token] if which == 1 else alpha1[which - 2].float() * mine[token] + alpha2[which - 2].float() * vectors[which - 2].float()

    special = {"zeroExpertNum": 1, "copyExpertNum": 1, "constExpertNum": 2}
    plain = torch.stack([t.x[source][token] for _, source, token in t.places])
    made = t.made(weights=t.weights, own=own)
    for version in ("V3", "V4"):
        sent = t.dispatch("aclnnMoeDistributeDispatch" + version, plain, **special)
        given = {**t.common, **sent, **special, "expandX": t.worked(), "expertScales": t.weights, "oriX": t.x[r.rank], "constExpertAlpha1": alpha1,
                 "constExpertAlpha2": alpha2, "constExpertV": vectors}
        r.form("aclnnMoeDistributeCombine" + version, {"x": made.to(BRAIN)}, near=1e-2, **given)
    residual, gamma = values(t.tokens, 1, t.width, seed=7, dtype=BRAIN), values(t.width, seed=8, dtype=BRAIN)
    r.form("aclnnMoeDistributeCombineAddRmsNormV2", {"x": (made.to(BRAIN).view_as(residual) + residual)}, near=2e-2, residualX=residual, gamma=gamma,
           y=room(t.tokens, 1, t.width, dtype=BRAIN), **given)


def quantised_tokens(r):
    """Every quantMode of a dispatch."""
    t = Tokens(r)
    plain = torch.stack([t.x[source][token] for _, source, token in t.places]).float()
    smooth = values(t.experts, t.width, seed=1, dtype=FLOAT).abs() + 0.5
    smoothed = plain * torch.stack([smooth[2 * r.rank + number] for number, _, _ in t.places])
    for version in ("", "V2", "V3", "V4"):
        name = "aclnnMoeDistributeDispatch" + version
        rows, scale = by_row(smoothed, torch.int8)
        t.dispatch(name, rows, scale.squeeze(1), quantMode=2, scales=smooth)
        rows, scale = by_row(plain, torch.int8)
        t.dispatch(name, rows, scale.squeeze(1), quantMode=2)
    for given, value in ((torch.tensor([20.0]), plain * 20), (smooth[0] * 20, plain * smooth[0] * 20), (smooth * 20, plain * (torch.stack(
            [smooth[2 * r.rank + number] for number, _, _ in t.places]) * 20))):
        t.dispatch(name, value.round().clamp(-128, 127).to(torch.int8), quantMode=1, scales=given)
    for kind in (E4, E5):
        rows, scale = by_row(smoothed, kind)
        t.dispatch(name, rows, scale.squeeze(1), quantMode=2, scales=smooth)
        t.dispatch(name, *by_row(plain, kind, width=128), quantMode=3)
        rows, scale = by_block(plain, kind)
        t.dispatch(name, rows, scale.view(E8), quantMode=4)
    # Quantised by the client, whose scales go along.
    eight, each = [x.to(E4) for x in t.x], [values(t.tokens, 2, seed=30 + rank, dtype=FLOAT) for rank in range(r.world)]
    rows = torch.stack([bytes_of(eight[source])[token] for _, source, token in t.places]).view(E4)
    t.dispatch(name, rows, torch.stack([each[source][token] for _, source, token in t.places]), x=eight[r.rank], scales=each[r.rank])


def barriers(r):
    for name in ("aclnnDistributeBarrier", "aclnnDistributeBarrierV2"):
        r.form(name, {}, xRef=torch.ones(4))


def two_groups(r):
    """Four ranks are two times two: neighbours have the experts, ranks of one parity the columns."""
    names = ("aclnnAlltoAllAllGatherBatchMatMul", "aclnnBatchMatMulReduceScatterAlltoAll")
    if r.world != 4:
        CALLED.update(names)
        return
    e, c = r.rank % 2, r.rank // 2
    ep = [distributed.new_group([0, 1]), distributed.new_group([2, 3])][c]
    tp = [distributed.new_group([0, 2]), distributed.new_group([1, 3])][e]
    given = {"groupEp": r.name_of(ep), "groupTp": r.name_of(tp), "epWorldSize": 2, "tpWorldSize": 2}
    acts = (lambda y: y, lambda y: torch.nn.functional.gelu(y, approximate="tanh"), torch.nn.functional.silu, torch.relu, lambda y: y * torch.sigmoid(1.702 * y))
    for shard, dim, inner in ((0, -1, 16), (1, -2, 8)):
        xs = [[values(4, 3, 8, seed=10 * source + column) for column in range(2)] for source in range(2)]
        weight, bias = values(2, inner, 5, seed=50 + r.rank), values(2, 1, 5, seed=60 + r.rank)
        together = torch.stack([torch.cat([torch.cat([xs[source][column][2 * e + expert] for column in range(2)], dim) for source in range(2)])
                                for expert in range(2)])
        product = (torch.bmm(together.float(), weight.float()) + bias.float()).half()
        for kind, act in enumerate(acts):
            r.form(names[0], {"y1": act(product.float()).half(), "y2": together, "y3": product}, x=xs[e][c], weight=weight, bias=bias, xShardType=shard,
                   actType=kind, **given)
    for shard, rows in ((0, 6), (1, 8)):
        operands = [[(values(2, rows, 4, seed=70 + 10 * source + column), values(2, 4, 16, seed=80 + 10 * source + column)) for column in range(2)]
                    for source in range(2)]
        width = 8 if shard == 0 else 16
        bias = [values(2, width, seed=95 + source) for source in range(2)]
        made = []
        for source in range(2):
            total = summed([torch.bmm(x.float(), w.float()).half() for x, w in operands[source]])
            part = total[..., 8 * c:8 * c + 8] if shard == 0 else total.view(2, 2, 2, 2, 16)[:, :, c].reshape(2, 4, 16)
            part = (part.float() + bias[source].unsqueeze(1).float()).half()
            tokens = part.shape[1] // 2
            made.append(part[:, tokens * e:tokens * (e + 1)])
        x, w = operands[e][c]
        r.form(names[1], {"out": torch.cat(made)}, x=x, weight=w, bias=bias[e], yShardType=shard, **given)


def refusals(r):
    """What a CPU cannot do, or the device does not either, by name and before anything is sent."""
    ints, one = torch.zeros(2, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    # What they do is in attention_and_experts.py.
    ids, experts = torch.zeros(1, dtype=torch.int32), torch.zeros(1, 3, 1, dtype=torch.int32)
    r.refused("aclnnAttentionToFFN", "HcclCommExchangeMem", x=values(1, 3, 8, seed=1), sessionId=ids, microBatchId=ids, layerId=ids, expertIds=experts,
              expertRankTable=torch.zeros(1, 2, 3, dtype=torch.int32), ffnTokenInfoTableShape=[r.world - 1, 1, 5], ffnTokenDataShape=[r.world - 1, 1, 3, 1, 8],
              attnTokenInfoTableShape=[1, 3, 1], moeExpertNum=2, ffnStartRankId=(r.rank + 1) % r.world)
    r.refused("aclnnFFNToAttention", "HcclCommExchangeMem", x=values(2, 8, seed=1), sessionIds=ints, microBatchIds=ints, tokenIds=ints, expertOffsets=ints,
              actualTokenNum=one, tokenInfoTableShape=[1, 3, 1], tokenDataShape=[1, 3, 1, 8])
    r.refused("aclnnDistributeBarrierV2", "groups that shrink", xRef=torch.ones(4), elasticInfo=ints)
    t = Tokens(r)
    rows = {"expandX": t.filled(t.x[0]), "epRecvCounts": room(2 * r.world, dtype=torch.int32), "expertTokenNums": room(2, dtype=torch.int64),
            "assistInfoForCombine": room(128, dtype=torch.int32)}
    back = {"expandX": t.worked(), "epSendCounts": rows["epRecvCounts"], "assistInfoForCombine": rows["assistInfoForCombine"], "expertScales": t.weights,
            "x": t.x[0]}
    norms = {**back, "residualX": t.x[0], "gamma": t.x[0][0], "y": t.x[0]}
    for version in ("V3", "V4"):
        r.refused("aclnnMoeDistributeDispatch" + version, "groups that shrink", **t.common, **rows, x=t.x[0], elasticInfo=ints)
        r.refused("aclnnMoeDistributeCombine" + version, "groups that shrink", **t.common, **back, elasticInfo=ints)
    r.refused("aclnnMoeDistributeCombineAddRmsNormV2", "groups that shrink", **t.common, **norms, elasticInfo=ints)
    r.refused("aclnnMoeDistributeDispatchV4", "times of other ranks", **t.common, **rows, x=t.x[0], performanceInfo=one)
    r.refused("aclnnMoeDistributeCombineV4", "times of other ranks", **t.common, **back, performanceInfo=one)


def a_second_group(r):
    """Is refused while the dispatch runs, by all ranks."""
    t = Tokens(r)
    plain = torch.stack([t.x[source][token] for _, source, token in t.places])
    try:
        t.dispatch("aclnnMoeDistributeDispatchV2", plain, tpWorldSize=2)
        WRONG.append("a second group was accepted")
    except RuntimeError as error:
        if "a second group (TP)" not in str(error):
            WRONG.append(f"a second group: {error}")


PARTS = (sums, quantised_sums, block_sums, gathers, exchanges, grouped, experts_apart, experts_without_ranks, quantised_tokens, barriers, two_groups, refusals,
         a_second_group)


def main():
    r = Ranks()
    wanted = sys.argv[1:]  # of the parts; none: all
    for part in PARTS:
        if wanted and part.__name__ not in wanted:
            continue
        r.group = r.name_of(distributed.new_group())  # what fails spends a communicator
        try:
            part(r)
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            WRONG.append(f"{part.__name__}: {error}")
    if not WRONG and not wanted:
        table = (ROOT / "src" / "ops" / "table" / "mc2.ops").read_text(encoding="utf-8")
        WRONG.extend(f"{name} was not called" for name in re.findall(r"^(aclnn\w+)\(", table, re.MULTILINE) if name not in CALLED)
    os.write(1, ("\n".join([f"rank {r.rank}: {each}" for each in WRONG] or [f"rank {r.rank}: all good"]) + "\n").encode())
    os._exit(1 if WRONG else 0)


if __name__ == "__main__":
    main()
