// SPDX-License-Identifier: Apache-2.0
// Pooling as GE's operators describe it.
#include <limits>

#include "src/kernels/ge/layout.h"
#include "src/kernels/nn/max_pool_last.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

struct Windows {
  string_view layout;
  std::vector<int64_t> size, stride, dilation;
  Padding padding;
  bool ceil = false;
  size_t spatial() const { return size.size(); }
  std::vector<int64_t> none() const { return std::vector<int64_t>(spatial(), 0); }
  // ATen pads both ends alike, by at most half a window.
  bool plain() const {
    for (size_t i = 0; i < spatial(); ++i) {
      if (padding.before[i] * 2 > size[i]) return false;
    }
    return padding.symmetric();
  }
};

// `input`: the spatial sizes.
Windows WindowsOf(string_view layout, IntArrayRef input, IntArrayRef ksize, IntArrayRef strides, string_view padding,
                  IntArrayRef pads, bool global, bool ceil) {
  Windows windows;
  windows.layout = layout;
  windows.ceil = ceil;
  windows.dilation.assign(input.size(), 1);
  if (global) {
    windows.size = input.vec();
    windows.stride.assign(input.size(), 1);
    windows.padding = {windows.none(), windows.none()};
    return windows;
  }
  windows.size = SpatialEntries(ksize, layout, "ksize");
  windows.stride = SpatialEntries(strides, layout, "strides");
  if (padding == "SAME") {
    windows.padding = SamePadding(input, windows.size, windows.stride);
  } else if (padding == "VALID") {
    windows.padding = {windows.none(), windows.none()};
  } else {
    TORCH_CHECK(padding == "CALCULATED", "the padding is '", std::string(padding),
                "'; it must be SAME, VALID or CALCULATED");
    windows.padding = PaddingFrom(pads, windows.spatial());
  }
  return windows;
}

Tensor Average(const Tensor& x, const Windows& windows, IntArrayRef padding, bool count_padding,
               std::optional<int64_t> divisor) {
  return windows.spatial() == 3
             ? at::avg_pool3d(x, windows.size, windows.stride, padding, windows.ceil, count_padding, divisor)
             : at::avg_pool2d(x, windows.size, windows.stride, padding, windows.ceil, count_padding, divisor);
}

// How many elements each window of the padded x has: those of x alone, or with the padding.
Tensor CountsOf(const Tensor& x, const Windows& windows, bool count_padding) {
  std::vector<int64_t> shape(x.sizes().vec());
  shape[0] = shape[1] = 1;
  const Tensor ones = at::constant_pad_nd(at::ones(shape, x.options()), windows.padding.AtenOrder(),
                                          count_padding ? Scalar(1) : Scalar(0));
  return Average(ones, windows, windows.none(), true, 1);
}

Tensor AverageOf(const Tensor& x, const Windows& windows, bool count_padding, int64_t divisor) {
  const auto fixed = divisor == 0 ? std::nullopt : std::optional<int64_t>(divisor);
  if (windows.plain()) return Average(x, windows, windows.padding.before, count_padding, fixed);
  const Tensor padded = at::constant_pad_nd(x, windows.padding.AtenOrder());
  const Tensor sums = Average(padded, windows, windows.none(), true, 1);
  return fixed ? sums.div(*fixed) : sums.div(CountsOf(x, windows, count_padding));
}

Tensor AverageGrad(const Tensor& x, const Tensor& grad, const Windows& windows, bool count_padding, int64_t divisor) {
  const auto back = [&](const Tensor& dy, const Tensor& like, IntArrayRef padding, bool count,
                        std::optional<int64_t> by) {
    return windows.spatial() == 3
               ? at::avg_pool3d_backward(dy, like, windows.size, windows.stride, padding, windows.ceil, count, by)
               : at::avg_pool2d_backward(dy, like, windows.size, windows.stride, padding, windows.ceil, count, by);
  };
  const auto fixed = divisor == 0 ? std::nullopt : std::optional<int64_t>(divisor);
  if (windows.plain()) return back(grad, x, windows.padding.before, count_padding, fixed);
  const Tensor share = fixed ? grad.div(*fixed) : grad.div(CountsOf(x, windows, count_padding));
  Tensor result = back(share, at::constant_pad_nd(x, windows.padding.AtenOrder()), windows.none(), true, 1);
  for (size_t i = 0; i < windows.spatial(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    result = result.narrow(dim, windows.padding.before[i], x.size(dim));
  }
  return result;
}

struct Maxima {
  Tensor values, positions;  // positions in the padded plane
};

Tensor PaddedForMaxima(const Tensor& x, const Windows& windows) {
  if (windows.plain()) return x;
  TORCH_CHECK(at::isFloatingType(x.scalar_type()), "maxima with padding need a floating-point tensor; this one is ",
              x.scalar_type());
  const Scalar lowest(-std::numeric_limits<double>::infinity());
  return at::constant_pad_nd(x, windows.padding.AtenOrder(), lowest);
}

Maxima MaximaOf(const Tensor& x, const Windows& windows) {
  const std::vector<int64_t> padding = windows.plain() ? windows.padding.before : windows.none();
  const auto [values, positions] =
      windows.spatial() == 3
          ? at::max_pool3d_with_indices(x, windows.size, windows.stride, padding, windows.dilation, windows.ceil)
          : at::max_pool2d_with_indices(x, windows.size, windows.stride, padding, windows.dilation, windows.ceil);
  return {values, positions};
}

Tensor MaximaGrad(const Tensor& x, const Tensor& grad, const Windows& windows) {
  const Tensor padded = PaddedForMaxima(x, windows);
  const Tensor positions = MaximaOf(padded, windows).positions;
  const std::vector<int64_t> padding = windows.plain() ? windows.padding.before : windows.none();
  Tensor result = windows.spatial() == 3
                      ? at::max_pool3d_with_indices_backward(grad, padded, windows.size, windows.stride, padding,
                                                             windows.dilation, windows.ceil, positions)
                      : at::max_pool2d_with_indices_backward(grad, padded, windows.size, windows.stride, padding,
                                                             windows.dilation, windows.ceil, positions);
  for (size_t i = 0; !windows.plain() && i < windows.spatial(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    result = result.narrow(dim, windows.padding.before[i], x.size(dim));
  }
  return result;
}

// Lists with the spatial entries at `first` and the one behind it.
std::vector<int64_t> Pair(IntArrayRef list, int64_t first) {
  if (list.size() == 2) return list.vec();
  TORCH_CHECK(list.size() == 4, "ksize, strides, pads and dilation need 4 entries each; one has ", list.size());
  return list.slice(static_cast<size_t>(first), 2).vec();
}

// 32-bit positions at the beginning of the buffer; nothing when it is too small, then they can be found again.
std::optional<Tensor> PositionsIn(const Tensor& mask, IntArrayRef shape) {
  const int64_t needed = c10::multiply_integers(shape) * static_cast<int64_t>(sizeof(int32_t));
  if (!mask.is_contiguous() || mask.numel() * mask.element_size() < needed) return std::nullopt;
  return at::from_blob(mask.data_ptr(), shape, at::TensorOptions().dtype(at::kInt));
}

void MaximaChannelsLast(const Tensor& x, const Windows& windows, Tensor& y) {
  MaxPoolShape shape{.batch = x.size(0),
                     .height = x.size(1),
                     .width = x.size(2),
                     .channels = x.size(3),
                     .out_height = y.size(1),
                     .out_width = y.size(2)};
  for (size_t i = 0; i < 2; ++i) {
    shape.window[i] = windows.size[i];
    shape.stride[i] = windows.stride[i];
    shape.dilation[i] = windows.dilation[i];
    shape.before[i] = windows.padding.before[i];
  }
  MaxPoolChannelsLast(x.const_data_ptr<float>(), shape, y.data_ptr<float>());
}

}  // namespace

MP_KERNEL(GeAvgPool, const Tensor& x, IntArrayRef ksize, IntArrayRef strides, string_view padding, IntArrayRef pads,
          string_view data_format, bool global, bool ceil, bool exclusive, int64_t divisor, Tensor& y) {
  const string_view layout = LayoutOf(x, data_format);
  const Tensor input = ChannelsFirst(x, layout);
  const Windows windows = WindowsOf(layout, input.sizes().slice(2), ksize, strides, padding, pads, global, ceil);
  Tensor target = ChannelsFirst(y, layout);
  Write(target, AverageOf(input, windows, !exclusive, divisor));
}
MP_KERNEL(GeAvgPoolGrad, IntArrayRef shape, const Tensor& grad, IntArrayRef ksize, IntArrayRef strides,
          string_view padding, IntArrayRef pads, string_view data_format, bool global, bool ceil, bool exclusive,
          int64_t divisor, Tensor& y) {
  const string_view layout = LayoutOf(grad, data_format);
  Tensor target = ChannelsFirst(y, layout);
  TORCH_CHECK(y.sizes() == shape, "orig_input_shape is ", shape, ", the output has shape ", y.sizes());
  const Windows windows = WindowsOf(layout, target.sizes().slice(2), ksize, strides, padding, pads, global, ceil);
  const Tensor like = at::zeros({1}, grad.options()).expand(target.sizes());
  Write(target, AverageGrad(like, ChannelsFirst(grad, layout), windows, !exclusive, divisor));
}

MP_KERNEL(GeAvgPool3d, const Tensor& x, IntArrayRef ksize, IntArrayRef strides, IntArrayRef pads, bool ceil,
          bool count_padding, int64_t divisor, string_view data_format, Tensor& y) {
  const string_view layout = LayoutOf(x, data_format);
  const Tensor input = Widened(ChannelsFirst(x, layout));
  const Windows windows =
      WindowsOf(layout, input.sizes().slice(2), ksize, strides, "CALCULATED", pads, /*global=*/false, ceil);
  Tensor target = ChannelsFirst(y, layout);
  Write(target, AverageOf(input, windows, count_padding, divisor));
}
MP_KERNEL(GeAvgPool3dGrad, IntArrayRef shape, const Tensor& grad, IntArrayRef ksize, IntArrayRef strides,
          IntArrayRef pads, bool ceil, bool count_padding, int64_t divisor, string_view data_format, Tensor& y) {
  const string_view layout = LayoutOf(grad, data_format);
  Tensor target = ChannelsFirst(y, layout);
  TORCH_CHECK(y.sizes() == shape, "orig_input_shape is ", shape, ", the output has shape ", y.sizes());
  const Windows windows =
      WindowsOf(layout, target.sizes().slice(2), ksize, strides, "CALCULATED", pads, /*global=*/false, ceil);
  const Tensor wide = Widened(ChannelsFirst(grad, layout));
  const Tensor like = at::zeros({1}, wide.options()).expand(target.sizes());
  Write(target, AverageGrad(like, wide, windows, count_padding, divisor));
}

MP_KERNEL(GeMaxPool, const Tensor& x, IntArrayRef ksize, IntArrayRef strides, string_view padding, IntArrayRef pads,
          IntArrayRef dilations, string_view data_format, bool global, bool ceil, Tensor& y) {
  const string_view layout = LayoutOf(x, data_format);
  const Tensor input = ChannelsFirst(x, layout);
  Windows windows = WindowsOf(layout, input.sizes().slice(2), ksize, strides, padding, pads, global, ceil);
  windows.dilation = SpatialEntries(dilations, layout, "dilation");
  if (layout == "NHWC" && x.scalar_type() == at::kFloat && x.is_contiguous() && y.is_contiguous()) {
    return MaximaChannelsLast(x, windows, y);
  }
  Tensor target = ChannelsFirst(y, layout);
  Write(target, MaximaOf(PaddedForMaxima(input, windows), windows).values);
}
MP_KERNEL(GeMaxPoolGrad, const Tensor& x, const Tensor& grad, IntArrayRef ksize, IntArrayRef strides,
          string_view padding, IntArrayRef pads, string_view data_format, bool global, bool ceil, Tensor& out) {
  const string_view layout = LayoutOf(x, data_format);
  const Tensor input = ChannelsFirst(x, layout);
  const Windows windows = WindowsOf(layout, input.sizes().slice(2), ksize, strides, padding, pads, global, ceil);
  Tensor target = ChannelsFirst(out, layout);
  Write(target, MaximaGrad(input, ChannelsFirst(grad, layout), windows));
}

MP_KERNEL(GeMaxPoolWithMask, const Tensor& x, IntArrayRef ksize, IntArrayRef strides, IntArrayRef pads, int64_t first,
          IntArrayRef dilations, bool ceil, Tensor& y, Tensor& argmax) {
  const auto [values, positions] = at::max_pool2d_with_indices(x, Pair(ksize, first), Pair(strides, first),
                                                               Pair(pads, first), Pair(dilations, first), ceil);
  Write(y, values);
  if (auto kept = PositionsIn(argmax, positions.sizes())) kept->copy_(positions);
}
MP_KERNEL(GeMaxPoolWithMaskGrad, const Tensor& x, const Tensor& grad, const Tensor& argmax, IntArrayRef ksize,
          IntArrayRef strides, IntArrayRef pads, int64_t first, IntArrayRef dilations, bool ceil, Tensor& y) {
  const auto window = Pair(ksize, first), stride = Pair(strides, first), padding = Pair(pads, first),
             dilation = Pair(dilations, first);
  const auto kept = PositionsIn(argmax, grad.sizes());
  const Tensor positions =
      kept ? kept->to(at::kLong) : std::get<1>(at::max_pool2d_with_indices(x, window, stride, padding, dilation, ceil));
  Produce(y, [&] {
    return at::max_pool2d_with_indices_backward(grad, x, window, stride, padding, dilation, ceil, positions);
  });
}

MP_KERNEL(GeAdaptiveAvgPool2dGrad, const Tensor& grad, IntArrayRef shape, Tensor& out) {
  const Tensor like = at::zeros({1}, grad.options()).expand(shape);
  Produce(out, [&] { return at::_adaptive_avg_pool2d_backward(grad, like); });
}

}  // namespace millpond::kernels
