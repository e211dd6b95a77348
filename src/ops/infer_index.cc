// SPDX-License-Identifier: Apache-2.0
// Shapes of what is picked by index, by order or by condition.
#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {

Status gather(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims index = ShapeOf(args, 2);
  const int64_t batch_given = args.from.size() > 3 ? Int(args, 3) : 0;
  int64_t single = 0;
  const Dims dims = List(args, 1, &single);  // some clients give a list with one entry
  MP_REQUIRE(dims.size() == 1, "%s: %s must be one number", RowName(args), NameOf(args, 1));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, dims[0], shape.size(), &dim));
  const auto batch =
      static_cast<size_t>(batch_given < 0 ? batch_given + static_cast<int64_t>(index.size()) : batch_given);
  MP_REQUIRE(!shape.empty() && batch <= dim && batch <= index.size() &&
                 std::equal(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(batch), index.begin()),
             "%s: %s %s and %s %s do not share %lld leading dimensions", RowName(args), NameOf(args, 0),
             ShapeText(shape).c_str(), NameOf(args, 2), ShapeText(index).c_str(), static_cast<long long>(batch_given));
  MP_RETURN_IF_ERROR(Assign(args, shape.first(dim), out));
  for (const int64_t size : index.subspan(batch)) MP_RETURN_IF_ERROR(Append(args, size, out));
  for (const int64_t size : shape.subspan(dim + 1)) MP_RETURN_IF_ERROR(Append(args, size, out));
  return Ok();
}

Status gather_nd(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims index = ShapeOf(args, 1);
  MP_REQUIRE(!index.empty() && index.back() <= static_cast<int64_t>(shape.size()),
             "%s: the last dimension of %s %s names more dimensions than %s %s has", RowName(args), NameOf(args, 1),
             ShapeText(index).c_str(), NameOf(args, 0), ShapeText(shape).c_str());
  MP_RETURN_IF_ERROR(Assign(args, index.first(index.size() - 1), out));
  for (const int64_t size : shape.subspan(static_cast<size_t>(index.back()))) {
    MP_RETURN_IF_ERROR(Append(args, size, out));
  }
  return Ok();
}

Status indexed(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const auto indices = args.call.views(args.from[1]);
  const Dims mask = Ints(args, 2);
  MP_REQUIRE(mask.size() <= shape.size(), "%s: %s %s has more entries than %s %s has dimensions", RowName(args),
             NameOf(args, 2), ShapeText(mask).c_str(), NameOf(args, 0), ShapeText(shape).c_str());
  const auto indexed_at = [&](size_t i) { return i < mask.size() && mask[i] != 0; };
  size_t count = 0, first = shape.size(), last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!indexed_at(i)) continue;
    first = std::min(first, i);
    last = i;
    ++count;
  }
  MP_REQUIRE(count == indices.size() && count > 0, "%s: %s %s names %zu dimensions, but there are %zu indices",
             RowName(args), NameOf(args, 2), ShapeText(mask).c_str(), count, indices.size());
  Shape picked;
  for (const TensorView& index : indices) {
    MP_REQUIRE(Widen(index.shape(), &picked), "%s: the indices' shapes cannot be broadcast: %s against %s",
               RowName(args), ShapeText(index.shape()).c_str(), ShapeText(picked.span()).c_str());
  }
  // Neighbouring indices keep their place, separated ones come first.
  const size_t place = last - first + 1 == count ? first : 0;
  out->rank = 0;
  for (size_t i = 0; i <= shape.size(); ++i) {
    if (i == place) {
      for (const int64_t size : picked.span()) MP_RETURN_IF_ERROR(Append(args, size, out));
    }
    if (i < shape.size() && !indexed_at(i)) MP_RETURN_IF_ERROR(Append(args, shape[i], out));
  }
  return Ok();
}

Status embedding_rows(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_REQUIRE(!shape.empty(), "%s: %s has no dimensions; at least one is needed", RowName(args), NameOf(args, 0));
  out->rank = 2;
  out->dims[0] = Int(args, 1);
  out->dims[1] = shape.back();
  return Ok();
}

Status topk(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 2), out->rank, &dim));
  const int64_t k = Int(args, 1);
  if (out->rank == 0) return Ok();
  MP_REQUIRE(k >= 0 && k <= out->dims[dim], "%s: k is %lld; dimension %zu of %s %s has %lld elements", RowName(args),
             static_cast<long long>(k), dim, NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str(),
             static_cast<long long>(out->dims[dim]));
  out->dims[dim] = k;
  return Ok();
}

Status one_hot(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_REQUIRE(Int(args, 1) >= 0, "%s: %s is %lld; it cannot be negative", RowName(args), NameOf(args, 1),
             static_cast<long long>(Int(args, 1)));
  size_t axis = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 2), shape.size() + 1, &axis));
  MP_RETURN_IF_ERROR(Assign(args, shape.first(axis), out));
  MP_RETURN_IF_ERROR(Append(args, Int(args, 1), out));
  for (const int64_t size : shape.subspan(axis)) MP_RETURN_IF_ERROR(Append(args, size, out));
  return Ok();
}

Status coordinates(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  out->rank = 2;
  out->dims[0] = Elements(shape);
  out->dims[1] = static_cast<int64_t>(shape.size());
  if (args.from.size() > 1 && Int(args, 1) != 0) std::swap(out->dims[0], out->dims[1]);
  return Ok();
}

Status flat(const InferArgs& args, Shape* out) {
  Shape all;
  MP_RETURN_IF_ERROR(broadcast(args, &all));
  const int64_t count = Elements(all.span());
  return Assign(args, {&count, 1}, out);
}

}  // namespace millpond::infer
