// SPDX-License-Identifier: Apache-2.0
// Shapes of slices and of what is made by counting.
#include <cmath>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

bool Bit(int64_t mask, size_t i) { return i < 63 && ((mask >> i) & 1) != 0; }

int64_t Wrapped(int64_t place, int64_t size, int64_t low, int64_t high) {
  return std::clamp(place < 0 ? place + size : place, low, std::max(low, high));
}

// How many elements begin:end:step takes of `size`; a null end: to the last in the direction of the step.
int64_t Taken(int64_t size, const int64_t* begin, const int64_t* end, int64_t step) {
  if (step > 0) {
    const int64_t from = begin ? Wrapped(*begin, size, 0, size) : 0;
    const int64_t to = end ? Wrapped(*end, size, 0, size) : size;
    return to <= from ? 0 : (to - from - 1) / step + 1;
  }
  const int64_t from = begin ? Wrapped(*begin, size, -1, size - 1) : size - 1;
  const int64_t to = end ? Wrapped(*end, size, -1, size - 1) : -1;
  return from <= to ? 0 : (from - to - 1) / -step + 1;
}

double Real(const InferArgs& args, size_t which) {
  const ArgKind kind = KindOf(args, which);
  if (kind == ArgKind::kDouble) return args.call.real(args.from[which]);
  if (kind != ArgKind::kScalar) return static_cast<double>(Int(args, which));
  const ScalarValue& value = args.call.scalar(args.from[which]);
  const uint8_t type = ClassOf(value.dtype);
  return type == kIntTypes || type == kBoolTypes ? static_cast<double>(value.integer) : value.real;
}

}  // namespace

Status slice(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims offsets = Ints(args, 1);
  const Dims sizes = Ints(args, 2);
  MP_REQUIRE(offsets.size() == shape.size() && sizes.size() == shape.size(),
             "%s: %s has %zu dimensions, but there are %zu offsets and %zu sizes", RowName(args), NameOf(args, 0),
             shape.size(), offsets.size(), sizes.size());
  out->rank = static_cast<uint8_t>(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = sizes[i] == -1 ? shape[i] - offsets[i] : sizes[i];
    MP_REQUIRE(offsets[i] >= 0 && size >= 0 && size <= shape[i] - offsets[i],
               "%s: %lld elements from %lld on are not in dimension %zu of %s %s", RowName(args),
               static_cast<long long>(sizes[i]), static_cast<long long>(offsets[i]), i, NameOf(args, 0),
               ShapeText(shape).c_str());
    out->dims[i] = size;
  }
  return Ok();
}

Status strided_slice(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims begin = Ints(args, 1);
  const Dims end = Ints(args, 2);
  const Dims strides = Has(args, 3) ? Ints(args, 3) : Dims();
  const int64_t ellipsis = Int(args, 6);
  const int64_t new_axis = Int(args, 7);
  MP_REQUIRE(begin.size() == end.size() && (strides.empty() || strides.size() == begin.size()),
             "%s: begin, end and strides have %zu, %zu and %zu entries; they must have as many", RowName(args),
             begin.size(), end.size(), strides.size());
  size_t named = 0;
  for (size_t i = 0; i < begin.size(); ++i) named += !Bit(ellipsis, i) && !Bit(new_axis, i) ? 1 : 0;
  MP_REQUIRE(named <= shape.size(), "%s: there are %zu slices for %s %s", RowName(args), named, NameOf(args, 0),
             ShapeText(shape).c_str());
  out->rank = 0;
  size_t dim = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    if (Bit(ellipsis, i)) {
      for (size_t skip = shape.size() - named; skip > 0; --skip) MP_RETURN_IF_ERROR(Append(args, shape[dim++], out));
    } else if (Bit(new_axis, i)) {
      MP_RETURN_IF_ERROR(Append(args, 1, out));
    } else if (Bit(Int(args, 8), i)) {
      MP_REQUIRE(begin[i] >= -shape[dim] && begin[i] < shape[dim], "%s: element %lld is not in dimension %zu of %s %s",
                 RowName(args), static_cast<long long>(begin[i]), dim, NameOf(args, 0), ShapeText(shape).c_str());
      ++dim;
    } else {
      const int64_t step = strides.empty() ? 1 : strides[i];
      MP_REQUIRE(step != 0, "%s: stride %zu is 0", RowName(args), i);
      const int64_t* from = Bit(Int(args, 4), i) ? nullptr : &begin[i];
      const int64_t* to = Bit(Int(args, 5), i) ? nullptr : &end[i];
      MP_RETURN_IF_ERROR(Append(args, Taken(shape[dim++], from, to, step), out));
    }
  }
  while (dim < shape.size()) MP_RETURN_IF_ERROR(Append(args, shape[dim++], out));
  return Ok();
}

Status sliced_axes(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims begin = Ints(args, 1);
  const Dims end = Ints(args, 2);
  const Dims axes = Has(args, 3) ? Ints(args, 3) : Dims();
  const Dims strides = Has(args, 4) ? Ints(args, 4) : Dims();
  MP_REQUIRE(begin.size() == end.size() && (axes.empty() || axes.size() == begin.size()) &&
                 (strides.empty() || strides.size() == begin.size()) && begin.size() <= shape.size(),
             "%s: %zu begins, %zu ends, %zu axes and %zu strides do not slice %s %s", RowName(args), begin.size(),
             end.size(), axes.size(), strides.size(), NameOf(args, 0), ShapeText(shape).c_str());
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  for (size_t i = 0; i < begin.size(); ++i) {
    size_t dim = i;
    if (!axes.empty()) MP_RETURN_IF_ERROR(Wrap(args, axes[i], shape.size(), &dim));
    const int64_t step = strides.empty() ? 1 : strides[i];
    MP_REQUIRE(step != 0, "%s: stride %zu is 0", RowName(args), i);
    out->dims[dim] = Taken(shape[dim], &begin[i], &end[i], step);
  }
  return Ok();
}

Status range(const InferArgs& args, Shape* out) {
  const double start = Real(args, 0);
  const double limit = Real(args, 1);
  const double delta = Real(args, 2);
  const bool closed = args.from.size() > 3 && Int(args, 3) != 0;
  MP_REQUIRE(delta != 0 && (delta > 0 ? start <= limit : start >= limit),
             "%s: no count leads from %g to %g in steps of %g", RowName(args), start, limit, delta);
  const double steps = (limit - start) / delta;
  const double count = closed ? std::floor(steps) + 1 : std::ceil(steps);
  MP_REQUIRE(std::isfinite(count) && count < 1e15, "%s: from %g to %g in steps of %g are too many elements",
             RowName(args), start, limit, delta);
  out->rank = 1;
  out->dims[0] = static_cast<int64_t>(count);
  return Ok();
}

Status eye(const InferArgs& args, Shape* out) {
  const int64_t rows = Int(args, 0);
  const int64_t columns = Int(args, 1) > 0 ? Int(args, 1) : rows;
  MP_RETURN_IF_ERROR(Assign(args, args.from.size() > 2 && Has(args, 2) ? Ints(args, 2) : Dims(), out));
  MP_RETURN_IF_ERROR(Append(args, rows, out));
  MP_RETURN_IF_ERROR(Append(args, columns, out));
  return Ok();
}

}  // namespace millpond::infer
