// SPDX-License-Identifier: Apache-2.0
#include "src/trace/sink.h"

#include <atomic>
#include <chrono>

#include "src/base/thread_local.h"

namespace millpond::trace {

namespace {
thread_local uint32_t t_number MP_FAST_TLS = 0;
}

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next{1};
  if (__builtin_expect(t_number == 0, false)) t_number = next.fetch_add(1, std::memory_order_relaxed);
  return t_number;
}

}  // namespace millpond::trace
