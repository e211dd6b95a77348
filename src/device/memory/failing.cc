// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/failing.h"

#include "src/base/mutex.h"

namespace millpond {

namespace {

struct Plan {
  uint64_t every = 0, skip = 0;
  uint64_t requests = 0, failed = 0;
};

Mutex& PlanMutex() {
  static auto& mutex = *new Mutex;  // leaked: static destructors of clients may still allocate
  return mutex;
}
Plan g_plan GUARDED_BY(PlanMutex());

}  // namespace

namespace internal {

constinit std::atomic<bool> g_allocations_may_fail{false};

Status NextAllocation(uint64_t bytes) {
  MutexLock lock(PlanMutex());
  if (g_plan.every == 0) return Ok();
  const uint64_t number = ++g_plan.requests;
  if (number <= g_plan.skip || (number - g_plan.skip) % g_plan.every != 0) return Ok();
  ++g_plan.failed;
  return OutOfMemory(Format("%llu bytes were asked for, by request %llu of a test that lets every %lluth fail",
                            static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(number),
                            static_cast<unsigned long long>(g_plan.every)));
}

}  // namespace internal

}  // namespace millpond

extern "C" {

__attribute__((visibility("default"))) void millpond_fail_allocations(uint64_t every, uint64_t skip) {
  millpond::MutexLock lock(millpond::PlanMutex());
  millpond::g_plan = {.every = every, .skip = skip};
  millpond::internal::g_allocations_may_fail.store(every != 0, std::memory_order_release);
}

__attribute__((visibility("default"))) uint64_t millpond_failed_allocations() {
  millpond::MutexLock lock(millpond::PlanMutex());
  return millpond::g_plan.failed;
}

}  // extern "C"
