// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/compile_options.h"

#include <utility>

#include "src/base/mutex.h"

namespace millpond {

CompileOptions& CompileOptions::Get() {
  static CompileOptions& options = *new CompileOptions;  // leaked: read from static destructors too
  return options;
}

void CompileOptions::Set(int option, std::string value) {
  MutexLock lock(mutex_);
  values_[option] = std::move(value);
}

std::optional<std::string> CompileOptions::Find(int option) const {
  MutexLock lock(mutex_);
  const auto found = values_.find(option);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace millpond
