// SPDX-License-Identifier: Apache-2.0
// What exists for the device's own sake: private layouts and delays.
#include <chrono>
#include <thread>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

// The frame reads private layouts and writes them (laid_out.h); what is left is a copy.
MP_KERNEL(aclnnNpuFormatCast, const Tensor& self, Tensor& out) {
  TORCH_CHECK(self.sizes() == out.sizes(), "the source has shape ", self.sizes(), ", the target ", out.sizes(),
              "; a private format changes the shape of the storage, not that of the view");
  out.copy_(self);
}

MP_KERNEL(aclnnSleep, IntArrayRef cycles) {
  constexpr double kNanosecondsPerCycle = 1 / 1.65;
  TORCH_CHECK(cycles.size() == 1 && cycles[0] > 0, "cycles must hold one positive number");
  std::this_thread::sleep_for(
      std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(cycles[0]) * kNanosecondsPerCycle)));
}

}  // namespace millpond::kernels
