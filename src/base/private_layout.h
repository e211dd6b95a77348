// SPDX-License-Identifier: Apache-2.0
// Private formats: storages that keep a tensor in blocks of 16 x C0 elements, where a cube unit wants them. The view of
// such a tensor has the shape and the strides of the tensor that was laid out; the storage has a shape of its own:
//
//   NZ             [..., H, W]   -> [..., W1, H1, 16, C0]      W1 = ceil(W / C0), H1 = ceil(H / 16)
//   NC1HWC0        [N, C, H, W]  -> [N, C1, H, W, C0]          C1 = ceil(C / C0)
//   NDC1HWC0       [N, C, D, H, W] -> [N, D, C1, H, W, C0]
//   FRACTAL_Z      [N, C, H, W]  -> [C1 * H * W, N1, 16, C0]   N1 = ceil(N / 16)
//   FRACTAL_Z_3D   [N, C, D, H, W] -> [D * C1 * H * W, N1, 16, C0]
//
// C0 is what fits into 32 bytes, of the tensor's type or of the one that it will be multiplied in. What the blocks have
// beyond the tensor is zero.
#ifndef MILLPOND_SRC_BASE_PRIVATE_LAYOUT_H_
#define MILLPOND_SRC_BASE_PRIVATE_LAYOUT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/base/tensor_view.h"

namespace millpond {

inline constexpr int64_t kFractal = 16;

// Of a format's number; kPlain for the public ones.
PrivateLayout LayoutOfFormat(int format);
// How many elements of a type 32 bytes hold.
constexpr int64_t BlockOf(DType type) { return BitsOf(type) == 0 ? 0 : 256 / BitsOf(type); }
// The C0 that a format's number says by itself (FRACTAL_NZ_C0_16 ...); 0: it says none.
int64_t BlockOfFormat(int format);

// The storage's shape for a tensor of shape `dims`; empty when the layout has no tensors of that rank.
std::vector<int64_t> StorageShape(PrivateLayout layout, std::span<const int64_t> dims, int64_t c0);

// The shape of the tensor that was laid out: the view's own, or, where the view's last two dimensions are transposed,
// the one before. Fails for any other view.
Status LaidOutShape(const TensorView& view, std::vector<int64_t>* out_dims, bool* out_transposed);

// Elements of the view's storage, for a view that LaidOutShape takes.
int64_t StorageElements(const TensorView& view);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_PRIVATE_LAYOUT_H_
