// SPDX-License-Identifier: Apache-2.0
// Task groups: operator calls of a capture that can be issued again later with other arguments. Between UpdateBegin and
// UpdateEnd a stream's operator calls are not run but collected; UpdateEnd enqueues one task on that stream which
// hands the new bodies to the graph. So an update takes effect in stream order, also for a run that is already under
// way and waits (for an event recorded after the update) before the group.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_GROUP_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_GROUP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/capture/graph.h"
#include "src/device/stream/stream.h"

namespace millpond::capture {

class TaskGroup final : public CaptureTarget {
 public:
  void Open(const std::shared_ptr<Graph>& graph, std::vector<uint32_t> nodes);
  void Close();

  Status BeginUpdate(Stream* stream);
  Status EndUpdate(Stream* stream);

  // Operator calls are collected; everything else runs on the stream as usual.
  Status Add(Stream* stream, OwnedTask task) override;
  // A stream that updates is not captured: its events never come here.
  Status RecordEvent(Stream*, Event*, bool) override { return InternalError("a task group takes no events"); }
  Status WaitEvent(Stream*, Event*, bool) override { return InternalError("a task group takes no events"); }
  Status ResetEvent(Stream*, Event*) override { return InternalError("a task group takes no events"); }

 private:
  Mutex mutex_;
  std::weak_ptr<Graph> graph_ GUARDED_BY(mutex_);
  std::vector<uint32_t> nodes_ GUARDED_BY(mutex_);
  Stream* updating_ GUARDED_BY(mutex_) = nullptr;
  std::vector<OwnedTask> fresh_ GUARDED_BY(mutex_);
  Status failure_ GUARDED_BY(mutex_);
};

using TaskGroupTable = HandleTable<TaskGroup, HandleKind::kTaskGroup>;
TaskGroupTable& TaskGroups();

Status NewGroup(const std::shared_ptr<Graph>& graph, std::vector<uint32_t> nodes, void** out_handle);
void RetireGroup(void* handle);

Status BeginTaskUpdate(Stream* stream, const void* handle);
Status EndTaskUpdate(Stream* stream);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_GROUP_H_
