# SPDX-License-Identifier: Apache-2.0
"""Sampling, picking and arranging against their own pages, in float64 and at the edges."""

import math

import pytest
import torch
from aclnn_calls import room
from page_checks import drawing
from page_types import FLOATS, INTEGERS, refused, result

SEED, values, _ = drawing(37)
INF, NAN = math.inf, math.nan

# Sampling


def filtered(logits, p, k):
    """The page's steps, row by row; a k that is no count leaves its step out."""
    out = torch.full_like(logits, -INF)
    for row in range(len(logits)):
        found, order = logits[row].double().sort(stable=True)
        if k is not None and 0 < k[row] < len(found):
            found = torch.where(found < found[len(found) - k[row]], -INF, found)
        if p is not None:
            hidden = found.softmax(0).cumsum(0) <= 1 - p[row].double()
            hidden[-1] = False
            found = torch.where(hidden, -INF, found)
        out[row, order] = found.to(logits.dtype)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("with_p", [True, False])
@pytest.mark.parametrize("with_k", [True, False])
def test_logits_below_the_kth_and_outside_the_mass_are_hidden(aclnn, dtype, with_p, with_k):
    if not with_p and not with_k:
        return
    logits = values(7, 12).mul(3).to(dtype)
    logits[:, 3] = logits[:, 5]  # a tie
    p = torch.tensor([0.7, 0.0, 1.0, 0.25, 0.9, 0.5, 0.99]).to(dtype) if with_p else None
    k = torch.tensor([0, -1, 5, 12, 13, 1, 11], dtype=torch.int32) if with_k else None
    got = result(aclnn, "aclnnApplyTopKTopP", logits, p, k, shape=logits.shape, dtype=dtype)
    assert torch.equal(got, filtered(logits, p, k))


def test_without_k_and_p_nothing_can_be_filtered(aclnn):
    refused(aclnn, "aclnnApplyTopKTopP", values(2, 4), None, None, room(2, 4))


@pytest.mark.parametrize("queries", [1, 3])
def test_each_sequence_advances_by_one_token(aclnn, queries):
    tokens, positions, lengths, slots = (torch.arange(1, 6) * step for step in (100, 7, 0, 9))
    lengths += torch.tensor([1, 3, 4, 7, 11])
    tables = torch.randint(1, 90, (5, 4), generator=SEED)
    sampled = torch.arange(11, 11 + queries).view(-1, 1)
    want = [x.clone() for x in (tokens, positions, lengths, slots)]
    for row in range(queries):
        length = lengths[row].item()
        want[0][row], want[1][row], want[2][row] = sampled[row, 0], length, length + 1
        want[3][row] = tables[row, length // 4] * 4 + length % 4
    aclnn.run("aclnnAdvanceStep", tokens, sampled, positions, lengths, slots, tables, 5, queries, 4)
    for got, wanted in zip((tokens, positions, lengths, slots), want, strict=True):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("changed", [{7: 6}, {8: 0}, {0: torch.arange(6)}, {4: torch.arange(4)}, {1: torch.ones(5, 1, dtype=torch.long)},
                                     {5: torch.ones(4, 2, dtype=torch.long)}])
def test_advancing_refuses_what_does_not_fit(aclnn, changed):
    arguments = [torch.arange(5), torch.ones(3, 1, dtype=torch.long), *(torch.arange(5) for _ in range(3)), torch.ones(5, 2, dtype=torch.long), 5, 3, 4]
    for place, value in changed.items():
        arguments[place] = value
    refused(aclnn, "aclnnAdvanceStep", *arguments)


# Places between boundaries


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("x, boundaries", [
    (torch.tensor([[-INF, 0.5, 1.0], [2.0, 3.5, INF]]), torch.tensor([0.5, 1.0, 2.0])),
    (torch.tensor([1.0, 2.5, 3.0]).half(), torch.tensor([1.0, 2.5])),
    (torch.tensor([16777217, 5]), torch.tensor([4.0, 16777216.0])),
    (torch.tensor([2**53 + 1, -1]), torch.tensor([0, 2**31 - 1], dtype=torch.int32)),
    (torch.tensor([2**53 + 1]), torch.tensor([2**53, 2**53 + 1, 2**53 + 2])),
    (torch.tensor([3, 0], dtype=torch.uint8), torch.tensor([-2, 0, 2], dtype=torch.int8)),
    (torch.tensor(1.0), torch.tensor([1.0])),
    (torch.empty(0, 2), torch.tensor([1.0])),
    (torch.tensor([1.0, 2.0]).bfloat16(), torch.tensor([1, 2], dtype=torch.int32)),
])
def test_buckets_are_closed_on_one_side(aclnn, x, boundaries, right, small):
    common = torch.promote_types(x.dtype, boundaries.dtype)
    edge, inner = boundaries.to(common), x.to(common)
    below = inner.unsqueeze(-1) < edge if right else inner.unsqueeze(-1) <= edge
    want = len(edge) - below.sum(-1)
    target = torch.int32 if small else torch.int64
    assert torch.equal(result(aclnn, "aclnnBucketize", x, boundaries, small, right, shape=x.shape, dtype=target), want.to(target))


@pytest.mark.parametrize("changed", [{1: torch.ones(2, 2)}, {2: True}, {4: room(4, dtype=torch.int64)}])
def test_buckets_refuse_what_their_page_rules_out(aclnn, changed):
    arguments = [torch.ones(3), torch.ones(2), False, False, room(3, dtype=torch.int64)]
    for place, value in changed.items():
        arguments[place] = value
    refused(aclnn, "aclnnBucketize", *arguments)


# Picking


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.float64, torch.uint16, torch.uint32, torch.uint64, *FLOATS])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gathering_counts_negative_places_from_the_end(aclnn, dtype, index, dim):
    x = torch.arange(60).view(3, 4, 5).to(dtype)
    places = torch.randint(-x.size(dim), x.size(dim), (2, 4, 3) if dim != 1 else (2, 6, 3), generator=SEED).to(index)
    want = torch.empty(places.shape, dtype=dtype)
    for i, j, k in ((i, j, k) for i in range(places.size(0)) for j in range(places.size(1)) for k in range(places.size(2))):
        at = [i, j, k]
        at[dim] = places[i, j, k].item()
        want[i, j, k] = x[tuple(at)]
    assert torch.equal(result(aclnn, "aclnnGather", x, dim, places, shape=places.shape, dtype=dtype), want)


@pytest.mark.parametrize("dim, places, shape", [(0, [[3, 0]], (1, 2)), (0, [[-4, 0]], (1, 2)), (1, [[0]] * 4, (4, 1)), (2, [[0]], (1, 1)),
                                                (0, [[0, 1]], (1, 3)), (0, [0, 1], (2,))])
def test_gathering_refuses_places_that_are_not_there(aclnn, dim, places, shape):
    refused(aclnn, "aclnnGather", values(3, 2), dim, torch.tensor(places), room(shape))


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dim, batch, shape", [(0, 0, (2, 3)), (1, 0, (5,)), (-1, 0, (2,)), (1, 1, (3, 2)), (2, 1, (3, 2, 2)), (2, 2, (3, 4, 2)),
                                               (2, 2, (3, 4))])
def test_gathering_whole_slices_batch_by_batch(aclnn, index, dim, batch, shape):
    x = values(3, 4, 5)
    places = torch.randint(0, x.size(dim), shape, generator=SEED).to(index)
    want = []
    for place in (range(1) if batch == 0 else [(i,) for i in range(3)] if batch == 1 else [(i, j) for i in range(3) for j in range(4)]):
        inner, which = (x, places) if batch == 0 else (x[place], places[place])
        axis = dim % x.dim() - batch
        taken = inner.index_select(axis, which.reshape(-1).long())
        want.append(taken.reshape(inner.shape[:axis] + which.shape + inner.shape[axis + 1:]))
    want = want[0] if batch == 0 else torch.stack(want).reshape(x.shape[:batch] + want[0].shape)
    assert torch.equal(result(aclnn, "aclnnGatherV3", x, dim, places, batch, 0, shape=want.shape), want)


@pytest.mark.parametrize("dim, batch, out", [(0, 1, (2, 4, 5)), (0, 0, (2, 20)), (3, 0, (2, 4, 5)), (0, 0, (3, 4, 5))])
def test_gathering_slices_refuses_what_does_not_fit(aclnn, dim, batch, out):
    refused(aclnn, "aclnnGatherV3", values(3, 4, 5), dim, torch.tensor([0, 1]), batch, 0, room(out))


# Arranging


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.float64, torch.complex64, torch.complex128, *FLOATS])
@pytest.mark.parametrize("shape", [(2, 6, 3), (2, 6, 3, 2), (1, 6, 2, 2, 2), (2, 6, 1, 2, 1, 2, 1)])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_channels_of_the_groups_take_turns(aclnn, dtype, shape, groups):
    x = torch.arange(math.prod(shape)).view(shape).to(dtype)
    want = x.reshape(shape[0], groups, 6 // groups, -1).transpose(1, 2).reshape(shape)
    assert torch.equal(result(aclnn, "aclnnChannelShuffle", x, groups, shape=shape, dtype=dtype), want)


@pytest.mark.parametrize("groups, shape", [(0, (2, 6, 3)), (-2, (2, 6, 3)), (4, (2, 6, 3)), (2, (2, 6))])
def test_channels_that_cannot_take_turns(aclnn, groups, shape):
    refused(aclnn, "aclnnChannelShuffle", torch.ones(shape), groups, room(shape))


@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("target", [torch.float32, torch.float16])
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_chunks_stand_side_by_side(aclnn, source, target, chunks):
    x = [values(6, 2, dtype=source), values(3, 4, dtype=source), values(5, dtype=source)]
    columns = []
    for one in x:
        rows = -(-one.size(0) // chunks)
        padded = torch.zeros(rows * chunks, *one.shape[1:], dtype=source)
        padded[:one.size(0)] = one
        columns.append(padded.view(chunks, -1))
    want = torch.cat(columns, 1).to(target)
    assert torch.equal(result(aclnn, "aclnnChunkCat", x, 0, chunks, shape=want.shape, dtype=target), want)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint32, torch.int64, *FLOATS])
@pytest.mark.parametrize("perm, shape", [([1, 0, 2], [4, 3, 10]), ([2, 0, 1], [6, 5, 4]), ([0, 1, 2], [120])])
def test_reshape_and_transpose_in_either_order(aclnn, dtype, perm, shape):
    x = torch.arange(120).view(4, 3, 10).to(dtype)
    want = x.permute(perm).reshape(shape)
    assert torch.equal(result(aclnn, "aclnnConfusionTranspose", x, perm, shape, True, shape=want.shape, dtype=dtype), want)
    if len(shape) == len(perm):
        want = x.reshape(shape).permute(perm)
        assert torch.equal(result(aclnn, "aclnnConfusionTranspose", x, perm, shape, False, shape=want.shape, dtype=dtype), want)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint16, torch.uint32, torch.uint64, *INTEGERS, torch.float64, torch.complex64, torch.complex128, *FLOATS])
@pytest.mark.parametrize("pad", [[1, 2], [0, 1, 2, 3, 1, 0], [-1, 1], [0, 0, -1, -1], []])
def test_padding_starts_at_the_last_dimension(aclnn, dtype, pad):
    x = torch.arange(24).view(2, 3, 4).to(dtype)
    ends = [(pad[2 * i], pad[2 * i + 1]) if 2 * i < len(pad) else (0, 0) for i in range(3)][::-1]
    shape = [size + sum(end) for size, end in zip(x.shape, ends)]
    want = torch.full(shape, 1).to(dtype)
    inner = [slice(max(0, -before), size - max(0, -after)) for size, (before, after) in zip(x.shape, ends)]
    outer = [slice(max(0, before), total - max(0, after)) for total, (before, after) in zip(shape, ends)]
    want[tuple(outer)] = x[tuple(inner)]
    assert torch.equal(result(aclnn, "aclnnConstantPadNd", x, pad, 1, shape=shape, dtype=dtype), want)


@pytest.mark.parametrize("pad, shape", [([1], (2, 4)), ([1] * 6, (3, 4)), ([-2, -3], (2, 0)), ([1, 1], (2, 4)), ([1, 1], (2, 6))])
def test_padding_that_cannot_be(aclnn, pad, shape):
    refused(aclnn, "aclnnConstantPadNd", torch.ones(2, 3), pad, 0.0, room(shape))


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS, torch.float64, torch.complex64, torch.complex128, *FLOATS])
@pytest.mark.parametrize("dims", [[0], [-1], [0, 2], [1, -1, 0], []])
def test_flipping(aclnn, dtype, dims):
    x = torch.arange(24).view(2, 3, 4).to(dtype)
    want = x
    for dim in dims:
        want = want.index_select(dim, torch.arange(want.size(dim) - 1, -1, -1))
    assert torch.equal(result(aclnn, "aclnnFlip", x, dims, shape=x.shape, dtype=dtype), want)


@pytest.mark.parametrize("types, target", [((torch.float32, torch.float16), torch.float32), ((torch.int32, torch.int64), torch.int64),
                                           ((torch.float16, torch.bfloat16), torch.float32), ((torch.bool, torch.uint8), torch.float16),
                                           ((torch.uint16, torch.uint16), torch.uint16), ((torch.complex64, torch.complex64), torch.complex64)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_joining(aclnn, types, target, dim):
    x = [torch.arange(12).view(3, 4).to(types[0]), torch.arange(12).view(3, 4).to(types[1])]
    want = torch.cat([one.to(target) for one in x], dim)
    assert torch.equal(result(aclnn, "aclnnCat", x, dim, shape=want.shape, dtype=target), want)


@pytest.mark.parametrize("dim, shape", [(0, (6, 4)), (0, (4, 4)), (0, (5, 5)), (2, (5, 4)), (1, (5, 4))])
def test_joining_refuses_what_does_not_fit(aclnn, dim, shape):
    refused(aclnn, "aclnnCat", [torch.ones(3, 4), torch.ones(2, 4)], dim, room(shape))
