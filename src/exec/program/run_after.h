// SPDX-License-Identifier: Apache-2.0
// For destructors: something that is to happen after the tasks a stream has by now.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_RUN_AFTER_H_
#define MILLPOND_SRC_EXEC_PROGRAM_RUN_AFTER_H_

#include <new>
#include <optional>

#include "src/device/stream/stream.h"

namespace millpond::program {

// Queues `body`; a stream that takes no task has none either, so that it runs here and now. Where the host has no
// memory for a task, the tasks are waited for. A task cannot wait for tasks: then nothing happens, and what `body`
// would have given back stays taken until the device is reset.
template <class Body>
void RunAfter(Stream* stream, const char* name, const Body& body) noexcept {
  try {
    if (stream->Launch<TaskKind::kOther>(name, {}, body).ok()) return;
  } catch (const std::bad_alloc&) {
    if (InTask()) return;
    try {
      stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout).Ignore();
    } catch (const std::bad_alloc&) {  // the text of a failure
    }
  }
  body().Ignore();  // nobody is left to be told
}

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_RUN_AFTER_H_
