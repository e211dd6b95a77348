// SPDX-License-Identifier: Apache-2.0
// Options of the operator compiler, by number, as clients set them. Process-wide; safe from any thread.
#ifndef MILLPOND_SRC_EXEC_OP_COMPILE_OPTIONS_H_
#define MILLPOND_SRC_EXEC_OP_COMPILE_OPTIONS_H_

#include <map>
#include <optional>
#include <string>

#include "src/base/mutex.h"

namespace millpond {

class CompileOptions {
 public:
  static CompileOptions& Get();

  void Set(int option, std::string value);
  // Nothing when it was never set.
  std::optional<std::string> Find(int option) const;

 private:
  mutable Mutex mutex_;
  std::map<int, std::string> values_ GUARDED_BY(mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_COMPILE_OPTIONS_H_
