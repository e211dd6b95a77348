// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/first_phase_failures.h"

#include <utility>

#include "src/base/mutex.h"

namespace millpond {

FirstPhaseFailures& FirstPhaseFailures::Get() {
  static FirstPhaseFailures& failures = *new FirstPhaseFailures;  // leaked: used from static destructors too
  return failures;
}

void FirstPhaseFailures::Set(const OpRow& row, std::string reason) {
  MutexLock lock(mutex_);
  reasons_[row.id] = std::move(reason);
}

std::optional<std::string> FirstPhaseFailures::Find(const OpRow& row) const {
  MutexLock lock(mutex_);
  const auto found = reasons_.find(row.id);
  return found == reasons_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace millpond
