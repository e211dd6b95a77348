// SPDX-License-Identifier: Apache-2.0
// A task that fails asynchronously is announced to whoever listens (aclrt exception callbacks). The core knows only
// its own codes; the acl layer installs one listener that translates them.
#ifndef MILLPOND_SRC_DEVICE_EXCEPTION_H_
#define MILLPOND_SRC_DEVICE_EXCEPTION_H_

#include <cstdint>
#include <functional>

#include "src/base/status.h"

namespace millpond {

struct TaskException {
  uint32_t task = 0;    // TaskSlot::number
  uint32_t stream = 0;  // stream id
  uint32_t thread = 0;  // kernel id of the thread that ran the task
  uint32_t device = 0;
  Code code = Code::kOk;
};

// Replaces the listener; empty removes it. A notification in flight may still reach the former one.
void SetExceptionListener(std::function<void(const TaskException&)> listener);

// Called where a task has failed, on an internal thread, with no lock of the runtime held: the listener runs user code.
// What it throws ends here.
void NotifyException(const TaskException& exception);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_EXCEPTION_H_
