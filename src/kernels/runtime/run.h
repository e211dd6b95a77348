// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_

#include "src/base/status.h"

namespace millpond {
class OpCall;
}

namespace millpond::kernels {

class Frame;

// The address at which a kernel may touch what the client calls `address`.
void* Reach(void* address);

// As RunGuarded, for a body that only looks at the arguments.
Status RunChecks(OpCall& call, void (*body)(Frame& frame));

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_
