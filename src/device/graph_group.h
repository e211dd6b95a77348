// SPDX-License-Identifier: Apache-2.0
// Task groups: operator calls of a capture that can be issued again later with other arguments. Between UpdateBegin and
// UpdateEnd a stream's operator calls are not run but collected; UpdateEnd enqueues one task on that stream which
// hands the new bodies to the graph. So an update takes effect in stream order, also for a run that is already under
// way and waits (for an event recorded after the update) before the group.
#ifndef MILLPOND_SRC_DEVICE_GRAPH_GROUP_H_
#define MILLPOND_SRC_DEVICE_GRAPH_GROUP_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/status.h"
#include "src/device/graph.h"
#include "src/device/stream.h"

namespace millpond {

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
  std::mutex mutex_;
  std::weak_ptr<Graph> graph_;
  std::vector<uint32_t> nodes_;
  Stream* updating_ = nullptr;
  std::vector<OwnedTask> fresh_;
  Status failure_;
};

using TaskGroupTable = HandleTable<TaskGroup, HandleKind::kTaskGroup>;
TaskGroupTable& TaskGroups();

Status NewGroup(const std::shared_ptr<Graph>& graph, std::vector<uint32_t> nodes, void** out_handle);
void RetireGroup(void* handle);

Status BeginTaskUpdate(Stream* stream, const void* group);
Status EndTaskUpdate(Stream* stream);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_GRAPH_GROUP_H_
