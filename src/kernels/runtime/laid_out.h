// SPDX-License-Identifier: Apache-2.0
// Tensors that ATen cannot look at where they lie: those of a private layout (src/base/private_layout.h), and INT4, two
// values to a byte, the first in the low half. A kernel is given a plain copy, INT4 as int8; what it writes is laid out
// again when it has ended.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_LAID_OUT_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_LAID_OUT_H_

#include <ATen/core/Tensor.h>

#include "src/base/tensor_view.h"

namespace millpond::kernels {

inline bool IsLaidOut(const TensorView& view) {
  return view.layout != PrivateLayout::kPlain || view.dtype == DType::kInt4;
}

struct LaidOut {
  size_t place;       // of the tensor in its frame
  at::Tensor plain;   // what the kernel sees
  at::Tensor values;  // the storage's elements, of which `plain` is a view or a copy
};

LaidOut ReadLaidOut(const TensorView& view, size_t place);
void WriteLaidOut(const TensorView& view, const LaidOut& tensor);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_LAID_OUT_H_
