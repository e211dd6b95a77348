// SPDX-License-Identifier: Apache-2.0
// Rules of neural networks' operators, in the form of infer.h's.
#ifndef MILLPOND_SRC_OPS_INFER_NN_H_
#define MILLPOND_SRC_OPS_INFER_NN_H_

#include "src/ops/row.h"

namespace millpond::infer {

// NOLINTBEGIN(readability-identifier-naming): names of the text format

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
// sampled(x, grid): [N, C] of x, then the grid's points.
Status sampled(const InferArgs& args, Shape* out);

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
// own_part(counts, displacements): where the only rank's part ends.
Status own_part(const InferArgs& args, Shape* out);
// distances(x1, x2): [..., rows of x1, rows of x2]. pairs_within(x): each pair of rows once. each_with_each(x, y):
// [rows of x, rows of y]. one_row(x): x with one row. regions(x, rois, height, width): [regions, channels, height,
// width].
Status distances(const InferArgs& args, Shape* out);
Status pairs_within(const InferArgs& args, Shape* out);
Status each_with_each(const InferArgs& args, Shape* out);
Status one_row(const InferArgs& args, Shape* out);
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
// ffn_out(x, weight2). swiglu_product(x, weight). finalized_routing(x, weight, rows, transposed).
Status ffn_out(const InferArgs& args, Shape* out);
Status swiglu_product(const InferArgs& args, Shape* out);
Status finalized_routing(const InferArgs& args, Shape* out);
// finalized_type(code): 0 float, 1 half, 2 bfloat16.
Status finalized_type(const InferArgs& args, DType* out);
// grouped_matmul(x, weight, groupList, splitItem, groupType, turnWeight, turnX): member by member. grouped_type(x,
// type).
Status grouped_matmul(const InferArgs& args, Shape* out);
Status grouped_type(const InferArgs& args, DType* out);
// permuted_product(x1, x2, perm1, perm2, permY, split).
Status permuted_product(const InferArgs& args, Shape* out);

// NOLINTEND(readability-identifier-naming)

}  // namespace millpond::infer

#endif  // MILLPOND_SRC_OPS_INFER_NN_H_
