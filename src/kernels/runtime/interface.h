// SPDX-License-Identifier: Apache-2.0
// What a library of kernels says of itself before anything of library.h is looked at: a digest of the headers that it
// and the core were compiled from (src/kernels/interface.cmake).
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_INTERFACE_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_INTERFACE_H_

namespace millpond::kernels {

inline constexpr char kInterfaceSymbol[] = "millpondKernelsInterface";
using InterfaceFn = const char* (*)();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_INTERFACE_H_
