// SPDX-License-Identifier: Apache-2.0
// Deformable convolution: the input is sampled at shifted points, [N, C, outH * kH, outW * kW], then convolved with
// the kernel's size as its stride. Offsets are planes of one kind each: all x, all y, all masks (when modulated), each
// by deformable group and kernel point.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

struct Geometry {
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w, groups;
  bool modulated;

  Geometry(IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t deformable_groups,
           bool is_modulated) {
    TORCH_CHECK(kernel.size() == 2 && stride.size() == 4 && padding.size() == 4 && dilation.size() == 4,
                "kernelSize needs 2 entries, stride, padding and dilation 4; there are ", kernel.size(), ", ",
                stride.size(), ", ", padding.size(), ", ", dilation.size());
    kernel_h = kernel[0];
    kernel_w = kernel[1];
    stride_h = stride[2];
    stride_w = stride[3];
    pad_top = padding[0];
    pad_left = padding[2];
    dilation_h = dilation[2];
    dilation_w = dilation[3];
    groups = deformable_groups;
    modulated = is_modulated;
  }
};

// [N, G * kH * kW, oH, oW] as [N * G, oH * kH, oW * kW], the layout of the sampled points.
Tensor AsPoints(const Tensor& planes, const Geometry& g) {
  const int64_t n = planes.size(0), h = planes.size(2), w = planes.size(3);
  return planes.reshape({n * g.groups, g.kernel_h, g.kernel_w, h, w})
      .permute({0, 3, 1, 4, 2})
      .reshape({n * g.groups, h * g.kernel_h, w * g.kernel_w});
}
Tensor AsPlanes(const Tensor& points, const Geometry& g) {
  const int64_t h = points.size(1) / g.kernel_h, w = points.size(2) / g.kernel_w;
  return points.reshape({points.size(0), h, g.kernel_h, w, g.kernel_w})
      .permute({0, 2, 4, 1, 3})
      .reshape({points.size(0) / g.groups, g.groups * g.kernel_h * g.kernel_w, h, w});
}

// Undeformed positions of the points along one dimension.
Tensor Positions(int64_t out, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                 const at::TensorOptions& options) {
  const Tensor start = at::arange(out, options).mul_(stride).sub_(pad).unsqueeze(1);
  return start.add(at::arange(kernel, options).mul_(dilation)).reshape({-1});
}

struct Samples {
  Tensor grid;  // [N * G, oH * kH, oW * kW, 2], normalised as grid_sampler without aligned corners reads it
  OptTensor mask;
  Tensor input;  // [N * G, C / G, H, W]
};

Samples SamplesOf(const Tensor& input, const Tensor& offset, const Geometry& g) {
  const int64_t h = input.size(2), w = input.size(3);
  const auto parts = offset.to(at::kFloat).chunk(g.modulated ? 3 : 2, 1);
  const auto options = parts[0].options();
  const Tensor x =
      AsPoints(parts[0], g).add(Positions(offset.size(3), g.kernel_w, g.stride_w, g.pad_left, g.dilation_w, options));
  const Tensor y =
      AsPoints(parts[1], g)
          .add(Positions(offset.size(2), g.kernel_h, g.stride_h, g.pad_top, g.dilation_h, options).unsqueeze(1));
  Samples samples;
  samples.grid = at::stack({x.mul(2).add_(1).div_(w).sub_(1), y.mul(2).add_(1).div_(h).sub_(1)}, -1);
  if (g.modulated) samples.mask = AsPoints(parts[2], g).unsqueeze(1);
  samples.input = input.to(at::kFloat).reshape({input.size(0) * g.groups, -1, h, w});
  return samples;
}

}  // namespace

MP_KERNEL(aclnnDeformableConv2d, const Tensor& x, const Tensor& weight, const Tensor& offset, const OptTensor& bias,
          IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
          int64_t deformable_groups, bool modulated, Tensor& out, Tensor* deformed_out) {
  const Geometry g(kernel, stride, padding, dilation, deformable_groups, modulated);
  const Samples samples = SamplesOf(x, offset, g);
  Tensor sampled = at::grid_sampler_2d(samples.input, samples.grid, 0, 0, false);
  if (samples.mask) sampled = sampled.mul(*samples.mask);
  const Tensor deformed = sampled.reshape({x.size(0), x.size(1), sampled.size(2), sampled.size(3)}).to(x.scalar_type());
  Write(out, at::conv2d(deformed, weight, bias, kernel, IntArrayRef({0, 0}), IntArrayRef({1, 1}), groups));
  Write(deformed_out, deformed);
}

// The samples alone. Four entries stand in the order of the format.
MP_KERNEL(GeDeformableOffsets, const Tensor& x, const Tensor& offsets, IntArrayRef strides, IntArrayRef pads,
          IntArrayRef kernel, IntArrayRef dilations, string_view format, int64_t groups, bool modulated, Tensor& y) {
  TORCH_CHECK(format == "NHWC" || format == "NCHW", "data_format is '", std::string(format), "'; it is NHWC or NCHW");
  TORCH_CHECK(x.dim() == 4 && offsets.dim() == 4 && strides.size() == 4 && dilations.size() == 4,
              "x and offsets need 4 dimensions, strides and dilations 4 entries");
  const bool last = format == "NHWC";
  const auto turned = [last](const Tensor& tensor) { return last ? tensor.permute({0, 3, 1, 2}) : tensor; };
  const auto settled = [last](IntArrayRef list) {
    return last ? std::vector<int64_t>{list[0], list[3], list[1], list[2]} : list.vec();
  };
  const Geometry g(kernel, settled(strides), pads, settled(dilations), groups, modulated);
  const Tensor input = turned(x).contiguous();
  const Tensor planes = turned(offsets).contiguous();
  const int64_t each = groups * g.kernel_h * g.kernel_w;
  TORCH_CHECK(groups > 0 && input.size(1) % groups == 0 && planes.size(1) == each * (modulated ? 3 : 2),
              "offsets have ", planes.size(1), " channels; ", each * (modulated ? 3 : 2), " belong to ", groups,
              " groups of a kernel of ", g.kernel_h, " x ", g.kernel_w, ", and the groups share ", input.size(1));
  const Samples samples = SamplesOf(input, planes, g);
  Tensor sampled = at::grid_sampler_2d(samples.input, samples.grid, 0, 0, false);
  if (samples.mask) sampled = sampled.mul(*samples.mask);
  Tensor target = turned(y);
  Write(target, sampled.reshape({input.size(0), input.size(1), sampled.size(2), sampled.size(3)}));
}

MP_WIDE_KERNEL(aclnnDeformableConv2dBackward, const Tensor& input, const Tensor& grad_output, const Tensor& deformed,
               const Tensor& weight, const Tensor& offset, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, int64_t groups, int64_t deformable_groups, bool modulated, Tensor& grad_input,
               Tensor& grad_weight, Tensor& grad_offset, Tensor* grad_bias) {
  const Geometry g(kernel, stride, padding, dilation, deformable_groups, modulated);
  const int64_t bias_size = grad_output.size(1);
  const auto [to_deformed, to_weight, to_bias] = at::convolution_backward(
      grad_output.to(at::kFloat), deformed.to(at::kFloat), weight.to(at::kFloat), at::OptionalIntArrayRef(bias_size),
      kernel, IntArrayRef({0, 0}), IntArrayRef({1, 1}), false, IntArrayRef({0, 0}), groups, {true, true, true});
  const Samples samples = SamplesOf(input, offset, g);
  const Tensor to_sampled =
      to_deformed.reshape({input.size(0) * g.groups, -1, to_deformed.size(2), to_deformed.size(3)});
  const auto [to_input, to_grid] =
      at::grid_sampler_2d_backward(samples.mask ? to_sampled.mul(*samples.mask) : to_sampled, samples.input,
                                   samples.grid, 0, 0, false, {true, true});
  // From normalised coordinates to pixels.
  std::vector<Tensor> planes = {AsPlanes(to_grid.select(-1, 0).mul(2.0 / static_cast<double>(input.size(3))), g),
                                AsPlanes(to_grid.select(-1, 1).mul(2.0 / static_cast<double>(input.size(2))), g)};
  if (g.modulated) {
    const Tensor sampled = at::grid_sampler_2d(samples.input, samples.grid, 0, 0, false);
    planes.push_back(AsPlanes(sampled.mul(to_sampled).sum(1), g));
  }
  Write(grad_input, to_input.reshape(input.sizes()));
  Write(grad_weight, to_weight);
  Write(grad_offset, at::cat(planes, 1));
  Write(grad_bias, to_bias);
}

}  // namespace millpond::kernels
