// SPDX-License-Identifier: Apache-2.0
// Convolution as GE's operators describe it.
#include "src/kernels/ge/layout.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

// One convolution's lists, as ATen wants them.
struct Geometry {
  string_view layout;  // of x and y
  std::vector<int64_t> stride, dilation;
  Padding padding;
  size_t spatial() const { return stride.size(); }
  std::vector<int64_t> none() const { return std::vector<int64_t>(spatial(), 0); }
};

Geometry GeometryOf(const Tensor& x, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations,
                    string_view data_format) {
  Geometry geometry;
  geometry.layout = LayoutOf(x, data_format);
  geometry.stride = SpatialEntries(strides, geometry.layout, "strides");
  geometry.dilation = SpatialEntries(dilations, geometry.layout, "dilations");
  geometry.padding = PaddingFrom(pads, geometry.spatial());
  return geometry;
}

// [out, in, spatial...]
Tensor Filter(const Tensor& filter, const Geometry& geometry) {
  return ChannelsFirst(filter, LayoutOf(filter, geometry.layout));
}

// [channels * times, 1, H, W]
Tensor DepthwiseFilter(const Tensor& filter, const Geometry& geometry) {
  const string_view layout = LayoutOf(filter, geometry.layout);
  const Tensor first = ChannelsFirst(filter, layout);
  if (layout != "HWCN" && first.size(1) == 1) return first;  // as torch has it
  return first.transpose(0, 1).reshape({first.size(0) * first.size(1), 1, first.size(2), first.size(3)});
}

// ATen pads both ends alike; the rest is put around x before.
Tensor Padded(const Tensor& x, Geometry* geometry) {
  if (geometry->padding.symmetric()) return x;
  const Tensor padded = at::constant_pad_nd(x, geometry->padding.AtenOrder());
  geometry->padding = {geometry->none(), geometry->none()};
  return padded;
}

// Takes the padding off that Padded would have put around something of this size.
Tensor Cropped(Tensor x, const Padding& padding, IntArrayRef spatial) {
  for (size_t i = 0; i < spatial.size(); ++i) {
    x = x.narrow(static_cast<int64_t>(i) + 2, padding.before[i], spatial[i]);
  }
  return x;
}

void Forward(const Tensor& x, const Tensor& filter, const OptTensor& bias, Geometry geometry, int64_t groups,
             Tensor& y) {
  const Tensor input = Padded(ChannelsFirst(x, geometry.layout), &geometry);
  const auto compute = [&] {
    return at::convolution(input, filter, bias, geometry.stride, geometry.padding.before, geometry.dilation,
                           /*transposed=*/false, geometry.none(), groups);
  };
  Tensor target = ChannelsFirst(y, geometry.layout);
  if (target.is_contiguous()) {
    Produce(y, compute);
  } else {
    Write(target, compute());
  }
}

std::vector<int64_t> SizesFirst(IntArrayRef sizes, string_view layout) {
  TORCH_CHECK(sizes.size() == layout.size(), "a size has ", sizes.size(), " entries; the format ", std::string(layout),
              " needs ", layout.size());
  std::vector<int64_t> first;
  for (const int64_t at : OrderOf(layout, layout.size() == 5 ? "NCDHW" : "NCHW")) {
    first.push_back(sizes[static_cast<size_t>(at)]);
  }
  return first;
}

// What a convolution of something of `sizes` (channels first) with this filter gives back to it.
Tensor GradOfInput(IntArrayRef sizes, const Tensor& filter, const Tensor& grad, const Geometry& geometry,
                   int64_t groups) {
  std::vector<int64_t> padded(sizes.vec());
  const bool symmetric = geometry.padding.symmetric();
  for (size_t i = 0; !symmetric && i < geometry.spatial(); ++i) {
    padded[i + 2] += geometry.padding.before[i] + geometry.padding.after[i];
  }
  const Tensor like = at::zeros({1}, grad.options()).expand(padded);
  const Tensor result = std::get<0>(at::convolution_backward(
      grad, like, filter, at::OptionalIntArrayRef(), geometry.stride,
      symmetric ? IntArrayRef(geometry.padding.before) : IntArrayRef(geometry.none()), geometry.dilation,
      /*transposed=*/false, geometry.none(), groups, {true, false, false}));
  return symmetric ? result : Cropped(result, geometry.padding, sizes.slice(2));
}

}  // namespace

MP_KERNEL(GeConvolution, const Tensor& x, const Tensor& filter, const OptTensor& bias, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, int64_t groups, string_view data_format, Tensor& y) {
  const Geometry geometry = GeometryOf(x, strides, pads, dilations, data_format);
  Forward(x, Filter(filter, geometry), bias, geometry, groups, y);
}

MP_KERNEL(GeDepthwiseConvolution, const Tensor& x, const Tensor& filter, const OptTensor& bias, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, string_view data_format, Tensor& y) {
  const Geometry geometry = GeometryOf(x, strides, pads, dilations, data_format);
  Forward(x, DepthwiseFilter(filter, geometry), bias, geometry, ChannelsFirst(x, geometry.layout).size(1), y);
}

// As the gradient of a convolution: y has the size that is given, whatever the strides would leave open.
MP_KERNEL(GeConvolutionTranspose, const Tensor& x, const Tensor& filter, const OptTensor& bias, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, int64_t groups, string_view data_format, Tensor& y) {
  const Geometry geometry = GeometryOf(x, strides, pads, dilations, data_format);
  Tensor target = ChannelsFirst(y, geometry.layout);
  const Tensor result =
      GradOfInput(target.sizes(), Filter(filter, geometry), ChannelsFirst(x, geometry.layout), geometry, groups);
  if (!bias.has_value()) {
    Write(target, result);
    return;
  }
  std::vector<int64_t> channel(static_cast<size_t>(result.dim()), 1);
  channel[1] = -1;
  Write(target, result.add(bias->reshape(channel)));
}

MP_KERNEL(GeConvolutionInputGrad, IntArrayRef size, const Tensor& filter, const Tensor& grad, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, int64_t groups, string_view data_format, Tensor& y) {
  const Geometry geometry = GeometryOf(grad, strides, pads, dilations, data_format);
  Tensor target = ChannelsFirst(y, geometry.layout);
  Write(target, GradOfInput(SizesFirst(size, geometry.layout), Filter(filter, geometry),
                            ChannelsFirst(grad, geometry.layout), geometry, groups));
}

MP_KERNEL(GeConvolutionFilterGrad, const Tensor& x, IntArrayRef size, const Tensor& grad, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, int64_t groups, string_view data_format, Tensor& y) {
  Geometry geometry = GeometryOf(x, strides, pads, dilations, data_format);
  const string_view layout = LayoutOf(y, geometry.layout);
  const Tensor input = Padded(ChannelsFirst(x, geometry.layout), &geometry);
  const Tensor like = at::zeros({1}, x.options()).expand(SizesFirst(size, layout));
  Tensor target = ChannelsFirst(y, layout);
  Write(target, std::get<1>(at::convolution_backward(ChannelsFirst(grad, geometry.layout), input, like,
                                                     at::OptionalIntArrayRef(), geometry.stride,
                                                     geometry.padding.before, geometry.dilation, /*transposed=*/false,
                                                     geometry.none(), groups, {false, true, false})));
}

}  // namespace millpond::kernels
