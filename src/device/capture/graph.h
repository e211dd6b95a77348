// SPDX-License-Identifier: Apache-2.0
// A graph: tasks recorded once and run many times. Replay is one task on the stream it is launched on; it runs the
// nodes in place, one after the other in a fixed valid order, without allocating. When a node blocks (a host function,
// a wait), the lanes go on independently until none can, and then the stream parks.
//
// Why in place: a node's body lies in a flat array in order of capture, and running it is one indirect call. So a graph
// runs at most once at a time; a second launch waits for the first wherever it was made.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/capture/plan.h"
#include "src/device/stream/event.h"
#include "src/device/stream/stream.h"
#include "src/device/stream/task.h"

namespace millpond::capture {

// A captured stream, by what the client called it; the stream itself may be gone at replay.
struct Lane {
  void* stream = nullptr;
  int32_t stream_id = -1;
};

// What a node is, for those who ask. Its body is in the graph's slots.
struct Node {
  TaskKind kind = TaskKind::kOther;
  const char* name = nullptr;
  void* event = nullptr;  // of event nodes: the client's handle and the flags it was made with
  uint32_t event_flags = 0;
  bool external = false;  // acts at replay on an event the outside sees
  bool mark = false;      // no body: only orders other nodes
  bool disabled = false;
  void* group = nullptr;  // the task group's handle, null when in none
};

// The value a conditional node looks at.
struct ConditionValue {
  uint64_t* address = nullptr;  // device memory
  uint64_t block = 0;           // its allocation number
  uint64_t initial = 0;
  bool assign = false;  // `initial` is written when a run of the root begins
};

class Graph;

// What a run that has not begun owes to whoever counts on its nodes (TaskOps::abandon): paid when it begins, or told
// when it is dropped. The launch has a share in it, so that one that fails owes nothing.
class Debt {
 public:
  explicit Debt(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}
  ~Debt();
  Debt(const Debt&) = delete;
  Debt& operator=(const Debt&) = delete;
  void Settle() { settled_.store(true, std::memory_order_relaxed); }

 private:
  const std::shared_ptr<Graph> graph_;
  std::atomic<bool> settled_{false};
};

// One execution, from its launch to its end.
struct Run {
  uint64_t number = 0;
  uint32_t cursor = 0;
  bool begun = false;                // the node at `cursor` has run before and blocked
  bool by_lanes = false;             // see StepLanes
  bool owns = false;                 // it is this run's turn
  bool ended = false;                // its last step was made, well or not
  std::shared_ptr<Debt> debt;        // null: nobody counts on the graph's nodes
  uint64_t trace_base = 0;           // node n's number for sinks is trace_base + n; 0: nobody listens
  bool tells_nodes = false;          // sinks hear of each node
  std::vector<TaskSlot*> order;      // empty: the graph's own
  std::vector<Event::Point> points;  // of external events, fixed when the run is launched
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  explicit Graph(Device* device);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  uint32_t id() const { return id_; }
  uint32_t trace_id() const { return id_ + 1; }  // as sinks know it
  Device* device() const { return device_; }

  // --- Recording. One thread at a time, before Seal.
  uint32_t AddLane(const Stream& stream);
  uint32_t AddTask(uint32_t lane, OwnedTask task);
  // A record or wait inside the graph.
  uint32_t AddMark(uint32_t lane, TaskKind kind, const Event& event);
  // A record, wait or reset that the outside sees, done at replay.
  uint32_t AddExternal(uint32_t lane, TaskKind kind, Event* event);
  void AddEdge(uint32_t from, uint32_t to) { shape_.after[to].push_back(from); }
  void SetGroup(uint32_t node, void* group);
  // The graph owns the 8 bytes from now on.
  void AddCondition(const ConditionValue& condition) { conditions_.push_back(condition); }
  void AddChild(std::shared_ptr<Graph> child) { children_.push_back(std::move(child)); }
  // Fixes the order. 107024 when nodes wait for each other in a circle.
  Status Seal();
  bool sealed() const { return sealed_.load(std::memory_order_acquire); }

  const std::vector<Lane>& lanes() const { return lanes_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Shape& shape() const { return shape_; }
  // The body of a node that is not a mark; for aclmdlRITaskGetParams and for tests. Not while the graph runs.
  TaskSlot& slot(uint32_t node);
  const TaskSlot* slot_or_null(uint32_t node) const { return nodes_[node].mark ? nullptr : &slots_[node]; }

  // --- Running. pre: sealed.
  // Appends one run to the stream.
  Status Launch(Stream* stream);
  // Ends what runs and what is queued at the next node; their streams see 507023.
  void Abort();
  // Runs `run` on as far as it goes. For Replay and for conditional nodes.
  TaskEnd Step(Run& run, Stream& stream, Status* out_status);
  // Tells whoever counts on nodes that `run` has not got to, or that it leaves unfinished. Not `mine`: it has not
  // begun.
  void Abandon(const Run& run, bool mine);
  // Prepares a child's run inside its parent's.
  void Restart(Run& run, Stream& stream);
  // For nodes of the run under way, while which it stays what it is.
  const Run* current() const NO_THREAD_SAFETY_ANALYSIS { return running_; }

  // --- Changing. Safe from any thread.
  // The next time the node is about to run it has this body. pre: it has a group.
  void Replace(uint32_t node, OwnedTask task);
  // Kept until ApplyStaged (aclmdlRIUpdate).
  void StageBody(uint32_t node, OwnedTask task);
  void StageDisable(uint32_t node);
  const TaskSlot& StagedOrCurrent(uint32_t node);
  // 107040 while runs are queued.
  Status ApplyStaged();
  uint32_t in_flight() const;
  // Tells sinks that these nodes will have these bodies from the next launch on.
  void DescribeWith(std::span<const uint32_t> nodes, std::span<const OwnedTask> tasks);

 private:
  friend class Replay;
  friend class Debt;
  enum Attention : uint32_t { kAbort = 1U << 31 };  // the bits below count bodies that wait to be put in
  enum NodeState : uint8_t { kWaiting, kBegun, kDone };
  struct External {
    Event* event;  // held
    uint32_t node;
    bool record;
  };

  void PlaceBody(uint32_t node, OwnedTask task);
  void DropBody(uint32_t node);
  void FixSteps(const std::vector<uint32_t>& order);
  void ResetConditions();

  void DrawOrder(Run& run) const;
  void PreparePoints(Run& run);
  // Makes the run's records the latest of their events. `points` as they were prepared: the run may be over.
  void PublishPoints(const std::vector<Event::Point>& points);
  std::vector<trace::Edge> EdgesOf(const Run& run) const;
  void Announce(Run& run, const Stream& stream);
  void DescribeOnce();
  // By node: accesses it will have instead of its body's.
  void Describe(const std::map<uint32_t, std::span<const trace::Access>>& instead) REQUIRES(mutex_);
  bool TakeTurn(Run& run, Stream& stream);
  void EndRun(Run& run);
  TaskEnd StepSome(Run& run, Stream& stream, Status* out_status);
  TaskEnd StepFast(Run& run, Stream& stream, Status* out_status);
  TaskEnd StepTraced(Run& run, Stream& stream, Status* out_status);
  TaskEnd StepLanes(Run& run, Stream& stream, Status* out_status);
  void GoByLanes(Run& run);
  TaskEnd Blocked(Run& run, uint32_t cursor, Stream& stream, Status* out_status);
  TaskEnd RunNode(Run& run, uint32_t node, bool begun, Stream& stream, Status* out_status);
  bool Attend(const Run& run, uint32_t node, bool begun, Status* out_status);
  void NameFailure(uint32_t node, Status* status) const;
  uint32_t NodeOf(const TaskSlot* slot) const { return static_cast<uint32_t>(slot - slots_.get()); }

  const uint32_t id_;
  Device* const device_;
  Shape shape_;
  std::vector<Lane> lanes_;
  std::vector<Node> nodes_;
  std::vector<OwnedTask> tasks_;  // until Seal moves them into slots_
  std::vector<External> externals_;
  std::vector<ConditionValue> conditions_;
  std::vector<std::shared_ptr<Graph>> children_;
  bool has_groups_ = false;
  std::atomic<bool> sealed_{false};

  std::unique_ptr<TaskSlot[]> slots_;  // by node; marks leave theirs empty
  std::vector<TaskSlot*> steps_;       // the fixed order, bodies only
  bool needs_team_ = false;            // one of them does
  bool counted_on_ = false;            // one of them is: see Debt
  std::atomic<uint32_t> attention_{0};
  std::unique_ptr<std::atomic<OwnedTask*>[]> pending_;  // by node; null without groups
  std::vector<uint8_t> state_;                          // NodeState by node, for StepLanes
  std::vector<uint32_t> lane_cursor_;

  mutable Mutex mutex_;                        // guards what follows
  Run* running_ GUARDED_BY(mutex_) = nullptr;  // also read by the run itself: current()
  Stream* running_on_ GUARDED_BY(mutex_) = nullptr;
  std::vector<Stream*> waiting_ GUARDED_BY(mutex_);
  uint32_t in_flight_ GUARDED_BY(mutex_) = 0;
  uint64_t launches_ GUARDED_BY(mutex_) = 0;
  uint32_t described_ GUARDED_BY(mutex_) = 0;  // trace::AttachCount then
  std::atomic<uint64_t> aborted_up_to_{0};
  std::map<uint32_t, OwnedTask> staged_ GUARDED_BY(mutex_);
  std::vector<uint32_t> staged_disabled_ GUARDED_BY(mutex_);
};

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_GRAPH_H_
