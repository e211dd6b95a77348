// SPDX-License-Identifier: Apache-2.0
// Elementwise on one operand, in place.
#include "src/kernels/elementwise.h"

namespace millpond::kernels {

#define MP_INPLACE(name, method) \
  MP_KERNEL(name, Tensor& self) { self.method(); }

MP_INPLACE(aclnnInplaceAcos, acos_)
MP_INPLACE(aclnnInplaceAcosh, acosh_)
MP_INPLACE(aclnnInplaceAsin, asin_)
MP_INPLACE(aclnnInplaceAsinh, asinh_)
MP_INPLACE(aclnnInplaceAtan, atan_)
MP_INPLACE(aclnnInplaceAtanh, atanh_)
MP_INPLACE(aclnnInplaceCeil, ceil_)
MP_INPLACE(aclnnInplaceCos, cos_)
MP_INPLACE(aclnnInplaceCosh, cosh_)
MP_INPLACE(aclnnInplaceErf, erf_)
MP_INPLACE(aclnnInplaceErfc, erfc_)
MP_INPLACE(aclnnInplaceErfinv, erfinv_)
MP_INPLACE(aclnnInplaceExp, exp_)
MP_INPLACE(aclnnInplaceExp2, exp2_)
MP_INPLACE(aclnnInplaceExpm1, expm1_)
MP_INPLACE(aclnnInplaceFloor, floor_)
MP_INPLACE(aclnnInplaceFrac, frac_)
MP_INPLACE(aclnnInplaceLog, log_)
MP_INPLACE(aclnnInplaceLog10, log10_)
MP_INPLACE(aclnnInplaceLog1p, log1p_)
MP_INPLACE(aclnnInplaceLog2, log2_)
MP_INPLACE(aclnnInplaceLogicalNot, logical_not_)
MP_INPLACE(aclnnInplaceReciprocal, reciprocal_)
MP_INPLACE(aclnnInplaceRsqrt, rsqrt_)
MP_INPLACE(aclnnInplaceSigmoid, sigmoid_)
MP_INPLACE(aclnnInplaceSin, sin_)
MP_INPLACE(aclnnInplaceSinc, sinc_)
MP_INPLACE(aclnnInplaceSinh, sinh_)
MP_INPLACE(aclnnInplaceSqrt, sqrt_)
MP_INPLACE(aclnnInplaceTan, tan_)
MP_INPLACE(aclnnInplaceTanh, tanh_)

#undef MP_INPLACE

MP_KERNEL(aclnnInplaceRoundDecimals, Tensor& self, int64_t decimals) { self.round_(decimals); }

}  // namespace millpond::kernels
