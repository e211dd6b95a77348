# SPDX-License-Identifier: Apache-2.0
"""GE operators that pick, order and write by index, against plain torch."""

import pytest
import torch
from ge_tensors import ints, values

I32, I64 = torch.int32, torch.int64


def one(number, dtype=I32):
    return torch.tensor(number, dtype=dtype)


X = values(3, 4, 5)
TABLE = values(6, 3, seed=2)
PLACES = torch.tensor([[0, 5], [2, 2]], dtype=I32)
MASK = X > 0
TUPLES = torch.tensor([[0, 1], [2, 3]], dtype=I64)
ALONG = torch.tensor([[[0, 1, 2, 0, 1]] * 4], dtype=I64)

CASES = [
    ("Gather", [TABLE, PLACES], {}, TABLE[PLACES.long()]),
    ("Gather", [TABLE, one(2)], {}, TABLE[2]),
    ("GatherV2", [X, ints(0, -1), ints(1)], {"negative_index_support": True}, X[:, [0, -1]]),
    ("GatherV2", [X, one(1), one(2)], {}, X[:, :, 1]),
    ("GatherV2", [X, torch.tensor([[0, 1], [2, 3], [1, 1]]), one(1)], {"batch_dims": 1},
     torch.stack([X[0][[0, 1]], X[1][[2, 3]], X[2][[1, 1]]])),
    ("GatherV2D", [X, ints(3, 1)], {"axis": -1}, X[..., [3, 1]]),
    ("Embedding", [TABLE, PLACES], {}, TABLE[PLACES.long()]),
    ("GatherElements", [X, ALONG], {"dim": 0}, X.gather(0, ALONG)),
    ("GatherElements", [X, ALONG.to(I32)], {}, X.gather(0, ALONG)),
    ("GatherElementsV2", [X, ALONG], {"dim": 0}, X.gather(0, ALONG)),
    ("GatherNd", [X, TUPLES], {}, X[[0, 2], [1, 3]]),
    ("GatherNd", [X, TUPLES.to(I32)[:, :1]], {}, X[[0, 2]]),
    ("IndexByTensor", [X, ints(0, 2), ints(1, 3)], {"indices_mask": [1, 1]}, X[[0, 2], [1, 3]]),
    ("IndexByTensor", [X, ints(0, 2), ints(1, 3)], {"indices_mask": [1, 0, 1]}, X[[0, 2], :, [1, 3]]),
    ("IndexByTensor", [X, torch.tensor([[0], [2]])], {"indices_mask": [0, 1]}, X[:, torch.tensor([[0], [2]])]),
    ("Index", [X, ints(0, 1, 0), ints(20, 5, 1), ints(3, 3)], {}, X[:, [3, 3]]),
    ("SelectV2", [MASK, X, one(0.0, torch.float32)], {}, torch.where(MASK, X, 0.0)),
    ("Select", [MASK, X, -X], {}, torch.where(MASK, X, -X)),
    ("Select", [torch.tensor([True, False, True]), X, -X], {}, torch.stack([X[0], -X[1], X[2]])),
    ("MaskedFill", [X, MASK, one(7.0, torch.float32)], {}, X.masked_fill(MASK, 7.0)),
    ("MaskedFill", [X, MASK[0, 0], one(7.0, torch.float32)], {}, X.masked_fill(MASK[0, 0], 7.0)),
    ("MaskedScatter", [X, MASK, values(60)], {}, X.masked_scatter(MASK, values(60))),
    ("MaskedSelect", [X, MASK], {}, X[MASK]),
    ("Where", [MASK], {}, MASK.nonzero()),
    ("NonZero", [X.relu()], {}, X.relu().nonzero()),
    ("NonZero", [MASK], {"transpose": True, "dtype": I32}, MASK.nonzero().t().to(I32)),
    ("TopKV2", [X, one(2)], {}, [X.topk(2).values, X.topk(2).indices.to(I32)]),
    ("TopKV2", [X, one(3)], {"dim": 1, "largest": False, "indices_dtype": 9}, list(X.topk(3, 1, largest=False))),
    ("TopK", [X, one(1)], {"dim": 0}, [X.topk(1, 0).values, X.topk(1, 0).indices.to(I32)]),
    ("Sort", [X], {}, [X.sort().values, X.sort().indices.to(I32)]),
    ("Sort", [X], {"axis": 1, "descending": True, "stable": True, "y2_dtype": I64}, list(X.sort(dim=1, descending=True, stable=True))),
    ("ArgMaxV2", [X, one(1)], {}, X.argmax(1)),
    ("ArgMaxV2", [X, ints(-1)], {"dtype": I32}, X.argmax(-1).to(I32)),
    ("ArgMaxD", [X], {"dimension": 0}, X.argmax(0)),
    ("ArgMin", [X, one(2)], {}, X.argmin(2)),
    ("ArgMinD", [X], {"dimension": 1, "dtype": I32}, X.argmin(1).to(I32)),
    ("ArgMaxWithValue", [X], {"dimension": 1}, [X.argmax(1).to(I32), X.amax(1)]),
    ("ArgMinWithValue", [X], {"dimension": -1, "keep_dims": True}, [X.argmin(-1, True).to(I32), X.amin(-1, True)]),
    ("SearchSorted", [X.sort().values, values(3, 4, 2)], {}, torch.searchsorted(X.sort().values, values(3, 4, 2))),
    ("SearchSorted", [ints(1, 3, 5), ints(3, 4), None], {"dtype": I32, "right": True}, ints(2, 2, dtype=I32)),
    ("Cumsum", [X, one(1)], {}, X.cumsum(1)),
    ("Cumsum", [ints(1, 2, 3), one(0)], {"exclusive": True}, ints(0, 1, 3)),
    ("Cumsum", [ints(1, 2, 3), one(0)], {"exclusive": True, "reverse": True}, ints(5, 3, 0)),
    ("CumsumD", [X], {"axis": -1, "reverse": True}, X.flip(-1).cumsum(-1).flip(-1)),
    ("Cumprod", [X, one(2)], {}, X.cumprod(2)),
    ("CumprodD", [ints(2, 3, 4)], {"axis": 0, "exclusive": True}, ints(1, 2, 6)),
    ("CumulativeLogsumexp", [X, one(0)], {}, X.logcumsumexp(0)),
    ("OneHot", [ints(0, 2), one(3), one(1.0, torch.float32), one(0.0, torch.float32)], {}, torch.eye(3)[[0, 2]]),
    ("OneHot", [ints(0, 2, dtype=I32), one(3), one(5), one(-1)], {"axis": 0}, (torch.eye(3)[[0, 2]].t() * 6 - 1).to(I32)),
    ("ScatterElements", [X, ALONG, values(1, 4, 5)], {}, X.scatter(0, ALONG, values(1, 4, 5))),
    ("ScatterElements", [X, ALONG - X.shape[0], values(1, 4, 5)], {}, X.scatter(0, ALONG, values(1, 4, 5))),
    ("ScatterElements", [X, ALONG, values(1, 4, 5)], {"reduction": "add"}, X.scatter_add(0, ALONG, values(1, 4, 5))),
    ("ScatterNd", [TUPLES, values(2, 5), ints(3, 4, 5)], {}, torch.zeros(3, 4, 5).index_put((ints(0, 2), ints(1, 3)), values(2, 5))),
    ("TensorScatterUpdate", [X, TUPLES, values(2, 5)], {}, X.index_put((ints(0, 2), ints(1, 3)), values(2, 5))),
    ("TensorScatterAdd", [X, TUPLES, values(2, 5)], {}, X.index_put((ints(0, 2), ints(1, 3)), values(2, 5), accumulate=True)),
    ("TensorScatterSub", [X, TUPLES, values(2, 5)], {}, X.index_put((ints(0, 2), ints(1, 3)), -values(2, 5), accumulate=True)),
    ("TensorScatterMax", [X, TUPLES, values(2, 5)], {},
     X.index_put((ints(0, 2), ints(1, 3)), torch.maximum(X[[0, 2], [1, 3]], values(2, 5)))),
    ("ScatterNonAliasingAdd", [X, TUPLES[:, :1], values(2, 4, 5)], {}, X.index_add(0, ints(0, 2), values(2, 4, 5))),
    ("InplaceUpdate", [TABLE, ints(4, 1), values(2, 3)], {}, TABLE.index_copy(0, ints(4, 1), values(2, 3))),
    ("InplaceAdd", [TABLE, ints(4, 4), values(2, 3)], {}, TABLE.index_add(0, ints(4, 4), values(2, 3))),
    ("InplaceSub", [TABLE, ints(4, 1), values(2, 3)], {}, TABLE.index_add(0, ints(4, 1), values(2, 3), alpha=-1)),
    ("IndexAdd", [TABLE, ints(4, 1, dtype=I32), values(2, 3)], {}, TABLE.index_add(0, ints(4, 1), values(2, 3))),
    ("EmbeddingDenseGrad", [values(2, 2, 3), PLACES], {"num_weights": 6}, torch.zeros(6, 3).index_add(0, PLACES.long().flatten(), values(4, 3))),
]
UPDATES = values(2, 3, seed=5)
BEFORE = TABLE[[4, 1]]
# What the rows 4 and 1 of the table become.
IN_PLACE = {
    "ScatterUpdate": UPDATES, "ScatterAdd": BEFORE + UPDATES, "ScatterSub": BEFORE - UPDATES, "ScatterMul": BEFORE * UPDATES,
    "ScatterDiv": BEFORE / UPDATES, "ScatterMax": torch.maximum(BEFORE, UPDATES), "ScatterMin": torch.minimum(BEFORE, UPDATES),
    "ScatterNdUpdate": UPDATES, "ScatterNdAdd": BEFORE + UPDATES, "ScatterNdSub": BEFORE - UPDATES,
    "ScatterNdMax": torch.maximum(BEFORE, UPDATES), "ScatterNdMin": torch.minimum(BEFORE, UPDATES),
}


@pytest.mark.parametrize("kind, inputs, attributes, want", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_equals_plain_torch(ge, kind, inputs, attributes, want):
    ge.check(kind, inputs, attributes, want)


@pytest.mark.parametrize("kind", IN_PLACE)
def test_rows_change_in_place(ge, kind):
    want = TABLE.clone()
    want[[4, 1]] = IN_PLACE[kind]
    indices = ints(4, 1, dtype=I32)
    ge.check(kind, [TABLE.clone(), indices[:, None] if "Nd" in kind else indices, UPDATES], {}, want, refs={0: 0})


def test_variables_change_in_place(ge):
    ge.check("Assign", [X.clone(), -X], {}, -X, refs={0: 0})
    ge.check("AssignAdd", [X.clone(), X], {}, X + X, refs={0: 0})
    ge.check("AssignSub", [X.clone(), X[0]], {}, X - X[0], refs={0: 0})


def test_index_put_writes_where_the_mask_says(ge):
    want = X.clone()
    want[:, [0, 2]] = 5.0
    ge.check("IndexPutV2", [X.clone(), torch.tensor([5.0]), ints(0, 1, 0), ints(20, 5, 1), ints(0, 2)], {}, want, refs={0: 0})
    want = X.clone().index_put_((ints(1, 1),), torch.ones(2, 4, 5), accumulate=True)
    ge.check("IndexPutV2", [X.clone(), torch.ones(2, 4, 5), ints(1, 0, 0), ints(20, 5, 1), ints(1, 1)], {"accumulate": True}, want, refs={0: 0})


def test_scatter_elements_v2_changes_in_place(ge):
    ge.check("ScatterElementsV2", [X.clone(), ALONG, values(1, 4, 5)], {"axis": 0}, X.scatter(0, ALONG, values(1, 4, 5)), refs={0: 0})


def test_scatter_fills_a_cache(ge):
    cache, block = torch.zeros(2, 4, 3), values(2, 1, 3)
    want = cache.clone()
    want[0, 1], want[1, 3] = block[0, 0], block[1, 0]
    ge.check("Scatter", [cache, ints(1, 3), block], {"reduce": "update", "axis": 1}, want, refs={0: 0})


def test_other_memory_for_what_changes_in_place_is_refused(ge):
    with pytest.raises(RuntimeError):
        ge.run("Assign", [X.clone(), -X])
