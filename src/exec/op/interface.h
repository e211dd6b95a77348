// SPDX-License-Identifier: Apache-2.0
// What this core and a library of kernels must agree on (src/kernels/kernels.cmake): libraries for other releases of
// torch are built at other times.
#ifndef MILLPOND_SRC_EXEC_OP_INTERFACE_H_
#define MILLPOND_SRC_EXEC_OP_INTERFACE_H_

namespace millpond {

const char* KernelsInterface();

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_INTERFACE_H_
