// SPDX-License-Identifier: Apache-2.0
// Resampling to another size.
#include "src/kernels/runtime/into.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/meant.h"

namespace millpond::kernels {
namespace {

using Scale = std::optional<double>;

Scale ScaleOf(double value) { return value > 0 ? Scale(value) : std::nullopt; }

// Where the page refuses a scale below zero.
Scale ScaleNotBelow0(double value) {
  TORCH_CHECK(value >= 0, "a scale is ", value, "; it must not be below 0");
  return ScaleOf(value);
}

Scale ScaleOfFloat(double value) { return ScaleOf(MeantByFloat(value)); }

}  // namespace

// Each macro is a row's shape; ATen's out forms write to `out` directly.
#define MP_NEAREST(name, function, scales, ...)                                           \
  MP_KERNEL(name, const Tensor& self, IntArrayRef size, __VA_ARGS__ Tensor& out) {        \
    Into(out, [&](Tensor& to) { at::function##_out(to, self, size, MP_UNPACK scales); }); \
  }
#define MP_NEAREST_BACKWARD(name, function, scales, ...)                                                        \
  MP_WIDE_KERNEL(name, const Tensor& grad, IntArrayRef size, IntArrayRef input_size, __VA_ARGS__ Tensor& out) { \
    Into(out, [&](Tensor& to) { at::function##_backward_out(to, grad, size, input_size, MP_UNPACK scales); });  \
  }
#define MP_LINEAR(name, function, scales, ...)                                                      \
  MP_WIDE_KERNEL(name, const Tensor& self, IntArrayRef size, bool align, __VA_ARGS__ Tensor& out) { \
    Into(out, [&](Tensor& to) { at::function##_out(to, self, size, align, MP_UNPACK scales); });    \
  }
#define MP_LINEAR_BACKWARD(name, function, scales, ...)                                                               \
  MP_WIDE_KERNEL(name, const Tensor& grad, IntArrayRef size, IntArrayRef input_size, bool align,                      \
                 __VA_ARGS__ Tensor& out) {                                                                           \
    Into(out, [&](Tensor& to) { at::function##_backward_out(to, grad, size, input_size, align, MP_UNPACK scales); }); \
  }
#define MP_ANTIALIAS(name, function, scale)                                                                 \
  MP_WIDE_KERNEL(name, const Tensor& self, IntArrayRef size, bool align, double h, double w, Tensor& out) { \
    Write(out, at::function(self, size, align, scale(h), scale(w)));                                        \
  }
#define MP_ANTIALIAS_BACKWARD(name, function)                                                                        \
  MP_WIDE_KERNEL(name, const Tensor& grad, IntArrayRef size, IntArrayRef input_size, bool align, double h, double w, \
                 Tensor& out) {                                                                                      \
    Write(out, at::function##_backward(grad, size, input_size, align, ScaleNotBelow0(h), ScaleNotBelow0(w)));        \
  }
#define MP_UNPACK(...) __VA_ARGS__
#define MP_L (ScaleOf(l))
#define MP_HW (ScaleOf(h), ScaleOf(w))
#define MP_HW_NOT_BELOW_0 (ScaleNotBelow0(h), ScaleNotBelow0(w))
#define MP_DHW (ScaleOf(d), ScaleOf(h), ScaleOf(w))

MP_NEAREST(aclnnUpsampleNearest1dV2, upsample_nearest1d, (ScaleOfFloat(l)), double l, )
MP_NEAREST(aclnnUpsampleNearest2dV2, upsample_nearest2d, (ScaleOfFloat(h), ScaleOfFloat(w)), double h, double w, )
MP_NEAREST(aclnnUpsampleNearest3d, upsample_nearest3d, MP_DHW, double d, double h, double w, )
MP_NEAREST(aclnnUpsampleNearestExact1d, _upsample_nearest_exact1d, MP_L, double l, )
MP_NEAREST(aclnnUpsampleNearestExact2d, _upsample_nearest_exact2d, MP_HW_NOT_BELOW_0, double h, double w, )
MP_NEAREST(aclnnUpsampleNearestExact3d, _upsample_nearest_exact3d, MP_DHW, double d, double h, double w, )

MP_NEAREST_BACKWARD(aclnnUpsampleNearest1dBackward, upsample_nearest1d, MP_L, double l, )
MP_NEAREST_BACKWARD(aclnnUpsampleNearest2dBackward, upsample_nearest2d, MP_HW, double h, double w, )
MP_NEAREST_BACKWARD(aclnnUpsampleNearest3dBackward, upsample_nearest3d, MP_DHW, double d, double h, double w, )
MP_NEAREST_BACKWARD(aclnnUpsampleNearestExact1dBackward, _upsample_nearest_exact1d, (ScaleNotBelow0(l)), double l, )
MP_NEAREST_BACKWARD(aclnnUpsampleNearestExact2dBackward, _upsample_nearest_exact2d, MP_HW_NOT_BELOW_0, double h,
                    double w, )
MP_NEAREST_BACKWARD(aclnnUpsampleNearestExact3dBackward, _upsample_nearest_exact3d, MP_DHW, double d, double h,
                    double w, )

MP_LINEAR(aclnnUpsampleLinear1d, upsample_linear1d, MP_L, double l, )
MP_LINEAR(aclnnUpsampleBilinear2d, upsample_bilinear2d, MP_HW_NOT_BELOW_0, double h, double w, )
MP_LINEAR(aclnnUpsampleBicubic2d, upsample_bicubic2d, MP_HW, double h, double w, )
MP_LINEAR(aclnnUpsampleTrilinear3d, upsample_trilinear3d, MP_DHW, double d, double h, double w, )

MP_LINEAR_BACKWARD(aclnnUpsampleLinear1dBackward, upsample_linear1d, MP_L, double l, )
MP_LINEAR_BACKWARD(aclnnUpsampleBilinear2dBackwardV2, upsample_bilinear2d, MP_HW, double h, double w, )
MP_LINEAR_BACKWARD(aclnnUpsampleBicubic2dBackward, upsample_bicubic2d, MP_HW, double h, double w, )
MP_LINEAR_BACKWARD(aclnnUpsampleTrilinear3dBackward, upsample_trilinear3d, MP_DHW, double d, double h, double w, )

MP_ANTIALIAS(aclnnUpsampleBilinear2dAA, _upsample_bilinear2d_aa, ScaleNotBelow0)
MP_ANTIALIAS(aclnnUpsampleBicubic2dAA, _upsample_bicubic2d_aa, ScaleOf)
MP_ANTIALIAS_BACKWARD(aclnnUpsampleBilinear2dAABackward, _upsample_bilinear2d_aa)
MP_ANTIALIAS_BACKWARD(aclnnUpsampleBicubic2dAAGrad, _upsample_bicubic2d_aa)

#undef MP_NEAREST
#undef MP_NEAREST_BACKWARD
#undef MP_LINEAR
#undef MP_LINEAR_BACKWARD
#undef MP_ANTIALIAS
#undef MP_ANTIALIAS_BACKWARD
#undef MP_UNPACK
#undef MP_L
#undef MP_HW
#undef MP_HW_NOT_BELOW_0
#undef MP_DHW

}  // namespace millpond::kernels
