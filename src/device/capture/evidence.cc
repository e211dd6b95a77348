// SPDX-License-Identifier: Apache-2.0
// What sinks are told of a captured graph: its shape, once, and then which graph a replay is of.
#include <utility>

#include "src/base/mutex.h"
#include "src/device/capture/graph.h"
#include "src/device/device.h"

namespace millpond::capture {

void Graph::DescribeOnce() {
  if (!trace::Wants(trace::kGraphs)) return;
  MutexLock lock(mutex_);
  if (described_ != trace::AttachCount()) Describe({});
}

void Graph::DescribeWith(std::span<const uint32_t> nodes, std::span<const OwnedTask> tasks) {
  if (!trace::Wants(trace::kGraphs)) return;
  std::map<uint32_t, std::span<const trace::Access>> instead;
  for (size_t i = 0; i < nodes.size(); ++i) instead[nodes[i]] = tasks[i].slot().evidence.accesses();
  MutexLock lock(mutex_);
  Describe(instead);
}

void Graph::Describe(const std::map<uint32_t, std::span<const trace::Access>>& instead) {
  trace::FanOut* sinks = trace::Listening(trace::kGraphs);
  if (sinks == nullptr) return;
  std::vector<trace::GraphNode> nodes;
  nodes.reserve(nodes_.size());
  for (uint32_t number = 0; number < nodes_.size(); ++number) {
    const Node& node = nodes_[number];
    const auto changed = instead.find(number);
    std::span<const trace::Access> accesses;
    if (!node.mark) accesses = changed != instead.end() ? changed->second : slots_[number].evidence.accesses();
    nodes.push_back({.kind = node.kind,
                     .runs = !node.mark && !node.disabled,
                     .lane = shape_.lane_of[number],
                     .name = node.name,
                     .event = reinterpret_cast<uint64_t>(node.event),
                     .accesses = accesses,
                     .after = shape_.after[number]});
  }
  std::vector<int32_t> lanes;
  lanes.reserve(lanes_.size());
  for (const Lane& lane : lanes_) lanes.push_back(lane.stream_id);
  std::vector<uint32_t> children;
  children.reserve(children_.size());
  for (const auto& child : children_) children.push_back(child->trace_id());
  described_ = trace::AttachCount();
  sinks->OnGraph({.graph = trace_id(), .device = device_->id(), .lanes = lanes, .children = children, .nodes = nodes});
}

// Fixes the numbers of a run's nodes, and tells sinks that want to hear of nodes of each, in the order in which they
// will run if none blocks.
void Graph::Announce(Run& run, const Stream& stream) {
  run.trace_base = NewTraceTasks(nodes_.size());
  trace::FanOut* sinks = trace::Listening(trace::kInsideTasks);
  run.tells_nodes = sinks != nullptr;
  if (sinks == nullptr) return;
  MutexLock lock(mutex_);  // a body may be replaced meanwhile
  for (const TaskSlot* slot : run.order.empty() ? steps_ : run.order) {
    const uint32_t node = NodeOf(slot);
    sinks->OnEnqueued({.task = run.trace_base + node,
                       .device = stream.device()->id(),
                       .stream = stream.id(),
                       .count = 0,
                       .kind = nodes_[node].kind,
                       .flags = trace::kInsideTask,
                       .lane = shape_.lane_of[node],
                       .graph = trace_id(),
                       .nodes = run.trace_base,
                       .name = slot->name,
                       .thread = trace::ThreadNumber(),
                       .stack = 0,
                       .time_ns = trace::StampNs(),
                       .accesses = slot->evidence.accesses(),
                       .edges = {}});
  }
}

std::vector<trace::Edge> Graph::EdgesOf(const Run& run) const {
  std::vector<trace::Edge> edges;
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    if (run.points[i].stream == nullptr) continue;  // a wait for what was never recorded
    edges.push_back({.kind = external.record ? trace::Edge::Kind::kRecord : trace::Edge::Kind::kWait,
                     .link = trace::Link::kEvent,
                     .binds_when_run = external.event->is_level(),
                     .node = external.node,
                     .id = reinterpret_cast<uint64_t>(external.event->handle()),
                     .generation = run.points[i].generation});
  }
  return edges;
}

}  // namespace millpond::capture
