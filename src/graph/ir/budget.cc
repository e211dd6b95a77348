// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/budget.h"

namespace millpond::ir {

Status Budget::Refusal() const {
  return Status(
      Code::kOverLimit,
      Format("the model takes more than it may: %llu bytes and %llu steps were asked for so far, and a model of "
             "its size may take %llu bytes and %llu steps; call functions and write out loops less often, or "
             "shorten their names",
             static_cast<unsigned long long>(used_bytes_), static_cast<unsigned long long>(used_steps_),
             static_cast<unsigned long long>(bytes_), static_cast<unsigned long long>(steps_)));
}

}  // namespace millpond::ir
