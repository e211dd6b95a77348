// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_QUANT_INT4_H_
#define MILLPOND_SRC_KERNELS_QUANT_INT4_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// int4 values that clients pack by eight into an int32, the first in the lowest bits, as int8: the last dimension
// becomes eight times as long.
inline Tensor UnpackedInt4(const Tensor& packed) {
  const Tensor places = at::arange(8, packed.options().dtype(at::kInt)).mul_(4);
  const Tensor nibbles = packed.to(at::kInt).unsqueeze(-1).bitwise_right_shift(places).bitwise_and_(0xF);
  auto sizes = packed.sizes().vec();
  TORCH_CHECK(!sizes.empty(), "packed int4 values need at least one dimension");
  sizes.back() *= 8;
  return nibbles.sub_(nibbles.ge(8).to(at::kInt).mul_(16)).to(at::kChar).reshape(sizes);
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_INT4_H_
