// SPDX-License-Identifier: Apache-2.0
#include "src/comm/expected.h"

#include <map>

#include "src/base/mutex.h"

namespace millpond::comm {

namespace {

struct All {
  Mutex mutex;
  std::map<const void*, std::atomic<bool>*> given_up GUARDED_BY(mutex);  // by handle
};
All& TheExpected() {
  static auto& all = *new All;  // leaked: process groups end in static destructors
  return all;
}

thread_local const std::atomic<bool>* t_given_up = nullptr;

}  // namespace

Expected::Expected(void** place) : place_(place), before_(*place) {
  All& all = TheExpected();
  MutexLock lock(all.mutex);
  all.given_up[anchor_.get()] = &given_up_;
  t_given_up = &given_up_;
  __atomic_store_n(place_, anchor_.get(), __ATOMIC_RELEASE);  // another thread may be looking
}

Expected::~Expected() {
  All& all = TheExpected();
  MutexLock lock(all.mutex);
  all.given_up.erase(anchor_.get());
  t_given_up = nullptr;
  if (!kept_) __atomic_store_n(place_, before_, __ATOMIC_RELEASE);
}

bool Expected::GiveUp(const void* handle) {
  All& all = TheExpected();
  MutexLock lock(all.mutex);
  const auto found = all.given_up.find(handle);
  if (found == all.given_up.end()) return false;
  found->second->store(true);
  return true;
}

Status Expected::Check() {
  MP_CHECK(t_given_up == nullptr || !t_given_up->load(), kStreamAborted,
           "[EI0015] HcclCommDestroy was called for the communicator that is being made here, before all its ranks had "
           "come");
  return Ok();
}

}  // namespace millpond::comm
