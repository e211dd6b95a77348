// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"
#include "src/ops/resize_axes.h"

namespace millpond {

Status ResizeAxes(std::span<const int64_t> dims, std::span<const double> scales, std::span<const int64_t> sizes,
                  std::span<const int64_t> axes, int64_t policy, std::span<ResizeAxis> out) {
  for (size_t i = 0; i < dims.size(); ++i) out[i] = {dims[i], 1.0};
  const size_t count = axes.empty() ? dims.size() : axes.size();
  MP_REQUIRE(scales.empty() != sizes.empty(), "Resize: %zu scales and %zu sizes; one of both is needed", scales.size(),
             sizes.size());
  MP_REQUIRE(scales.size() + sizes.size() == count, "Resize: %zu numbers for %zu axes", scales.size() + sizes.size(),
             count);
  const auto place = [&](size_t i) -> size_t {
    if (axes.empty()) return i;
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(dims.size()) : axes[i];
    return static_cast<size_t>(axis);
  };
  for (size_t i = 0; i < count; ++i) {
    MP_REQUIRE(place(i) < dims.size(), "Resize: an axis is outside of %zu dimensions", dims.size());
  }
  double common = 0;
  for (size_t i = 0; i < count && !sizes.empty() && policy != 0; ++i) {
    const double scale = static_cast<double>(sizes[i]) / static_cast<double>(dims[place(i)]);
    const bool first = i == 0;
    common = first ? scale : policy == 1 ? std::min(common, scale) : std::max(common, scale);
  }
  for (size_t i = 0; i < count; ++i) {
    ResizeAxis& axis = out[place(i)];
    const auto from = static_cast<double>(dims[place(i)]);
    if (!scales.empty()) {
      MP_REQUIRE(scales[i] > 0 && scales[i] < 1e9, "Resize: scale %g", scales[i]);
      axis = {static_cast<int64_t>(std::floor(from * scales[i])), scales[i]};
    } else if (policy == 0) {
      axis = {sizes[i], static_cast<double>(sizes[i]) / from};
    } else {
      axis = {static_cast<int64_t>(std::floor(common * from + 0.5)), common};
    }
    MP_REQUIRE(axis.size >= 0, "Resize: size %lld", static_cast<long long>(axis.size));
  }
  return Ok();
}

namespace infer {
namespace {

// The spatial sizes behind N and C.
Status Spatial(const InferArgs& args, Dims x, size_t lists_from, size_t lists_to) {
  MP_REQUIRE(x.size() >= 3, "%s: %s has shape %s; batch, channels and one dimension more are the least", RowName(args),
             NameOf(args, 0), "of fewer dimensions");
  const size_t spatial = x.size() - 2;
  for (size_t i = lists_from; i < lists_to; ++i) {
    const size_t wanted = std::string_view(NameOf(args, i)) == "pads" ? 2 * spatial : spatial;
    MP_REQUIRE(Ints(args, i).size() == wanted, "%s: %s has %zu numbers for %zu spatial dimensions", RowName(args),
               NameOf(args, i), Ints(args, i).size(), spatial);
  }
  return Ok();
}

Status Window(const InferArgs& args, int64_t in, int64_t kernel, int64_t stride, int64_t begin, int64_t end,
              int64_t dilation, bool ceil, int64_t* out) {
  constexpr int64_t kMax = int64_t{1} << 40;
  const auto sane = [](int64_t value, int64_t least) { return value >= least && value < kMax; };
  MP_REQUIRE(sane(kernel, 1) && sane(stride, 1) && sane(dilation, 1) && sane(begin, 0) && sane(end, 0) &&
                 kernel <= kMax / dilation,
             "%s: kernel %lld, stride %lld, dilation %lld, pads %lld and %lld are not possible", RowName(args),
             static_cast<long long>(kernel), static_cast<long long>(stride), static_cast<long long>(dilation),
             static_cast<long long>(begin), static_cast<long long>(end));
  const int64_t room = in + begin + end - dilation * (kernel - 1) - 1;
  MP_REQUIRE(room >= 0, "%s: a window of %lld with dilation %lld is larger than the padded size %lld", RowName(args),
             static_cast<long long>(kernel), static_cast<long long>(dilation),
             static_cast<long long>(in + begin + end));
  *out = room / stride + 1;
  if (!ceil || room % stride == 0) return Ok();
  // One more window, unless it would begin behind the elements.
  if (*out * stride < in + begin) ++*out;
  return Ok();
}

// Appends what windows of `kernel` over x's spatial dimensions leave. Strides, pads and dilations are the rule's
// arguments `first` to `first` + 2.
Status AppendWindows(const InferArgs& args, Dims x, Dims kernel, size_t first, bool ceil, Shape* out) {
  const size_t spatial = x.size() - 2;
  const Dims pads = Ints(args, first + 1);
  for (size_t i = 0; i < spatial; ++i) {
    int64_t size = 0;
    MP_RETURN_IF_ERROR(Window(args, x[i + 2], kernel[i], Ints(args, first)[i], pads[i], pads[spatial + i],
                              Ints(args, first + 2)[i], ceil, &size));
    MP_RETURN_IF_ERROR(Append(args, size, out));
  }
  return Ok();
}

// An input and a filter of as many dimensions; what says how the filter moves ends before argument `end`.
Status ReadFiltered(const InferArgs& args, size_t end, Dims* out_x, Dims* out_filter) {
  *out_x = ShapeOf(args, 0);
  *out_filter = ShapeOf(args, 1);
  MP_RETURN_IF_ERROR(Spatial(args, *out_x, 2, end));
  MP_REQUIRE(out_filter->size() == out_x->size(), "%s: a filter of %zu dimensions for an input of %zu", RowName(args),
             out_filter->size(), out_x->size());
  return Ok();
}

}  // namespace

Status windows_over(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Spatial(args, x, 1, 5));
  MP_RETURN_IF_ERROR(Assign(args, x.first(2), out));
  return AppendWindows(args, x, Ints(args, 1), 2, Int(args, 5) != 0, out);
}

Status filtered(const InferArgs& args, Shape* out) {
  Dims x, filter;
  MP_RETURN_IF_ERROR(ReadFiltered(args, 5, &x, &filter));
  const int64_t front[] = {x[0], filter[0]};
  MP_RETURN_IF_ERROR(Assign(args, front, out));
  return AppendWindows(args, x, filter.subspan(2), 2, /*ceil=*/false, out);
}

Status spread(const InferArgs& args, Shape* out) {
  Dims x, filter;
  MP_RETURN_IF_ERROR(ReadFiltered(args, 6, &x, &filter));
  const int64_t front[] = {x[0], filter[1] * Int(args, 6)};
  MP_RETURN_IF_ERROR(Assign(args, front, out));
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t full =
        (x[i + 2] - 1) * Ints(args, 2)[i] + Ints(args, 4)[i] * (filter[i + 2] - 1) + 1 + Ints(args, 5)[i];
    const int64_t size = full - Ints(args, 3)[i] - Ints(args, 3)[spatial + i];
    MP_REQUIRE(size >= 0, "%s: the pads take more than the %lld elements of dimension %zu", RowName(args),
               static_cast<long long>(full), i + 2);
    MP_RETURN_IF_ERROR(Append(args, size, out));
  }
  return Ok();
}

Status resampled(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  ResizeAxis axes[TensorView::kMaxRank];
  const std::span<const double> scales = Has(args, 1) ? args.call.reals(args.from[1]) : std::span<const double>();
  MP_RETURN_IF_ERROR(ResizeAxes(x, scales, Has(args, 2) ? Ints(args, 2) : Dims(), Ints(args, 3), Int(args, 4), axes));
  out->rank = 0;
  for (size_t i = 0; i < x.size(); ++i) MP_RETURN_IF_ERROR(Append(args, axes[i].size, out));
  return Ok();
}

namespace {
constexpr int64_t kAllElements = -1000;
}

Status same_or_flat(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  if (Int(args, 1) != kAllElements) return Assign(args, x, out);
  const int64_t count = Elements(x);
  return Assign(args, {&count, 1}, out);
}

Status along(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  int64_t count = Elements(x);
  if (Int(args, 1) != kAllElements) {
    size_t axis = 0;
    MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), x.size(), &axis));
    count = x.empty() ? 1 : x[axis];
  }
  return Assign(args, {&count, 1}, out);
}

Status categories(const InferArgs& args, Shape* out) {
  std::vector<int64_t> dims(ShapeOf(args, 0).begin(), ShapeOf(args, 0).end());
  dims.push_back(Elements(ShapeOf(args, 1)));
  return Assign(args, dims, out);
}

Status regions_of(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0), rois = ShapeOf(args, 1);
  MP_REQUIRE(x.size() == 4 && rois.size() == 2, "%s: %s has %zu dimensions and %s %zu; 4 and 2 are needed",
             RowName(args), NameOf(args, 0), x.size(), NameOf(args, 1), rois.size());
  const int64_t dims[] = {rois[0], x[1], Int(args, 2), Int(args, 3)};
  return Assign(args, dims, out);
}

Status mel_weights(const InferArgs& args, Shape* out) {
  const int64_t dims[] = {Int(args, 1) / 2 + 1, Int(args, 0)};
  return Assign(args, dims, out);
}

Status deformed(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0), offset = ShapeOf(args, 1), weight = ShapeOf(args, 2);
  MP_REQUIRE(x.size() == 4 && offset.size() == 4 && weight.size() == 4, "%s: x, offset and weight need 4 dimensions",
             RowName(args));
  const int64_t dims[] = {x[0], weight[0], offset[2], offset[3]};
  return Assign(args, dims, out);
}

Status kept_boxes(const InferArgs& args, Shape* out) {
  const int64_t dims[] = {Elements(ShapeOf(args, 0)), 3};
  return Assign(args, dims, out);
}

namespace {

// r is [directions, gates * hidden, hidden]; x [steps, batch, size], or the first two swapped.
Status RecurrentSizes(const InferArgs& args, int64_t* out_steps, int64_t* out_batch) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(x.size() == 3 && ShapeOf(args, 1).size() == 3, "%s: x and r must have three dimensions", RowName(args));
  *out_steps = x[Int(args, 2) != 0 ? 1 : 0];
  *out_batch = x[Int(args, 2) != 0 ? 0 : 1];
  return Ok();
}

}  // namespace

Status recurrent_steps(const InferArgs& args, Shape* out) {
  int64_t steps = 0;
  int64_t batch = 0;
  MP_RETURN_IF_ERROR(RecurrentSizes(args, &steps, &batch));
  const Dims r = ShapeOf(args, 1);
  const int64_t first[] = {steps, r[0], batch, r[2]};
  const int64_t batched[] = {batch, steps, r[0], r[2]};
  return Assign(args, Int(args, 2) != 0 ? Dims(batched) : Dims(first), out);
}

Status recurrent_last(const InferArgs& args, Shape* out) {
  int64_t steps = 0;
  int64_t batch = 0;
  MP_RETURN_IF_ERROR(RecurrentSizes(args, &steps, &batch));
  const Dims r = ShapeOf(args, 1);
  const int64_t first[] = {r[0], batch, r[2]};
  const int64_t batched[] = {batch, r[0], r[2]};
  return Assign(args, Int(args, 2) != 0 ? Dims(batched) : Dims(first), out);
}

Status spectrum(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(x.size() >= 2 && (x.back() == 1 || x.back() == 2),
             "%s: the last dimension must be 1 (real) or 2 (complex)", RowName(args));
  size_t axis = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 2), x.size(), &axis));
  MP_REQUIRE(axis + 1 < x.size(), "%s: the axis is that of the complex numbers", RowName(args));
  MP_RETURN_IF_ERROR(Assign(args, x, out));
  const bool inverse = Int(args, 3) != 0;
  const bool onesided = Int(args, 4) != 0;
  const int64_t given = Has(args, 1) && !Ints(args, 1).empty() ? Ints(args, 1)[0]
                        : onesided && inverse                  ? 2 * (x[axis] - 1)
                                                               : x[axis];
  MP_REQUIRE(given >= 1, "%s: a signal of length %lld", RowName(args), static_cast<long long>(given));
  out->dims[axis] = onesided && !inverse ? given / 2 + 1 : given;
  out->dims[x.size() - 1] = onesided && inverse ? 1 : 2;
  return Ok();
}

Status blocks_back(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(x.size() == 3, "%s: %s must have three dimensions", RowName(args), NameOf(args, 0));
  const int64_t each = Elements(Ints(args, 2));
  MP_REQUIRE(each > 0 && x[1] % each == 0, "%s: %lld channels are not blocks of %lld", RowName(args),
             static_cast<long long>(x[1]), static_cast<long long>(each));
  const int64_t front[] = {x[0], x[1] / each};
  MP_RETURN_IF_ERROR(Assign(args, front, out));
  for (const int64_t size : Ints(args, 1)) MP_RETURN_IF_ERROR(Append(args, size, out));
  return Ok();
}

Status without_matrix(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(x.size() >= 2, "%s: %s must have two dimensions or more", RowName(args), NameOf(args, 0));
  return Assign(args, x.first(x.size() - 2), out);
}

}  // namespace infer
}  // namespace millpond
