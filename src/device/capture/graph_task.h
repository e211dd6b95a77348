// SPDX-License-Identifier: Apache-2.0
// Handles of a graph's streams and tasks (aclmdlRIGetStreams, aclmdlRIGetTasksByStream). A captured stream may have
// been captured many times, so what the client gets for it is a handle of the graph's own lane.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_TASK_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_TASK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/spinlock.h"
#include "src/base/status.h"
#include "src/device/capture/handle.h"

namespace millpond::capture {

struct LaneRef {
  SpinLock lock;  // guards what follows
  Handle* owner GUARDED_BY(lock) = nullptr;
  uint32_t lane GUARDED_BY(lock) = 0;
  std::vector<void*> tasks GUARDED_BY(lock);  // made when first asked for
};

struct TaskRef {
  SpinLock lock;  // guards what follows
  std::weak_ptr<Graph> graph GUARDED_BY(lock);
  uint32_t node GUARDED_BY(lock) = 0;
};

// Handles of all lanes, made at the first call.
Status LanesOf(Handle* handle, std::vector<void*>* out_lanes);
// Handles of the tasks of a lane, or of a stream bound to a built graph.
Status TasksOf(const void* lane, std::vector<void*>* out_tasks);
Status FindTask(const void* handle, std::shared_ptr<Graph>* out_graph, uint32_t* out_node);

void RetireLane(void* handle);
void RetireTask(void* handle);

// The graph as JSON for chrome://tracing: a lane per stream, an arrow per dependency between lanes. `verbose` adds what
// each task reads and writes.
std::string ToJson(const Graph& graph, const std::string& name, bool verbose);
// The same for people, a line per node.
std::string ToText(const Graph& graph, const std::string& name);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_TASK_H_
