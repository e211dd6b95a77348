// SPDX-License-Identifier: Apache-2.0
// A kernel that works with other ranks, as the core sees it: one without `run`. It runs in steps, on a stream only.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_GROUP_KERNEL_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_GROUP_KERNEL_H_

#include "src/kernels/runtime/library.h"
#include "src/ops/group_steps.h"

namespace millpond::kernels {

struct GroupKernel : Kernel {
  // One step (src/ops/group_steps.h), otherwise as Kernel::run.
  Status (*run_step)(OpCall& call, GroupSteps& steps);
};

inline bool WorksInGroup(const Kernel& kernel) { return kernel.run == nullptr; }
// pre: WorksInGroup.
inline const GroupKernel& AsGroupKernel(const Kernel& kernel) { return static_cast<const GroupKernel&>(kernel); }

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_GROUP_KERNEL_H_
