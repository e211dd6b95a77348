// SPDX-License-Identifier: Apache-2.0
// Shape rules by name, as rows write them: `shape out = broadcast(self, other)`. `from` holds the places of the
// arguments between the parentheses.
#ifndef MILLPOND_SRC_OPS_INFER_H_
#define MILLPOND_SRC_OPS_INFER_H_

#include <span>

#include "src/ops/row.h"

namespace millpond::infer {

// same(x): as x.
Status same(const OpCall& call, std::span<const uint8_t> from, Shape* out);  // NOLINT: names of the text format
// broadcast(x, y, ...): the usual rule; absent arguments do not count.
Status broadcast(const OpCall& call, std::span<const uint8_t> from, Shape* out);  // NOLINT
// reduce(x, dims, keep): without those dimensions, or with ones in their places. Absent or empty dims: all of them.
Status reduce(const OpCall& call, std::span<const uint8_t> from, Shape* out);  // NOLINT
// matmul(x, y): the last two dimensions multiply, the others broadcast; vectors as numpy has them.
Status matmul(const OpCall& call, std::span<const uint8_t> from, Shape* out);  // NOLINT
// scalar(): one element, no dimensions.
Status scalar(const OpCall& call, std::span<const uint8_t> from, Shape* out);  // NOLINT

}  // namespace millpond::infer

#endif  // MILLPOND_SRC_OPS_INFER_H_
