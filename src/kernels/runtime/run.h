// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_

namespace millpond::kernels {

// The address at which a kernel may touch what the client calls `address`.
void* Reach(void* address);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_RUN_H_
