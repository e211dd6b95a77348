// SPDX-License-Identifier: Apache-2.0
#include "src/trace/sink.h"

#include <chrono>

namespace millpond::trace {

namespace internal {
std::atomic<Sink*> g_sink{nullptr};
}

uint64_t NowNs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

uint32_t ThreadNumber() {
  static std::atomic<uint32_t> next{1};
  static thread_local const uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

Sink* Exchange(Sink* sink) { return internal::g_sink.exchange(sink, std::memory_order_acq_rel); }

}  // namespace millpond::trace
