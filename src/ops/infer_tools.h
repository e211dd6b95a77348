// SPDX-License-Identifier: Apache-2.0
// What the rules of infer*.cc share.
#ifndef MILLPOND_SRC_OPS_INFER_TOOLS_H_
#define MILLPOND_SRC_OPS_INFER_TOOLS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/ops/call.h"
#include "src/ops/row.h"

namespace millpond::infer {

using Dims = std::span<const int64_t>;

inline const char* RowName(const InferArgs& args) { return args.call.row().name; }
inline const char* NameOf(const InferArgs& args, size_t which) { return args.call.row().args[args.from[which]].name; }
inline ArgKind KindOf(const InferArgs& args, size_t which) { return args.call.row().args[args.from[which]].kind; }
inline bool Has(const InferArgs& args, size_t which) {
  return which < args.from.size() && args.call.has(args.from[which]);
}
inline int64_t Int(const InferArgs& args, size_t which) { return args.call.integer(args.from[which]); }
inline std::string_view TextOf(const InferArgs& args, size_t which) { return args.call.text(args.from[which]); }
inline Dims Ints(const InferArgs& args, size_t which) { return args.call.ints(args.from[which]); }
// The tensor, or the member of the list that is asked for (the first when the list has only that).
const TensorView& ViewOf(const InferArgs& args, size_t which);
inline Dims ShapeOf(const InferArgs& args, size_t which) { return ViewOf(args, which).shape(); }
// The numbers of an array, or the one number of an integer argument.
inline Dims List(const InferArgs& args, size_t which, int64_t* room) {
  if (KindOf(args, which) == ArgKind::kInts) return Has(args, which) ? Ints(args, which) : Dims();
  *room = Int(args, which);
  return {room, 1};
}

Status NeedRank(const InferArgs& args, size_t which, size_t rank);  // so many dimensions, or more
Status Assign(const InferArgs& args, Dims dims, Shape* out);
inline Status Vector(const InferArgs& args, int64_t size, Shape* out) { return Assign(args, {&size, 1}, out); }
// Fails beyond the most dimensions that there may be.
Status Append(const InferArgs& args, int64_t dim, Shape* out);
// Widens *out to cover dims too.
bool Widen(Dims dims, Shape* out);
// dim counted from the front; fails when it is outside [-rank, rank). No dimensions count as one.
Status Wrap(const InferArgs& args, int64_t dim, size_t rank, size_t* out);
// Of sizes: what is too large to count stays the largest number, and fits nothing.
inline int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
inline int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
// The elements of a shape.
int64_t Elements(Dims dims);

}  // namespace millpond::infer

#endif  // MILLPOND_SRC_OPS_INFER_TOOLS_H_
