// SPDX-License-Identifier: Apache-2.0
// Why the first phase of each operator last failed. A client that ignores the failure comes to the second phase with no
// executor, perhaps on another thread, and should read the reason there. Process-wide; safe from any thread.
#ifndef MILLPOND_SRC_EXEC_OP_FIRST_PHASE_FAILURES_H_
#define MILLPOND_SRC_EXEC_OP_FIRST_PHASE_FAILURES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/mutex.h"
#include "src/ops/row.h"

namespace millpond {

class FirstPhaseFailures {
 public:
  static FirstPhaseFailures& Get();

  void Set(const OpRow& row, std::string reason);
  // Nothing when the operator's first phase has not failed.
  std::optional<std::string> Find(const OpRow& row) const;

 private:
  mutable Mutex mutex_;
  std::map<uint16_t, std::string> reasons_ GUARDED_BY(mutex_);  // by the row's id
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_FIRST_PHASE_FAILURES_H_
