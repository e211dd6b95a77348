// SPDX-License-Identifier: Apache-2.0
// Guard for libatb's entry points. The map from our codes to its numbers is error_map.cc.
#ifndef MILLPOND_SRC_API_ATB_ATB_GUARD_H_
#define MILLPOND_SRC_API_ATB_ATB_GUARD_H_

#include <utility>

#include "src/api/atb/interface.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"
#include "src/base/format.h"
#include "src/base/status.h"

namespace millpond::boost {

int32_t NumberOf(Code code);

struct AtbAbi : RuntimeAbi {
  using Result = int32_t;
  static constexpr int32_t kSuccess = atb::NO_ERROR;
  static constexpr int32_t kNoMemory = atb::ERROR_OUT_OF_HOST_MEMORY;
  static int32_t Number(const Status& failure) { return NumberOf(failure.code()); }
};

using Outcome = BasicOutcome<int32_t>;

template <class Body>
inline int32_t Guard(const char* api, Body&& body) {
  return millpond::Guard(AtbAbi(), api, body);
}

#define MP_ATB_REQUIRE(condition, number, ...)                                                                 \
  do {                                                                                                         \
    if (__builtin_expect(!(condition), false)) {                                                               \
      return ::millpond::boost::Outcome(number, ::millpond::InvalidArgument(::millpond::Format(__VA_ARGS__))); \
    }                                                                                                          \
  } while (0)
#define MP_ATB_RETURN_IF_ERROR(expression)                                                         \
  do {                                                                                             \
    if (::millpond::boost::Outcome mp_outcome = (expression); !mp_outcome.ok()) return mp_outcome; \
  } while (0)

}  // namespace millpond::boost

#endif  // MILLPOND_SRC_API_ATB_ATB_GUARD_H_
