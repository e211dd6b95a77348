// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_EXEC_OP_TYPE_TRIAL_H_
#define MILLPOND_SRC_EXEC_OP_TYPE_TRIAL_H_

#include "src/base/status.h"
#include "src/kernels/runtime/library.h"

namespace millpond {

// Refuses the types of a call that its kernel does not compute, before anything is launched: a kernel knows by itself
// which types and mixtures it takes, so the first call of each mixture runs it once, on this thread, on zeros in memory
// of our own. The refusal says what each tensor may be instead, found in the same way. No answer (the call is then
// taken) where a tensor is empty, where the tensors are too large to be made twice (kLargestTrial), for kernels that
// work with other ranks, and where the kernel refuses the zeros for another reason.
Status TryTypes(const kernels::Kernel& kernel, const OpCall& call);

inline constexpr size_t kLargestTrial = size_t{64} << 20;

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_TYPE_TRIAL_H_
