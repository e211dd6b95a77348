// SPDX-License-Identifier: Apache-2.0
#include "src/device/lifecycle.h"

namespace millpond {

Lifecycle& Lifecycle::Get() {
  static Lifecycle& lifecycle = *new Lifecycle;  // leaked: aclFinalize may come from a static destructor
  return lifecycle;
}

}  // namespace millpond
