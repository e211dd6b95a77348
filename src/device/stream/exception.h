// SPDX-License-Identifier: Apache-2.0
// A task that fails asynchronously is announced to whoever listens (aclrt exception callbacks). The core knows only
// its own codes; the acl layer installs one listener that translates them.
#ifndef MILLPOND_SRC_DEVICE_STREAM_EXCEPTION_H_
#define MILLPOND_SRC_DEVICE_STREAM_EXCEPTION_H_

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

// Replaces the listener; empty removes it. A notification in flight may still reach the former one. Fails when there is
// no thread for notifications and none can be started.
Status SetExceptionListener(std::function<void(const TaskException&)> listener);

// Called where a task has failed, with no lock of the runtime held: the listener runs user code, on a thread of the
// runtime's own and never on one of the client's that happens to help, and is waited for. Allocates nothing.
void TellException(const TaskException& exception) noexcept;
// The same on the calling thread. What the listener throws ends here.
void NotifyException(const TaskException& exception);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_EXCEPTION_H_
