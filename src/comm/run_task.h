// SPDX-License-Identifier: Apache-2.0
// An operation of a communicator as a task of a stream.
#ifndef MILLPOND_SRC_COMM_RUN_TASK_H_
#define MILLPOND_SRC_COMM_RUN_TASK_H_

#include <memory>
#include <span>
#include <utility>

#include "src/comm/communicator.h"
#include "src/device/stream/stream.h"

namespace millpond::comm {

// `Run(comm, spec, replay)` draws the operation's turn when it is made; a replay takes the turn that it comes at.
template <class Run, class Spec>
struct RunBody {
  CommunicatorPtr comm;
  std::shared_ptr<const Spec> spec;
  std::shared_ptr<Run> run;  // null in a captured graph: each replay makes its own

  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) {
    if (slot.phase == 0) {
      slot.phase = 1;
      if (run == nullptr) run = std::make_shared<Run>(comm, spec, /*replay=*/true);
    }
    const TaskEnd end = run->Run(stream, out_status);
    if (end == TaskEnd::kDone) run.reset();
    return end;
  }

  // See TaskOps. A run that ends before it is over tells the other ranks.
  void Abandon(TaskSlot&, bool mine) {
    if (mine && run != nullptr) {
      run.reset();
    } else {
      const Run dropped(comm, spec, /*replay=*/true);
    }
  }
};

template <class Run, class Spec>
Status LaunchRun(CommunicatorPtr comm, Stream* stream, Spec spec, std::span<const trace::Access> accesses) {
  const char* api = spec.api;
  RunBody<Run, Spec> body;
  body.comm = std::move(comm);
  body.spec = std::make_shared<const Spec>(std::move(spec));
  if (stream->capture() == nullptr && stream->update() == nullptr) {
    body.run = std::make_shared<Run>(body.comm, body.spec, /*replay=*/false);
  }
  const std::shared_ptr<Run> run = body.run;
  Status launched = stream->Launch<TaskKind::kCopy>(api, accesses, std::move(body));
  if (!launched.ok() && run != nullptr) run->Refuse();
  return launched;
}

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_RUN_TASK_H_
