// SPDX-License-Identifier: Apache-2.0
// What differs. The lengths are known only after the run.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kNoDim = 1000;  // how clients say that UniqueConsecutive looks at all elements

// An output that was not asked for is absent or has no room.
void WriteIf(bool asked, Tensor* out, const Tensor& value) {
  if (asked && out != nullptr) WriteActual(*out, value);
}

}  // namespace

MP_KERNEL(aclnnUnique, const Tensor& self, bool sorted, bool inverse, Tensor& values, Tensor* inverses) {
  const auto [found, places] = at::_unique(self, sorted, inverse);
  WriteActual(values, found);
  WriteIf(inverse, inverses, places);
}
MP_KERNEL(aclnnUnique2, const Tensor& self, bool sorted, bool inverse, bool counts, Tensor& values, Tensor* inverses,
          Tensor* numbers) {
  // Page "aclnnUnique2": asking for counts asks for the inverse too, where there is room for it.
  const bool places_wanted = inverse || (counts && inverses != nullptr && inverses->numel() == self.numel());
  const auto [found, places, times] = at::_unique2(self, sorted, places_wanted, counts);
  WriteActual(values, found);
  WriteIf(places_wanted, inverses, places);
  WriteIf(counts, numbers, times);
}
MP_KERNEL(aclnnUniqueConsecutive, const Tensor& self, bool inverse, bool counts, int64_t dim, Tensor& values,
          Tensor* inverses, Tensor* numbers) {
  std::optional<int64_t> along;
  if (dim != kNoDim) along = dim;
  const auto [found, places, times] = at::unique_consecutive(self, inverse, counts, along);
  WriteActual(values, found);
  WriteIf(inverse, inverses, places);
  WriteIf(counts, numbers, times);
}
MP_KERNEL(aclnnUniqueDim, const Tensor& self, bool sorted, bool inverse, int64_t dim, Tensor& values, Tensor* inverses,
          Tensor* numbers) {
  const auto [found, places, times] = at::unique_dim(self, dim, sorted, inverse, /*return_counts=*/true);
  WriteActual(values, found);
  WriteIf(inverse, inverses, places);
  WriteIf(true, numbers, times);
}

}  // namespace millpond::kernels
