// SPDX-License-Identifier: Apache-2.0
//
// Offline builds. Only the buffer that a compiled model comes in is here yet.
#ifndef MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_
#define MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_

#include <cstdint>
#include <memory>

#include "ge/ge_api_types.h"

namespace ge {

struct ModelBufferData {
  std::shared_ptr<uint8_t> data;
  uint64_t length;
};
static_assert(sizeof(ModelBufferData) == 24, "frozen layout");

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_
