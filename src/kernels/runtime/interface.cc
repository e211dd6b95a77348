// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/interface.h"

extern "C" __attribute__((visibility("default"))) const char* millpondKernelsInterface() {
  return MP_KERNELS_INTERFACE;
}
