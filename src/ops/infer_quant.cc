// SPDX-License-Identifier: Apache-2.0
// Quantisation, and GEMM of quantised or grouped matrices.
#include <string>
#include <string_view>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

constexpr int64_t kPackedInt4 = 8;  // in one int32

int64_t CeilDiv(int64_t value, int64_t by) { return by > 0 ? (value + by - 1) / by : 0; }

// x's rows with `columns` in the last place.
Status Columns(const InferArgs& args, int64_t columns, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  out->dims[out->rank - 1] = columns;
  return Ok();
}

int64_t FromEnd(Dims dims, size_t place) { return dims[dims.size() - place]; }

}  // namespace

Status quantized(const InferArgs& args, Shape* out) {
  if (static_cast<DType>(Int(args, 1)) == DType::kInt32) return packed_int4(args, out);
  return Assign(args, ShapeOf(args, 0), out);
}
Status packed_int4(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  return Columns(args, CeilDiv(ShapeOf(args, 0).back(), kPackedInt4), out);
}
Status unpacked(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  const bool packed = ViewOf(args, 0).dtype == DType::kInt32;
  return Columns(args, ShapeOf(args, 0).back() * (packed ? kPackedInt4 : 1), out);
}

Status halved_last(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  return Columns(args, ShapeOf(args, 0).back() / 2, out);
}

Status quant_rows(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  const std::string_view mode = TextOf(args, 1);
  const int64_t one = 1;
  if (mode == "pertensor") return Assign(args, {&one, 1}, out);
  const Dims x = ShapeOf(args, 0);
  if (mode != "perchannel") return Assign(args, x.first(x.size() - 1), out);
  MP_RETURN_IF_ERROR(Assign(args, x.first(x.size() < 2 ? 0 : x.size() - 2), out));
  return Append(args, x.back(), out);
}
Status dynamic_rows(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  const Dims x = ShapeOf(args, 0);
  const int64_t one = 1;
  return TextOf(args, 1) == "dynamic" ? Assign(args, x.first(x.size() - 1), out) : Assign(args, {&one, 1}, out);
}

Status blocks(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  out->dims[out->rank - 2] = CeilDiv(out->dims[out->rank - 2], Int(args, 1));
  out->dims[out->rank - 1] = CeilDiv(out->dims[out->rank - 1], Int(args, 2));
  return Ok();
}
Status block_scales(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  MP_RETURN_IF_ERROR(Columns(args, CeilDiv(CeilDiv(ShapeOf(args, 0).back(), 32), 2), out));
  return Append(args, 2, out);
}
Status block_scales_along(const InferArgs& args, Shape* out) {
  size_t axis = 0;
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), ShapeOf(args, 0).size(), &axis));
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  out->dims[axis] = CeilDiv(CeilDiv(out->dims[axis], Int(args, 2)), 2);
  return Append(args, 2, out);
}

Status quant_columns(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 2));
  return Columns(args, FromEnd(ShapeOf(args, 1), Int(args, 2) != 0 ? 2 : 1), out);
}
Status weight_quant_matmul(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 2));
  const bool turn_x = Int(args, 2) != 0;
  const bool turn_weight = Int(args, 3) != 0;
  const Dims x = ShapeOf(args, 0);
  const Dims weight = ShapeOf(args, 1);
  const int64_t depth = FromEnd(x, turn_x ? 2 : 1);
  int64_t columns = FromEnd(weight, turn_weight ? 2 : 1);
  // Packed along the columns when the rows are as many as they must be.
  const bool packed = ViewOf(args, 1).dtype == DType::kInt32;
  if (packed && FromEnd(weight, turn_weight ? 1 : 2) == depth) columns *= kPackedInt4;
  MP_RETURN_IF_ERROR(Columns(args, columns, out));
  if (turn_x) out->dims[out->rank - 2] = x.back();
  return Ok();
}

Status ffn_out(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  return Columns(args, ShapeOf(args, 1).back(), out);
}
Status swiglu_matmul(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  return Columns(args, ShapeOf(args, 1).back() / 2, out);
}
Status finalized_routing(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 2));
  const int64_t columns = FromEnd(ShapeOf(args, 1), Int(args, 3) != 0 ? 2 : 1);
  const int64_t dims[] = {Int(args, 2) > 0 ? Int(args, 2) : ShapeOf(args, 0)[0], columns};
  return Assign(args, dims, out);
}

Status finalized_type(const InferArgs& args, DType* out) {
  constexpr DType kTypes[] = {DType::kFloat, DType::kHalf, DType::kBfloat16};
  const int64_t code = Int(args, 0);
  MP_REQUIRE(code >= 0 && code < 3, "%s: dtype is %lld; it must be 0 to 2", RowName(args),
             static_cast<long long>(code));
  *out = kTypes[code];
  return Ok();
}

Status grouped_matmul(const InferArgs& args, Shape* out) {
  constexpr int64_t kOneOutput = 2;      // split item: 2 and 3 give one tensor
  constexpr int64_t kGroupsOfDepth = 2;  // group type
  const auto x = args.call.views(args.from[0]);
  const auto weight = args.call.views(args.from[1]);
  MP_REQUIRE(!x.empty() && !weight.empty(), "%s: x has %zu members and weight %zu; each needs one", RowName(args),
             x.size(), weight.size());
  const bool turn_weight = Int(args, 5) != 0;
  const bool turn_x = Int(args, 6) != 0;
  const bool one = Int(args, 3) >= kOneOutput;
  const TensorView& left = x[one || x.size() == 1 ? 0 : std::min(args.member, x.size() - 1)];
  const TensorView& right = weight[weight.size() == 1 ? 0 : std::min(args.member, weight.size() - 1)];
  MP_REQUIRE(left.rank >= 2 && right.rank >= 2, "%s: x %s and weight %s; both need two dimensions or more",
             RowName(args), ShapeText(left.shape()).c_str(), ShapeText(right.shape()).c_str());
  int64_t columns = FromEnd(right.shape(), turn_weight ? 2 : 1);
  const bool packed = right.dtype == DType::kInt32 && left.dtype != DType::kInt32;
  if (packed && FromEnd(right.shape(), turn_weight ? 1 : 2) == FromEnd(left.shape(), turn_x ? 2 : 1)) {
    columns *= kPackedInt4;
  }
  if (Int(args, 4) == kGroupsOfDepth && one) {
    const int64_t groups = Has(args, 2) && ViewOf(args, 2).rank > 0 ? ShapeOf(args, 2)[0] : 1;
    const int64_t dims[] = {groups, FromEnd(left.shape(), turn_x ? 1 : 2), columns};
    return Assign(args, dims, out);
  }
  MP_RETURN_IF_ERROR(Assign(args, left.shape(), out));
  if (turn_x) out->dims[out->rank - 2] = left.shape().back();
  out->dims[out->rank - 1] = columns;
  if (!one) return Ok();
  int64_t rows = 0;  // of all members, one under the other
  for (const TensorView& member : x) rows += FromEnd(member.shape(), turn_x ? 1 : 2);
  out->dims[out->rank - 2] = rows;
  return Ok();
}
Status grouped_type(const InferArgs& args, DType* out) {
  const DType x = args.call.views(args.from[0]).empty() ? DType::kFloat : args.call.views(args.from[0])[0].dtype;
  *out = x;
  if (x != DType::kInt8 && x != DType::kInt32 && BitsOf(x) != 8) return Ok();
  constexpr DType kTypes[] = {DType::kHalf, DType::kBfloat16, DType::kInt32, DType::kFloat};
  const int64_t code = Int(args, 1);
  MP_REQUIRE(code >= -1 && code < 4, "%s: dtype is %lld; it must be -1 to 3", RowName(args),
             static_cast<long long>(code));
  *out = code < 0 ? DType::kInt8 : kTypes[code];
  return Ok();
}

Status permuted_matmul(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 3));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 3));
  int64_t x1[3], x2[3];
  constexpr int64_t kPlain[] = {0, 1, 2};
  const auto permuted = [&](size_t which, size_t perm, int64_t* to) -> Status {
    const Dims order = Has(args, perm) && !Ints(args, perm).empty() ? Ints(args, perm) : Dims(kPlain);
    MP_REQUIRE(order.size() == 3 && ShapeOf(args, which).size() == 3,
               "%s: %s needs three dimensions and as many places", RowName(args), NameOf(args, which));
    for (size_t i = 0; i < 3; ++i) {
      MP_REQUIRE(order[i] >= 0 && order[i] < 3, "%s: %s has %lld", RowName(args), NameOf(args, perm),
                 static_cast<long long>(order[i]));
      to[i] = ShapeOf(args, which)[static_cast<size_t>(order[i])];
    }
    return Ok();
  };
  MP_RETURN_IF_ERROR(permuted(0, 2, x1));
  MP_RETURN_IF_ERROR(permuted(1, 3, x2));
  const int64_t product[] = {x1[0], x1[1], x2[2]};
  const Dims order = Has(args, 4) && !Ints(args, 4).empty() ? Ints(args, 4) : Dims(kPlain);
  MP_REQUIRE(order.size() == 3, "%s: %s needs three places", RowName(args), NameOf(args, 4));
  out->rank = 0;
  for (const int64_t place : order) {
    MP_REQUIRE(place >= 0 && place < 3, "%s: %s has %lld", RowName(args), NameOf(args, 4),
               static_cast<long long>(place));
    MP_RETURN_IF_ERROR(Append(args, product[place], out));
  }
  const int64_t split = Int(args, 5);
  if (split <= 1) return Ok();
  const int64_t dims[] = {split, out->dims[0], out->dims[1] * out->dims[2] / split};
  return Assign(args, dims, out);
}

}  // namespace millpond::infer
