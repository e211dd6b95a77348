// SPDX-License-Identifier: Apache-2.0
// Rules of the graph compiler's own operators (src/ops/table/fused.ops), in the form of infer.h's.
#ifndef MILLPOND_SRC_OPS_INFER_FUSED_H_
#define MILLPOND_SRC_OPS_INFER_FUSED_H_

#include "src/ops/row.h"

namespace millpond::infer {

// NOLINTBEGIN(readability-identifier-naming): names of the text format

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

// NOLINTEND(readability-identifier-naming)

}  // namespace millpond::infer

#endif  // MILLPOND_SRC_OPS_INFER_FUSED_H_
