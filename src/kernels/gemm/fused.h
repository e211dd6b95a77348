// SPDX-License-Identifier: Apache-2.0
// What the kernels of fused nodes share: activations by their words (src/graph/passes/activations.h), and constants
// that were packed, for gemm.h or by oneDNN.
//
// What oneDNN has packed is a head, oneDNN's description of its layout, and the data, in one run of bytes that may lie
// anywhere: it is made when a graph is compiled and travels with the other constants.
#ifndef MILLPOND_SRC_KERNELS_GEMM_FUSED_H_
#define MILLPOND_SRC_KERNELS_GEMM_FUSED_H_

#include <ATen/core/List.h>

#include <optional>
#include <string_view>

#include "src/kernels/gemm/gemm.h"
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// An activation as ATen's mkldnn operators take it.
struct PostOp {
  string_view attr = "none";
  std::optional<string_view> algorithm;
  explicit PostOp(string_view activation);
  static c10::List<std::optional<Scalar>> NoScalars() { return c10::List<std::optional<Scalar>>(); }
};

// The same on a tensor, in place.
void Activate(Tensor& value, string_view activation);

// Bytes that Pack needs for a tensor of oneDNN's.
int64_t PackedBytes(const Tensor& mkldnn);
void Pack(const Tensor& mkldnn, Tensor& out);
inline bool IsPacked(const Tensor& constant) { return constant.scalar_type() == at::kByte; }
// Packed for the kernels of gemm.h.
inline bool IsTiled(const Tensor& constant) {
  return IsPacked(constant) && IsPackedRhs(constant.const_data_ptr(), static_cast<int64_t>(constant.nbytes()));
}
// oneDNN's tensor of these dimensions over packed bytes; throws when they are no such thing.
Tensor Unpack(const Tensor& packed, IntArrayRef dims);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GEMM_FUSED_H_
