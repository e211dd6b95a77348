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
// matmul_transposed(x, y, transposeX, transposeY): the same; a flag swaps the operand's last two dimensions first.
Status matmul_transposed(const InferArgs& args, Shape* out);
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

// Neural networks' operators.
// infer_window.cc. Lists have an entry for each dimension of x, in the order of x's format, else of dataFormat.
// conv(x, filter, strides, pads, dilations, groups, dataFormat), NCHW without the last; depthwise(x, filter, strides,
// pads, dilations, dataFormat).
Status conv(const InferArgs& args, Shape* out);
Status depthwise(const InferArgs& args, Shape* out);
// pooled(x, ksize, strides, padding, pads, dataFormat, global, ceil); pooled_dilated has dilations at the end.
Status pooled(const InferArgs& args, Shape* out);
Status pooled_dilated(const InferArgs& args, Shape* out);
// pooled_volume(x, ksize, strides, pads, dataFormat, ceil).
Status pooled_volume(const InferArgs& args, Shape* out);
// windows(x, kernel, stride, padding, dilation, ceil): spatial entries alone, channels first.
Status windows(const InferArgs& args, Shape* out);
// mask_windows(x, ksize, strides, pads, first, dilations, ceil): spatial entries at `first`; mask_buffer: the buffer
// that the positions of the maxima are kept in.
Status mask_windows(const InferArgs& args, Shape* out);
Status mask_buffer(const InferArgs& args, Shape* out);
// adaptive(x, size): the last dimensions are those.
Status adaptive(const InferArgs& args, Shape* out);
// resized(x, size): height and width, wherever x's format has them.
Status resized(const InferArgs& args, Shape* out);
// upsampled(x, size, align, scales...), upsampled_smooth: [N, C] of x, then size; backwards x is the sizes of what is
// asked for, and they are the result. A scale that leaves points of `size` without a place in x is refused.
Status upsampled(const InferArgs& args, Shape* out);
Status upsampled_smooth(const InferArgs& args, Shape* out);
// sampled(x, grid): [N, C] of x, then the grid's points. deformed_points(x, offsets, ksize, format): a kernel's points
// for each of the offsets, with x's channels.
Status sampled(const InferArgs& args, Shape* out);
Status deformed_points(const InferArgs& args, Shape* out);

// infer_nn.cc
// rows(x): without the last dimension. first(x): [size of dimension 0]. empty(): [0].
Status rows(const InferArgs& args, Shape* out);
Status first(const InferArgs& args, Shape* out);
Status empty(const InferArgs& args, Shape* out);
// last_is(x, n), last_of(x, y): x with another last dimension: n, or y's.
Status last_is(const InferArgs& args, Shape* out);
Status last_of(const InferArgs& args, Shape* out);
// same_or_empty(x): as x; [0] when it is absent. like_if(x, y): as x when y is there, else [1]. like_flag(x, flag): as
// x when the flag is set, else [0].
Status same_or_empty(const InferArgs& args, Shape* out);
Status like_if(const InferArgs& args, Shape* out);
Status like_flag(const InferArgs& args, Shape* out);
// like_second(x, smooth1, smooth2, mask), rows_second(...): as x (its rows) when a second result is wanted, else [1].
Status like_second(const InferArgs& args, Shape* out);
Status rows_second(const InferArgs& args, Shape* out);
// ones_behind(x, y): ones for as many of the last dimensions as y, a tensor or a list of sizes, has. ones_behind_if has
// a flag at the end: [1] when it is not set. ones_from(x, axis): from an axis on.
Status ones_behind(const InferArgs& args, Shape* out);
Status ones_behind_if(const InferArgs& args, Shape* out);
Status ones_from(const InferArgs& args, Shape* out);
// group_stats(x, groups): [N, groups]. instance_stats(x, dataFormat): ones for all but N and C.
Status group_stats(const InferArgs& args, Shape* out);
Status instance_stats(const InferArgs& args, Shape* out);
// loss(reduction, x, y...): their broadcast when nothing is reduced, else no dimensions. nll(reduction, target).
// loss_by_name(reduction, target): the same with the reduction's name.
Status loss(const InferArgs& args, Shape* out);
Status nll(const InferArgs& args, Shape* out);
Status loss_by_name(const InferArgs& args, Shape* out);
// bags(weight, offsets, includeLast), bag_count(offsets, includeLast), bag_maxima(weight, offsets, mode, includeLast).
Status bags(const InferArgs& args, Shape* out);
Status bag_count(const InferArgs& args, Shape* out);
Status bag_maxima(const InferArgs& args, Shape* out);
// keep_mask(shape): bytes of a mask with one bit for each element, padded to 128 bits.
Status keep_mask(const InferArgs& args, Shape* out);
// keep_mask_of(x): the same for x's elements. status_words(): [8].
Status keep_mask_of(const InferArgs& args, Shape* out);
Status status_words(const InferArgs& args, Shape* out);
// samples_of(x, n): x's rows, n from each.
Status samples_of(const InferArgs& args, Shape* out);
// Of groups of ranks. rows_times(x, ranks), rows_over(x, ranks): x with so many times its rows, or with that part of
// them. rows_times_if(x, ranks, flag): [0] without the flag. parts_end(counts, displacements): where the last part
// ends. column_sum(matrix, rank): what all ranks send to that one. The rest multiply matrices as matmul_transposed
// does, and end in (.., ranks): matmul_rows_times, matmul_rows_over; matmul_spread: the columns are shared out and all
// ranks' rows stand below each other; gathered_columns_matmul: x1's rows are shared out, with all ranks' columns side
// by side. columns_gathered_if(x, ranks, flag): x so shared out.
Status rows_times(const InferArgs& args, Shape* out);
Status rows_over(const InferArgs& args, Shape* out);
Status rows_times_if(const InferArgs& args, Shape* out);
Status parts_end(const InferArgs& args, Shape* out);
Status column_sum(const InferArgs& args, Shape* out);
Status matmul_rows_times(const InferArgs& args, Shape* out);
Status matmul_rows_over(const InferArgs& args, Shape* out);
Status matmul_spread(const InferArgs& args, Shape* out);
Status gathered_columns_matmul(const InferArgs& args, Shape* out);
Status columns_gathered_if(const InferArgs& args, Shape* out);
// Of experts on several ranks. moe_tokens, moe_token_list, moe_assist(x, expertIds, ranks, rank, experts, shared,
// shared ranks, global tokens): room for what may come: [tokens, width], [tokens], [128 for each token].
// moe_experts_here, moe_counts_here(ranks, rank, experts, shared ranks): one for each expert of this rank; and of each
// rank. moe_copies(expertIds): one for each. moe_second_group(ranks): at least [1]. moe_back(expandX, expertIds): the
// tokens.
Status moe_tokens(const InferArgs& args, Shape* out);
Status moe_token_list(const InferArgs& args, Shape* out);
Status moe_assist(const InferArgs& args, Shape* out);
Status moe_experts_here(const InferArgs& args, Shape* out);
Status moe_counts_here(const InferArgs& args, Shape* out);
Status moe_copies(const InferArgs& args, Shape* out);
Status moe_second_group(const InferArgs& args, Shape* out);
Status moe_back(const InferArgs& args, Shape* out);
// experts_product(counts, weight, transpose): [all that is counted, the weight's columns]. matmul_if(x, y, transposeY):
// their product, or [0] without them. counted_rows_if(counts, x, flag): so many rows of x, or [0].
Status experts_product(const InferArgs& args, Shape* out);
Status matmul_if(const InferArgs& args, Shape* out);
Status counted_rows_if(const InferArgs& args, Shape* out);
// moe_type(x, quantMode): x's, or int8 when it is quantised.
Status moe_type(const InferArgs& args, DType* out);
// distances(x1, x2): [..., rows of x1, rows of x2]. pairs_within(x): each pair of rows once. each_with_each(x, y):
// [rows of x, rows of y]. one_row(x): x with one row. regions(x, rois, height, width): [regions, channels, height,
// width].
Status distances(const InferArgs& args, Shape* out);
Status pairs_within(const InferArgs& args, Shape* out);
Status each_with_each(const InferArgs& args, Shape* out);
Status one_row(const InferArgs& args, Shape* out);
// cells(size, each): so many of each cell of a grid of two sizes, in a row.
Status cells(const InferArgs& args, Shape* out);
// best(scores, n): [batch, n]; best_boxes has four corners of each.
Status best(const InferArgs& args, Shape* out);
Status best_boxes(const InferArgs& args, Shape* out);
Status regions(const InferArgs& args, Shape* out);
// rnn_steps(x, w): [steps, batch, hidden size], where w has four gates side by side.
Status rnn_steps(const InferArgs& args, Shape* out);
// text_room(x, template, summarize): bytes that hold the template with all its tensors.
Status text_room(const InferArgs& args, Shape* out);
// einsum(x, equation).
Status einsum(const InferArgs& args, Shape* out);

// infer_attention.cc
// flash_stats(query, heads, layout): [B, N, S, 8], or [T, N, 8]. flash_out(query, key, value, heads, layout).
Status flash_stats(const InferArgs& args, Shape* out);
Status flash_out(const InferArgs& args, Shape* out);
// infer_attention(query, value, blockTable, heads, keyHeads, layout); infer_attention_one has no block table.
// attention_lse(query, heads, layout, wanted).
Status infer_attention(const InferArgs& args, Shape* out);
Status infer_attention_one(const InferArgs& args, Shape* out);
Status attention_lse(const InferArgs& args, Shape* out);
// chosen_keys(query, key, layoutQuery, layoutKey, count). sparse_stats(query, key, layoutQuery, layoutKey, wanted).
Status chosen_keys(const InferArgs& args, Shape* out);
Status sparse_stats(const InferArgs& args, Shape* out);
// expanded_rows(x, choices, most): a row for each choice, most of them when that is above 0. routed_rows(x, choices,
// most, capacity, experts, padded), routed_scales(...).
Status expanded_rows(const InferArgs& args, Shape* out);
// chosen_rows(x, choices, tokens): a row for each choice of the first so many tokens.
Status chosen_rows(const InferArgs& args, Shape* out);
Status routed_rows(const InferArgs& args, Shape* out);
Status routed_scales(const InferArgs& args, Shape* out);
// routed_type(x, quantMode): int8 when it is quantised on the way.
Status routed_type(const InferArgs& args, DType* out);
// expert_counts(experts, range, kind).
Status expert_counts(const InferArgs& args, Shape* out);
// finalized_rows(expanded, rowIndex, x1, scales). scales_of(scales, tokens).
Status finalized_rows(const InferArgs& args, Shape* out);
Status scales_of(const InferArgs& args, Shape* out);
// merged_choices(x, indices, k): k choices become one row. merged_tokens(x, indices, probs): as many as probs has.
Status merged_choices(const InferArgs& args, Shape* out);
Status merged_tokens(const InferArgs& args, Shape* out);

// infer_quant.cc
// quantized(x, type): as x; packed by eight for int32. packed_int4(x), unpacked(x): one way and the other.
Status quantized(const InferArgs& args, Shape* out);
Status packed_int4(const InferArgs& args, Shape* out);
Status unpacked(const InferArgs& args, Shape* out);
// halved_last(x): the last dimension is half as large.
Status halved_last(const InferArgs& args, Shape* out);
// quant_rows(x, mode): one scale for each row, each channel or all. dynamic_rows(x, mode): rows when dynamic, else [1].
Status quant_rows(const InferArgs& args, Shape* out);
Status dynamic_rows(const InferArgs& args, Shape* out);
// blocks(x, rows, columns): how many of that size cover the last two dimensions. block_scales(x): pairs of scales for
// blocks of 32 along the last dimension. block_scales_along(x, axis, size).
Status blocks(const InferArgs& args, Shape* out);
Status block_scales(const InferArgs& args, Shape* out);
Status block_scales_along(const InferArgs& args, Shape* out);
// quant_columns(x, weight, transposed): x's rows, weight's columns. weight_quant_matmul(x, weight, turnX, turnWeight).
Status quant_columns(const InferArgs& args, Shape* out);
Status weight_quant_matmul(const InferArgs& args, Shape* out);
// ffn_out(x, weight2). swiglu_matmul(x, weight). finalized_routing(x, weight, rows, transposed).
Status ffn_out(const InferArgs& args, Shape* out);
Status swiglu_matmul(const InferArgs& args, Shape* out);
Status finalized_routing(const InferArgs& args, Shape* out);
// finalized_type(code): 0 float, 1 half, 2 bfloat16.
Status finalized_type(const InferArgs& args, DType* out);
// grouped_matmul(x, weight, groupList, splitItem, groupType, turnWeight, turnX): member by member. grouped_type(x,
// type).
Status grouped_matmul(const InferArgs& args, Shape* out);
Status grouped_type(const InferArgs& args, DType* out);
// permuted_matmul(x1, x2, perm1, perm2, permY, split).
Status permuted_matmul(const InferArgs& args, Shape* out);

// Operators that only ONNX has (src/ops/table/onnx.ops). Lists have an entry for each spatial dimension, channels are
// dimension 1; pads are all begins, then all ends.
// windows_over(x, kernel, strides, pads, dilations, ceil).
Status windows_over(const InferArgs& args, Shape* out);
// filtered(x, filter, strides, pads, dilations); spread(x, filter, strides, pads, dilations, outputPadding, groups).
Status filtered(const InferArgs& args, Shape* out);
Status spread(const InferArgs& args, Shape* out);
// resampled(x, scales, sizes, axes, policy).
Status resampled(const InferArgs& args, Shape* out);
// same_or_flat(x, axis), along(x, axis): axis -1000 stands for all elements in a row.
Status same_or_flat(const InferArgs& args, Shape* out);
Status along(const InferArgs& args, Shape* out);
// categories(x, keys): x with a last dimension more, as large as there are keys.
Status categories(const InferArgs& args, Shape* out);
// regions_of(x, rois, height, width): [regions, channels of x, height, width].
Status regions_of(const InferArgs& args, Shape* out);
// mel_weights(bins, length): [length / 2 + 1, bins].
Status mel_weights(const InferArgs& args, Shape* out);
// deformed(x, offset, weight): [N, kernels, height and width of the offsets].
Status deformed(const InferArgs& args, Shape* out);
// kept_boxes(scores): [all, 3].
Status kept_boxes(const InferArgs& args, Shape* out);
// recurrent_steps(x, r, layout), recurrent_last(x, r, layout).
Status recurrent_steps(const InferArgs& args, Shape* out);
Status recurrent_last(const InferArgs& args, Shape* out);
// spectrum(x, length, axis, inverse, onesided).
Status spectrum(const InferArgs& args, Shape* out);
// blocks_back(x, image, block): [N, C / elements of a block, image...].
Status blocks_back(const InferArgs& args, Shape* out);
// without_matrix(x): without the last two dimensions.
Status without_matrix(const InferArgs& args, Shape* out);

// The graph compiler's own operators (src/ops/table/fused.ops).
// fused_conv(x, filterDims, strides, pads, dilations, channelsLast, addend): two spatial dimensions; pads are both
// begins, then both ends.
Status fused_conv(const InferArgs& args, Shape* out);
// listed(dims): these.
Status listed(const InferArgs& args, Shape* out);
// with_columns(x, n, addend): x with another last dimension, wide enough for the addend.
Status with_columns(const InferArgs& args, Shape* out);
// attended(q, k, v, mask, qLayout, kLayout, vLayout, yLayout): a layout is the letters b, h, s and d in the order of
// the dimensions.
Status attended(const InferArgs& args, Shape* out);
// broadcast_all(x): the broadcast of a list's members.
Status broadcast_all(const InferArgs& args, Shape* out);

// Types.
// type_of(x): that of a tensor, or the value of a type argument; a negative one keeps the first input's.
Status type_of(const InferArgs& args, DType* out);
// promoted(x, y, ...): the one that holds all of them.
Status promoted(const InferArgs& args, DType* out);
// common_or_float(type, type, ...): the type when all are the same, else float.
Status common_or_float(const InferArgs& args, DType* out);
// gemm_type(x): of a GEMM: that of x, 32 bits for 8-bit integers.
Status gemm_type(const InferArgs& args, DType* out);
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
