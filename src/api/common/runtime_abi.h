// SPDX-License-Identifier: Apache-2.0
// The half of Guard's policy that all ABIs of this runtime share: a forked child is refused, a trace hears of every
// call, and messages go where aclGetRecentErrMsg and GEGetErrorMsg look.
#ifndef MILLPOND_SRC_API_COMMON_RUNTIME_ABI_H_
#define MILLPOND_SRC_API_COMMON_RUNTIME_ABI_H_

#include <cstdint>

#include "src/api/common/guard.h"
#include "src/base/status.h"
#include "src/device/runtime.h"
#include "src/trace/sink.h"

namespace millpond {

struct RuntimeAbi {
  static constexpr bool kInRuntime = true;

  static bool Refuses() { return InForkedChild(); }
  // Whether somebody listens to calls, and the time if they want it.
  static bool Heard() { return trace::HearsCalls(); }
  static uint64_t StampNs() { return trace::StampNs(); }
  // The only place that emits an API call.
  static void Emit(const char* api, uint64_t start_ns, int result);
  // Message, log line and the thread's last runtime error. `number` is the ABI's own.
  static void Keep(const char* api, int64_t number, const Status& failure);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_API_COMMON_RUNTIME_ABI_H_
