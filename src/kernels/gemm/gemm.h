// SPDX-License-Identifier: Apache-2.0
// Float32 GEMM and convolutions with channels last, whose constant RHS (weights, filters) was packed beforehand.
//
// Why not ATen's: for one image at a time oneDNN's wrapper reads the filters of deep layers at two thirds of the speed
// that the same processor reaches here (docs/graph_runs.md has the figures). What is not covered (groups, other types,
// processors without AVX-512) stays with ATen.
#ifndef MILLPOND_SRC_KERNELS_GEMM_GEMM_H_
#define MILLPOND_SRC_KERNELS_GEMM_GEMM_H_

#include <cstdint>

namespace millpond::kernels {

// Is it worth packing for these kernels on this machine? Running what was packed works on every machine.
bool IsPackingWorthwhile();

// The RHS: `depth` by `columns` floats, element (d, c) at values[d * depth_stride + c * column_stride].
struct Rhs {
  int64_t depth;
  int64_t columns;
};
int64_t PackedRhsBytes(const Rhs& shape);
void PackRhs(const Rhs& shape, const float* values, int64_t depth_stride, int64_t column_stride, void* out);
// A filter [columns, channels, height, width]; the depth is height, width, channels, from outer to inner.
void PackFilter(const float* filter, int64_t columns, int64_t channels, int64_t height, int64_t width, void* out);

bool IsPackedRhs(const void* packed, int64_t bytes);
// Throws (c10::Error) when the bytes are damaged or of another shape.
const float* UnpackRhs(const void* packed, int64_t bytes, const Rhs& shape);

// What is done to a finished sum.
struct Epilogue {
  const float* bias = nullptr;    // a number for each column
  const float* addend = nullptr;  // as the result; may be the result's own memory
  bool relu = false;
};

// y[rows, columns] = x[rows, depth] * rhs.
void Gemm(const float* x, int64_t rows, const float* rhs, const Rhs& shape, const Epilogue& epilogue, float* y);

struct Window {
  int64_t batch, height, width, channels;
  int64_t out_height, out_width;
  int64_t filter_height, filter_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
};

// x[batch, height, width, channels] to y[batch, out_height, out_width, columns].
void Convolution(const float* x, const Window& window, const float* rhs, int64_t columns, const Epilogue& epilogue,
                 float* y);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GEMM_GEMM_H_
