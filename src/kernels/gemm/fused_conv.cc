// SPDX-License-Identifier: Apache-2.0
// Convolution with bias, addend and activation. With channels last and a packed filter it is one call of oneDNN.
#include <ATen/core/dispatch/Dispatcher.h>

#include "src/kernels/gemm/fused.h"
#include "src/kernels/gemm/gemm.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

Tensor PackedFilter(const Tensor& filter, IntArrayRef input_dims, IntArrayRef strides, IntArrayRef pads,
                    IntArrayRef dilations, int64_t groups) {
  static const auto call =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_reorder_convolution_weight", "")
          .typed<Tensor(const Tensor&, IntArrayRef, IntArrayRef, IntArrayRef, int64_t, at::OptionalIntArrayRef)>();
  // What oneDNN is shown is padded already when both ends differ.
  const bool even = pads[0] == pads[2] && pads[1] == pads[3];
  std::vector<int64_t> dims = input_dims.vec();
  if (!even) {
    dims[2] += pads[0] + pads[2];
    dims[3] += pads[1] + pads[3];
  }
  const std::vector<int64_t> padding = even ? std::vector<int64_t>{pads[0], pads[1]} : std::vector<int64_t>{0, 0};
  return call.call(filter, padding, strides, dilations, groups, at::IntArrayRef(dims));
}

Tensor Convolve(const Tensor& x, const Tensor& filter, const OptTensor& bias, const OptTensor& addend,
                IntArrayRef strides, IntArrayRef padding, IntArrayRef dilations, int64_t groups, const PostOp& post) {
  using List = c10::List<std::optional<Scalar>>;
  using Text = std::optional<string_view>;
  if (!addend.has_value()) {
    static const auto call = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("mkldnn::_convolution_pointwise", "")
                                 .typed<Tensor(const Tensor&, const Tensor&, const OptTensor&, IntArrayRef, IntArrayRef,
                                               IntArrayRef, int64_t, string_view, List, Text)>();
    return call.call(x, filter, bias, padding, strides, dilations, groups, post.attr, PostOp::NoScalars(),
                     post.algorithm);
  }
  static const auto call =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_convolution_pointwise", "binary")
          .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const OptTensor&, IntArrayRef, IntArrayRef,
                        IntArrayRef, int64_t, string_view, std::optional<Scalar>, Text, List, Text)>();
  // Behind a sum oneDNN's wrapper knows no activation but this.
  return call.call(x, *addend, filter, bias, padding, strides, dilations, groups, "add", Scalar(1.0),
                   post.attr == "relu" ? Text("relu") : Text(), PostOp::NoScalars(), Text());
}

bool FitsTiles(const Tensor& filter, IntArrayRef pads, int64_t groups) {
  return IsPackingWorthwhile() && groups == 1 && filter.is_contiguous() && filter.scalar_type() == at::kFloat &&
         std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; });
}

// All with channels last, and contiguous.
void ConvolveTiles(const Tensor& x, const Tensor& packed, const OptTensor& bias, const OptTensor& addend,
                   IntArrayRef filter_dims, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations, bool relu,
                   Tensor& y) {
  const Window window{.batch = x.size(0),
                      .height = x.size(1),
                      .width = x.size(2),
                      .channels = x.size(3),
                      .out_height = y.size(1),
                      .out_width = y.size(2),
                      .filter_height = filter_dims[2],
                      .filter_width = filter_dims[3],
                      .stride_y = strides[0],
                      .stride_x = strides[1],
                      .dilation_y = dilations[0],
                      .dilation_x = dilations[1],
                      .pad_top = pads[0],
                      .pad_left = pads[1],
                      .pad_bottom = pads[2],
                      .pad_right = pads[3]};
  TORCH_CHECK(filter_dims[1] == window.channels, "the filter has ", filter_dims[1], " channels, x has ",
              window.channels);
  const Rhs shape{filter_dims[1] * filter_dims[2] * filter_dims[3], filter_dims[0]};
  const float* right = UnpackRhs(packed.const_data_ptr(), static_cast<int64_t>(packed.nbytes()), shape);
  const Epilogue epilogue{.bias = bias.has_value() ? bias->const_data_ptr<float>() : nullptr,
                          .addend = addend.has_value() ? addend->const_data_ptr<float>() : nullptr,
                          .relu = relu};
  Convolution(x.const_data_ptr<float>(), window, right, shape.columns, epilogue, y.data_ptr<float>());
}

// [N, H, W, C] as [N, C, H, W] with the strides of channels last.
Tensor Turned(const Tensor& value) { return value.permute({0, 3, 1, 2}); }

// The convolution's own sizes, in the order of x's dimensions.
std::vector<int64_t> OwnSizes(const Tensor& x, IntArrayRef filter_dims, IntArrayRef strides, IntArrayRef pads,
                              IntArrayRef dilations, bool channels_last) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[channels_last ? 3 : 1] = filter_dims[0];
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = sizes[i + (channels_last ? 1 : 2)];
    size = (size + pads[i] + pads[i + 2] - dilations[i] * (filter_dims[i + 2] - 1) - 1) / strides[i] + 1;
  }
  return sizes;
}

}  // namespace

MP_KERNEL(OwnFusedConv, const Tensor& x, const Tensor& filter, const OptTensor& bias, const OptTensor& addend,
          IntArrayRef filter_dims, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations, int64_t groups,
          string_view activation, bool channels_last, Tensor& y) {
  // In a graph with unknown shapes an addend may turn out smaller or larger than the convolution's result.
  const std::vector<int64_t> own = OwnSizes(x, filter_dims, strides, pads, dilations, channels_last);
  const bool spread = addend.has_value() && (addend->sizes() != own || y.sizes() != own);
  if (IsTiled(filter)) {
    TORCH_CHECK(channels_last && y.is_contiguous(), "a filter packed for channels last meets another layout");
    if (spread) {
      Tensor product = at::empty(own, y.options());
      ConvolveTiles(x.contiguous(), filter, bias, {}, filter_dims, strides, pads, dilations, false, product);
      Tensor sum = product + *addend;
      Activate(sum, activation);
      return Write(y, sum);
    }
    const OptTensor plain = addend.has_value() ? OptTensor(addend->contiguous()) : OptTensor();
    ConvolveTiles(x.contiguous(), filter, bias, plain, filter_dims, strides, pads, dilations, activation == "relu", y);
    if (activation != "relu") Activate(y, activation);
    return;
  }
  Tensor input = channels_last ? Turned(x) : x;
  Tensor result = channels_last ? Turned(y) : y;
  OptTensor added = addend;
  if (added.has_value() && channels_last) added = Turned(*added);
  const bool even = pads[0] == pads[2] && pads[1] == pads[3];
  if (!even) {
    input = at::constant_pad_nd(input, {pads[1], pads[3], pads[0], pads[2]});
    if (channels_last) input = input.contiguous(at::MemoryFormat::ChannelsLast);
  }
  const std::vector<int64_t> padding = even ? std::vector<int64_t>{pads[0], pads[1]} : std::vector<int64_t>{0, 0};
  if (spread) {
    const Tensor product = IsPacked(filter) ? Convolve(input, Unpack(filter, filter_dims), bias, {}, strides, padding,
                                                       dilations, groups, PostOp("none"))
                                            : at::conv2d(input, filter, bias, strides, padding, dilations, groups);
    Tensor sum = product + *added;
    Activate(sum, activation);
    return Write(result, sum);
  }
  // The output itself is lent: what has other strides only views it.
  const Loan loan({&y});
  if (IsPacked(filter)) {
    const Tensor packed = Unpack(filter, filter_dims);
    Tensor value = Convolve(input, packed, bias, added, strides, padding, dilations, groups, PostOp(activation));
    if (added.has_value() && activation != "relu") Activate(value, activation);
    return Deliver(result, value);
  }
  Tensor value = at::conv2d(input, filter, bias, strides, padding, dilations, groups);
  if (added.has_value()) value.add_(*added);
  Activate(value, activation);
  Deliver(result, value);
}

MP_KERNEL(OwnConvPackedBytes, const Tensor& filter, IntArrayRef input_dims, IntArrayRef strides, IntArrayRef pads,
          IntArrayRef dilations, int64_t groups, Tensor& y) {
  if (FitsTiles(filter, pads, groups)) {
    y.fill_(PackedRhsBytes({filter.numel() / filter.size(0), filter.size(0)}));
    return;
  }
  y.fill_(PackedBytes(PackedFilter(filter, input_dims, strides, pads, dilations, groups)));
}

MP_KERNEL(OwnConvPack, const Tensor& filter, IntArrayRef input_dims, IntArrayRef strides, IntArrayRef pads,
          IntArrayRef dilations, int64_t groups, Tensor& y) {
  if (FitsTiles(filter, pads, groups)) {
    PackFilter(filter.const_data_ptr<float>(), filter.size(0), filter.size(1), filter.size(2), filter.size(3),
               y.data_ptr());
    return;
  }
  Pack(PackedFilter(filter, input_dims, strides, pads, dilations, groups), y);
}

}  // namespace millpond::kernels
