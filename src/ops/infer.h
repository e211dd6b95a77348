// SPDX-License-Identifier: Apache-2.0
// Rules by name, as rows write them: `shape out = broadcast(self, other)`. The comments show what stands between the
// parentheses. Every function here has the form of InferFn (or InferTypeFn); what it needs beyond the rule's arguments
// is an error of the table.
#ifndef MILLPOND_SRC_OPS_INFER_H_
#define MILLPOND_SRC_OPS_INFER_H_

#include <span>

#include "src/ops/row.h"

namespace millpond::infer {

// NOLINTBEGIN(readability-identifier-naming): names of the text format

// same(x): as x; for lists, as its member of the same number.
Status same(const InferArgs& args, Shape* out);
// broadcast(x, y, ...): the usual rule; absent arguments do not count.
Status broadcast(const InferArgs& args, Shape* out);
// reduce(x, dims, keep): without those dimensions, or with ones in their places. Absent or empty dims: all of them.
Status reduce(const InferArgs& args, Shape* out);
// reduce_some(x, dims, keep, noop): the same, but empty dims leave x as it is when noop is set.
Status reduce_some(const InferArgs& args, Shape* out);
// reduce_one(x, dim): without that dimension.
Status reduce_one(const InferArgs& args, Shape* out);
// matmul(x, y): the last two dimensions multiply, the others broadcast; vectors as numpy has them.
Status matmul(const InferArgs& args, Shape* out);
// matmul_turned(x, y, turnX, turnY): the same; a flag swaps the operand's last two dimensions first.
Status matmul_turned(const InferArgs& args, Shape* out);
// inner_product(x, w, turnW, axis): the dimensions of x from axis on are one; w is [outputs, inner], turned [inner,
// outputs].
Status inner_product(const InferArgs& args, Shape* out);
// scalar(): one element, no dimensions.
Status scalar(const InferArgs& args, Shape* out);
// one(): [1].
Status one(const InferArgs& args, Shape* out);
// last(x): the size of x's last dimension, as a vector. channels(x): that of dimension 1.
Status last(const InferArgs& args, Shape* out);
Status channels(const InferArgs& args, Shape* out);
// channels_of(x, format): that of dimension 1, or of the last when the format's name ends with C.
Status channels_of(const InferArgs& args, Shape* out);
// halved(x, dim): that dimension, or the last, is half as large.
Status halved(const InferArgs& args, Shape* out);

// infer_view.cc
// given(dims): an array of sizes, as it is.
Status given(const InferArgs& args, Shape* out);
// vector_of(n): [n].
Status vector_of(const InferArgs& args, Shape* out);
// reshape(x, shape, axis, numAxes): one size may be -1; only the numAxes (-1: all) dimensions from axis on change.
Status reshape(const InferArgs& args, Shape* out);
// reshape_keeping(x, shape): the same of all dimensions, and 0 stands for the size that x has at that place.
Status reshape_keeping(const InferArgs& args, Shape* out);
// squeeze(x, axes): without those, which must be 1; none named: without all that are 1.
Status squeeze(const InferArgs& args, Shape* out);
// unsqueeze(x, axes): ones at those places of the result. `axes` may be one number.
Status unsqueeze(const InferArgs& args, Shape* out);
// flatten(x, axis): two dimensions. flatten_range(x, first, last): one dimension for those.
Status flatten(const InferArgs& args, Shape* out);
Status flatten_range(const InferArgs& args, Shape* out);
// permute(x, perm).
Status permute(const InferArgs& args, Shape* out);
// broadcast_to(x, shape): -1 keeps a size.
Status broadcast_to(const InferArgs& args, Shape* out);
// expand_to(x, shape): the same, and 1 keeps a size too.
Status expand_to(const InferArgs& args, Shape* out);
// repeat(x, repeats): as torch's repeat.
Status repeat(const InferArgs& args, Shape* out);
// pad(x, paddings, contiguous): begin and end for each dimension; not contiguous: all begins, then all ends.
Status pad(const InferArgs& args, Shape* out);
// unpad(x, paddings, contiguous): what was padded to x.
Status unpad(const InferArgs& args, Shape* out);
// tiled(x, axis, times): that dimension so many times as large.
Status tiled(const InferArgs& args, Shape* out);
// confused(x, perm, shape, permuteFirst): a permutation of the result, or of x before it takes the shape.
Status confused(const InferArgs& args, Shape* out);
// bits_as(x, type, keepRank): the same bytes as elements of another size.
Status bits_as(const InferArgs& args, Shape* out);
// concat(tensors, dim), stack(tensors, dim).
Status concat(const InferArgs& args, Shape* out);
Status stack(const InferArgs& args, Shape* out);
// split(x, sizes, dim), split_even(x, dim, count), unstack(x, dim): member by member.
Status split(const InferArgs& args, Shape* out);
Status split_even(const InferArgs& args, Shape* out);
Status unstack(const InferArgs& args, Shape* out);
// rank_of(x): [rank]; for a list, of its member.
Status rank_of(const InferArgs& args, Shape* out);

// infer_slice.cc
// slice(x, offsets, sizes): -1 takes the rest.
Status slice(const InferArgs& args, Shape* out);
// strided_slice(x, begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask).
Status strided_slice(const InferArgs& args, Shape* out);
// sliced_axes(x, begin, end, axes, strides): axes and strides may be absent.
Status sliced_axes(const InferArgs& args, Shape* out);
// range(start, limit, delta, closed): a vector; scalars or numbers.
Status range(const InferArgs& args, Shape* out);
// eye(rows, columns, batch).
Status eye(const InferArgs& args, Shape* out);

// infer_index.cc
// gather(x, dim, index, batchDims).
Status gather(const InferArgs& args, Shape* out);
// gather_nd(x, indices).
Status gather_nd(const InferArgs& args, Shape* out);
// indexed(x, indices, mask): as x[i, :, j]; mask has a 1 for each dimension that an index stands for.
Status indexed(const InferArgs& args, Shape* out);
// embedding_rows(gradient, rows): [rows, last dimension of the gradient].
Status embedding_rows(const InferArgs& args, Shape* out);
// topk(x, k, dim): k along dim.
Status topk(const InferArgs& args, Shape* out);
// one_hot(x, depth, axis).
Status one_hot(const InferArgs& args, Shape* out);
// coordinates(x, transpose): [count, rank] when every element counts, turned when the flag is set.
Status coordinates(const InferArgs& args, Shape* out);
// flat(x, y...): one dimension with all elements of the broadcast of all.
Status flat(const InferArgs& args, Shape* out);

// infer_arrange.cc
// depth_to_space(x, block, format), space_to_depth(x, block, format): of pictures in NHWC or NCHW.
Status depth_to_space(const InferArgs& args, Shape* out);
Status space_to_depth(const InferArgs& args, Shape* out);
// space_to_batch(x, block, paddings), batch_to_space(x, block, crops): the dimensions behind the first.
Status space_to_batch(const InferArgs& args, Shape* out);
Status batch_to_space(const InferArgs& args, Shape* out);
// repeated_each(x, repeats, axis): axis 1000: of the flat x.
Status repeated_each(const InferArgs& args, Shape* out);
// matrix_diag(x), matrix_diag_part(x): of the last dimension or the last two. diag(x), diag_part(x): all dimensions
// twice.
Status matrix_diag(const InferArgs& args, Shape* out);
Status matrix_diag_part(const InferArgs& args, Shape* out);
Status diag(const InferArgs& args, Shape* out);
Status diag_part(const InferArgs& args, Shape* out);
// reformatted(x, from, to): names of layouts with the same letters.
Status reformatted(const InferArgs& args, Shape* out);
// outer(x, y): of two vectors.
Status outer(const InferArgs& args, Shape* out);

// Types.
// type_of(x): that of a tensor, or the value of a type argument; a negative one keeps the first input's.
Status type_of(const InferArgs& args, DType* out);
// promoted(x, y, ...): the one that holds all of them.
Status promoted(const InferArgs& args, DType* out);
// common_or_float(type, type, ...): the type when all are the same, else float.
Status common_or_float(const InferArgs& args, DType* out);
// product_type(x): of a product of matrices: that of x, 32 bits for 8-bit integers.
Status product_type(const InferArgs& args, DType* out);
// real_number(x): that of x, float for integers.
Status real_number(const InferArgs& args, DType* out);
// widened(x, flag): float for halves when the flag is set.
Status widened(const InferArgs& args, DType* out);
// complex_of(x), real_of(x): the one that belongs to x's.
Status complex_of(const InferArgs& args, DType* out);
Status real_of(const InferArgs& args, DType* out);

// NOLINTEND(readability-identifier-naming)

}  // namespace millpond::infer

#endif  // MILLPOND_SRC_OPS_INFER_H_
