// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/interface.h"

namespace millpond {

const char* KernelsInterface() { return MP_KERNELS_INTERFACE; }

}  // namespace millpond
