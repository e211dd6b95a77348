// SPDX-License-Identifier: Apache-2.0
// Resampling as GE's operators describe it: TensorFlow's three ways to place the points.
#include "src/kernels/ge/layout.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

std::optional<double> ScaleAt(DoubleArray scales, size_t i) {
  // So that no point's place in the source is beyond 64 bits.
  constexpr double kMinScale = 1e-9;
  TORCH_CHECK(i >= scales.size() || !(scales[i] > 0) || scales[i] >= kMinScale, "scale ", i, " is ", scales[i],
              "; it must be at least ", kMinScale, ", or 0 for the ratio of the sizes");
  return i < scales.size() && scales[i] > 0 ? std::optional<double>(scales[i]) : std::nullopt;
}

// Where point i of the result lies in the source, for all of them. Only the two ways that ATen does not have.
Tensor Points(int64_t from, int64_t to, bool align) {
  const double step = align ? (to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0)
                            : static_cast<double>(from) / static_cast<double>(to);
  return at::arange(to, at::TensorOptions().dtype(at::kDouble)).mul_(step);
}

// The nearest element of each point, with the corners aligned.
Tensor NearestAligned(const Tensor& x, IntArrayRef size) {
  const auto places = [](int64_t from, int64_t to) {
    return Points(from, to, /*align=*/true).add_(0.5).floor_().to(at::kLong).clamp_(0, from - 1);
  };
  return x.index_select(2, places(x.size(2), size[0])).index_select(3, places(x.size(3), size[1]));
}

// Between two elements, where point i is at i * step: neither centres nor corners agree.
Tensor LinearFromOrigin(const Tensor& x, int64_t dim, int64_t to) {
  const int64_t from = x.size(dim);
  const Tensor points = Points(from, to, /*align=*/false);
  const Tensor low = points.floor().to(at::kLong).clamp_(0, from - 1);
  const Tensor high = low.add(1).clamp_(0, from - 1);
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(dim)] = to;
  const Tensor weight = points.sub(low).to(at::kFloat).reshape(shape);
  return at::lerp(x.index_select(dim, low), x.index_select(dim, high), weight);
}

std::pair<Tensor, Tensor> FirstOf(const Tensor& x, Tensor& y) {
  const string_view layout = LayoutOf(x, "NCHW");
  return {ChannelsFirst(x, layout), ChannelsFirst(y, layout)};
}

void CheckSize(IntArrayRef size, const Tensor& out) {
  TORCH_CHECK(size.size() == 2, "size has ", size.size(), " entries; it must have two, height and width");
  TORCH_CHECK(out.sizes().slice(2) == size, "size is ", size, ", the output has shape ", out.sizes());
}

}  // namespace

MP_KERNEL(GeResizeNearest, const Tensor& x, IntArrayRef size, bool align, bool half_pixel, DoubleArray scales,
          Tensor& y) {
  auto [input, target] = FirstOf(x, y);
  CheckSize(size, target);
  if (align) {
    Write(target, NearestAligned(input, size));
  } else {
    Write(target, half_pixel ? at::_upsample_nearest_exact2d(input, size, ScaleAt(scales, 0), ScaleAt(scales, 1))
                             : at::upsample_nearest2d(input, size, ScaleAt(scales, 0), ScaleAt(scales, 1)));
  }
}
MP_KERNEL(GeResizeNearestGrad, const Tensor& grad, IntArrayRef size, bool align, bool half_pixel, DoubleArray scales,
          Tensor& y) {
  TORCH_CHECK(!align, "the gradient with align_corners is not supported");
  auto [input, target] = FirstOf(grad, y);
  CheckSize(size, target);
  const IntArrayRef from = input.sizes().slice(2);
  Write(target, half_pixel ? at::_upsample_nearest_exact2d_backward(input, from, target.sizes(), ScaleAt(scales, 0),
                                                                    ScaleAt(scales, 1))
                           : at::upsample_nearest2d_backward(input, from, target.sizes(), ScaleAt(scales, 0),
                                                             ScaleAt(scales, 1)));
}

MP_KERNEL(GeResizeBilinear, const Tensor& x, IntArrayRef size, bool align, bool half_pixel, DoubleArray scales,
          Tensor& y) {
  auto [input, target] = FirstOf(x, y);
  CheckSize(size, target);
  if (align || half_pixel) {
    Write(target, at::upsample_bilinear2d(input, size, align, ScaleAt(scales, 0), ScaleAt(scales, 1)));
    return;
  }
  const Tensor wide = input.to(at::kFloat);
  Write(target, LinearFromOrigin(LinearFromOrigin(wide, 2, size[0]), 3, size[1]));
}
MP_KERNEL(GeResizeBilinearGrad, const Tensor& grad, bool align, bool half_pixel, DoubleArray scales, Tensor& y) {
  TORCH_CHECK(align || half_pixel, "the gradient is supported with align_corners or half_pixel_centers only");
  auto [input, target] = FirstOf(grad, y);
  Write(target, at::upsample_bilinear2d_backward(input, input.sizes().slice(2), target.sizes(), align,
                                                 ScaleAt(scales, 0), ScaleAt(scales, 1)));
}

}  // namespace millpond::kernels
