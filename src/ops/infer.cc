// SPDX-License-Identifier: Apache-2.0
#include "src/ops/infer.h"

#include "src/ops/infer_tools.h"

namespace millpond::infer {

const TensorView& ViewOf(const InferArgs& args, size_t which) {
  const auto views = args.call.views(args.from[which]);
  return views[args.member < views.size() ? args.member : 0];
}

Status Assign(const InferArgs& args, Dims dims, Shape* out) {
  MP_REQUIRE(dims.size() <= TensorView::kMaxRank, "%s: the result would have %zu dimensions; at most %zu are possible",
             RowName(args), dims.size(), TensorView::kMaxRank);
  out->rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out->dims);
  return Ok();
}

Status NeedRank(const InferArgs& args, size_t which, size_t rank) {
  MP_REQUIRE(ShapeOf(args, which).size() >= rank, "%s: %s has shape %s; it needs %zu dimensions or more", RowName(args),
             NameOf(args, which), ShapeText(ShapeOf(args, which)).c_str(), rank);
  return Ok();
}

Status Append(const InferArgs& args, int64_t dim, Shape* out) {
  MP_REQUIRE(out->rank < TensorView::kMaxRank, "%s: the result would have more than %zu dimensions", RowName(args),
             TensorView::kMaxRank);
  out->dims[out->rank++] = dim;
  return Ok();
}

bool Widen(Dims dims, Shape* out) {
  if (dims.size() > out->rank) {
    const size_t more = dims.size() - out->rank;
    std::copy_backward(out->dims, out->dims + out->rank, out->dims + dims.size());
    std::fill(out->dims, out->dims + more, 1);
    out->rank = static_cast<uint8_t>(dims.size());
  }
  const size_t skip = out->rank - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t& have = out->dims[skip + i];
    if (have == dims[i] || dims[i] == 1) continue;
    if (have != 1) return false;
    have = dims[i];
  }
  return true;
}

Status Wrap(const InferArgs& args, int64_t dim, size_t rank, size_t* out) {
  const auto bound = static_cast<int64_t>(std::max<size_t>(rank, 1));
  MP_REQUIRE(dim >= -bound && dim < bound, "%s: dimension %lld is out of range; it must be in [%lld, %lld]",
             RowName(args), static_cast<long long>(dim), static_cast<long long>(-bound),
             static_cast<long long>(bound - 1));
  *out = static_cast<size_t>(dim < 0 ? dim + bound : dim);
  return Ok();
}

int64_t Elements(Dims dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count = Times(count, dim);
  return count;
}

Status same(const InferArgs& args, Shape* out) { return Assign(args, ShapeOf(args, 0), out); }

Status broadcast(const InferArgs& args, Shape* out) {
  out->rank = 0;
  size_t last = 0;
  for (size_t i = 0; i < args.from.size(); ++i) {
    if (!Has(args, i)) continue;
    const auto dims = ShapeOf(args, i);
    MP_REQUIRE(Widen(dims, out), "%s: shape %s of %s cannot be broadcast with %s's; the sizes must be equal or 1",
               RowName(args), ShapeText(dims).c_str(), NameOf(args, i), NameOf(args, last));
    last = i;
  }
  return Ok();
}

namespace {

Status Reduce(const InferArgs& args, Dims dims, bool keep, Shape* out) {
  const auto shape = ShapeOf(args, 0);
  bool gone[TensorView::kMaxRank] = {};
  for (const int64_t dim : dims) {
    size_t place = 0;
    MP_RETURN_IF_ERROR(Wrap(args, dim, shape.size(), &place));
    gone[place] = true;
  }
  if (dims.empty()) std::fill(std::begin(gone), std::end(gone), true);
  out->rank = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) {
      out->dims[out->rank++] = shape[i];
    } else if (keep) {
      out->dims[out->rank++] = 1;
    }
  }
  return Ok();
}

}  // namespace

Status reduce(const InferArgs& args, Shape* out) {
  int64_t single = 0;
  return Reduce(args, List(args, 1, &single), Int(args, 2) != 0, out);
}

Status reduce_some(const InferArgs& args, Shape* out) {
  int64_t single = 0;
  const Dims dims = List(args, 1, &single);
  if (dims.empty() && Int(args, 3) != 0) return same(args, out);
  return Reduce(args, dims, Int(args, 2) != 0, out);
}

Status reduce_one(const InferArgs& args, Shape* out) {
  const int64_t dim = Int(args, 1);
  return Reduce(args, {&dim, 1}, /*keep=*/false, out);
}

namespace {

Status Multiply(const InferArgs& args, const Shape& x, const Shape& y, Shape* out) {
  const Dims a = x.span();
  const Dims b = y.span();
  MP_REQUIRE(!a.empty() && !b.empty(), "%s: %s has no dimensions; a matmul needs at least one", RowName(args),
             NameOf(args, a.empty() ? 0 : 1));
  const int64_t inner_a = a.back();
  const int64_t inner_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  MP_REQUIRE(inner_a == inner_b, "%s: %s %s and %s %s do not multiply: %lld columns against %lld rows", RowName(args),
             NameOf(args, 0), ShapeText(a).c_str(), NameOf(args, 1), ShapeText(b).c_str(),
             static_cast<long long>(inner_a), static_cast<long long>(inner_b));
  MP_RETURN_IF_ERROR(Assign(args, a.first(a.size() < 2 ? 0 : a.size() - 2), out));
  MP_REQUIRE(Widen(b.first(b.size() < 2 ? 0 : b.size() - 2), out),
             "%s: the leading dimensions of %s %s and %s %s cannot be broadcast", RowName(args), NameOf(args, 0),
             ShapeText(a).c_str(), NameOf(args, 1), ShapeText(b).c_str());
  if (a.size() > 1) out->dims[out->rank++] = a[a.size() - 2];
  if (b.size() > 1) out->dims[out->rank++] = b.back();
  return Ok();
}

}  // namespace

Status matmul(const InferArgs& args, Shape* out) {
  Shape x, y;
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), &x));
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 1), &y));
  return Multiply(args, x, y, out);
}

Status matmul_transposed(const InferArgs& args, Shape* out) {
  Shape shapes[2];
  for (size_t i = 0; i < 2; ++i) {
    Shape& shape = shapes[i];
    MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, i), &shape));
    if (Int(args, 2 + i) != 0 && shape.rank >= 2) std::swap(shape.dims[shape.rank - 1], shape.dims[shape.rank - 2]);
  }
  return Multiply(args, shapes[0], shapes[1], out);
}

Status inner_product(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const Dims w = ShapeOf(args, 1);
  size_t axis = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 3), x.size(), &axis));
  MP_REQUIRE(w.size() >= 2 && !x.empty(), "%s: %s %s is not a matrix", RowName(args), NameOf(args, 1),
             ShapeText(w).c_str());
  const bool transposed = Int(args, 2) != 0;
  const int64_t inner = Elements(x.subspan(axis));
  const int64_t rest = Elements(w.subspan(1));
  MP_REQUIRE(inner == (transposed ? w[0] : rest), "%s: %s %s from dimension %zu on and %s %s do not multiply",
             RowName(args), NameOf(args, 0), ShapeText(x).c_str(), axis, NameOf(args, 1), ShapeText(w).c_str());
  MP_RETURN_IF_ERROR(Assign(args, x.first(axis), out));
  return Append(args, transposed ? rest : w[0], out);
}

Status scalar(const InferArgs&, Shape* out) {
  out->rank = 0;
  return Ok();
}

Status one(const InferArgs&, Shape* out) {
  out->rank = 1;
  out->dims[0] = 1;
  return Ok();
}

Status last(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_REQUIRE(!shape.empty(), "%s: %s has no dimensions; at least one is needed", RowName(args), NameOf(args, 0));
  return Assign(args, shape.last(1), out);
}

Status channels(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_REQUIRE(shape.size() >= 2, "%s: %s has shape %s; at least two dimensions are needed", RowName(args),
             NameOf(args, 0), ShapeText(shape).c_str());
  return Assign(args, shape.subspan(1, 1), out);
}

Status channels_of(const InferArgs& args, Shape* out) {
  const std::string_view format = args.call.text(args.from[1]);
  return !format.empty() && format.back() == 'C' ? last(args, out) : channels(args, out);
}

Status halved(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, args.from.size() > 1 ? Int(args, 1) : -1, out->rank, &dim));
  MP_REQUIRE(out->rank > 0 && out->dims[dim] % 2 == 0, "%s: dimension %zu of %s %s cannot be halved", RowName(args),
             dim, NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str());
  out->dims[dim] /= 2;
  return Ok();
}

}  // namespace millpond::infer
