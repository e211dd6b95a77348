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

namespace {
std::atomic<void (*)(bool)> g_observer{nullptr};
}

void SetSinkObserver(void (*observer)(bool attached)) { g_observer.store(observer, std::memory_order_release); }

Sink* Exchange(Sink* sink) {
  Sink* former = internal::g_sink.exchange(sink, std::memory_order_acq_rel);
  if (auto* observer = g_observer.load(std::memory_order_acquire)) observer(sink != nullptr);
  return former;
}

}  // namespace millpond::trace
