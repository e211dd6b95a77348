// SPDX-License-Identifier: Apache-2.0
// What the products with a collective before or after them share.
#ifndef MILLPOND_SRC_KERNELS_GROUP_GROUP_GEMM_H_
#define MILLPOND_SRC_KERNELS_GROUP_GROUP_GEMM_H_

#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/runtime/group.h"

namespace millpond::kernels {

// Of the arguments called QuantMode.
constexpr int64_t kByColumn = 2, kByRow = 3, kByMx = 6, kByRowWhenCome = 7;

inline Tensor Transposed(const Tensor& matrix, bool turn) { return turn ? matrix.transpose(-1, -2) : matrix; }

// A contiguous tensor to compute into and to communicate: the output itself where that is one. Finish brings it there.
Tensor& Workspace(Group& group, const Tensor& out);
void Finish(Group& group, Tensor& out);

// A wider addend is added before the sum is rounded to the type of `work`.
void AddTo(Group& group, Tensor& work, const OptTensor& addend);

// Rows and columns may be scaled integers or 8-bit floats.
struct Factors {
  OptTensor bias;
  OptTensor x1_scale;
  OptTensor x2_scale;
  int64_t group_size = 0;
  bool bias_first = false;  // a float bias of 8-bit floats is added before the scales of rows and columns
};
inline bool IsQuantized(const Tensor& x) { return x.scalar_type() == at::kChar || at::isFloat8Type(x.scalar_type()); }

// The plain operator's product, rounded to the output's type. While the group checks: whether there is one.
void GroupGemm(Group& group, Tensor& out, const Tensor& x1, const Tensor& x2, const Factors& factors);
// Refuses factors and a result that do not fit together.
void CheckSizes(const Tensor& out, const Tensor& x1, const Tensor& x2);

// Refuses another reduction than the sum.
void CheckSum(string_view reduction);

// Refuses other axes of an exchange than these; none are these.
void CheckAxes(const OptIntArrayRef& axes, int64_t first, int64_t second);

// Asks that each rank gets its share of all ranks' rows; then they are kept(place + 1), rank by rank.
void ShareRows(Group& group, string_view name, const Tensor& rows, size_t place);
// Rows of (ranks, rows, width), side by side.
Tensor SideBySide(const Tensor& parts);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GROUP_GROUP_GEMM_H_
