// SPDX-License-Identifier: Apache-2.0
// Fourier transforms. A real output has the two parts of a complex number as its last dimension.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

void WriteComplex(Tensor& out, const Tensor& value) { Write(out, out.is_complex() ? value : at::view_as_real(value)); }

}  // namespace

MP_KERNEL(aclRfft1D, const Tensor& self, int64_t n, int64_t dim, int64_t norm, Tensor& out) {
  constexpr const char* kNorms[] = {"backward", "forward", "ortho"};
  TORCH_CHECK(norm >= 1 && norm <= 3, "norm is ", norm, "; it must be 1 (none), 2 (by n) or 3 (by the root of n)");
  // ATen's transforms know float and double only.
  const Tensor input = self.scalar_type() == at::kDouble ? self : self.to(at::kFloat);
  WriteComplex(out, at::fft_rfft(input, n, dim, kNorms[norm - 1]));
}
MP_KERNEL(aclStft, const Tensor& self, const OptTensor& window, Tensor& out, int64_t n_fft, int64_t hop, int64_t length,
          bool normalized, bool onesided) {
  WriteComplex(out, at::stft(self, n_fft, hop, length, window, normalized, onesided, /*return_complex=*/true));
}

}  // namespace millpond::kernels
