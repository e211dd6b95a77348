// SPDX-License-Identifier: Apache-2.0
// Every MP_KERNEL of the library, collected when it is loaded.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_REGISTRY_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_REGISTRY_H_

#include <vector>

#include "src/kernels/runtime/library.h"

namespace millpond::kernels {

std::vector<const Kernel*>& AllKernels();

struct Registered {
  explicit Registered(const Kernel* kernel) { AllKernels().push_back(kernel); }
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_REGISTRY_H_
