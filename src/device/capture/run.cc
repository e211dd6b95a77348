// SPDX-License-Identifier: Apache-2.0
// Replay. Three loops over the same nodes: StepFast (nobody listens), StepTraced (a sink does), StepLanes (a node has
// blocked in a graph of several lanes, so each lane goes on by itself).
#include <algorithm>
#include <exception>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/base/thread_end.h"
#include "src/device/capture/events.h"
#include "src/device/capture/graph.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/scheduler.h"

namespace millpond::capture {

// The body of a launched graph's task. Owns the run, and a share in the graph, so that destroying the handle while
// runs are queued lets them finish. Ends the run even when the task is dropped.
class Replay {
 public:
  Replay(std::shared_ptr<Graph> graph, std::unique_ptr<Run> run) : graph_(std::move(graph)), run_(std::move(run)) {}
  Replay(Replay&&) noexcept = default;
  Replay& operator=(Replay&&) = delete;
  ~Replay() {
    if (run_ != nullptr) graph_->EndRun(*run_);
  }

  TaskEnd operator()(TaskSlot&, Stream& stream, Status* out_status) {
    if (!run_->owns && !graph_->TakeTurn(*run_, stream)) return TaskEnd::kBlocked;
    return graph_->Step(*run_, stream, out_status);
  }

 private:
  std::shared_ptr<Graph> graph_;
  std::unique_ptr<Run> run_;
};

struct TeamReplay : Replay {
  static constexpr bool kNeedsTeam = true;
  explicit TeamReplay(Replay&& replay) : Replay(std::move(replay)) {}
};

namespace {

uint64_t Mix(uint64_t value) {  // splitmix64
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

uint64_t SeedOf(uint32_t graph, uint64_t run) {
  const auto seed = static_cast<uint64_t>(ParseInt(GetOptions().seed).value_or(0));
  return Mix(Mix(Mix(seed) ^ graph) ^ run);
}

void TellRan(uint64_t task, const TaskSlot& slot, const Stream& stream, uint64_t start, bool ok) {
  trace::FanOut* sinks = trace::Listening(trace::kInsideTasks);
  if (sinks == nullptr) return;
  sinks->OnRan({.task = task,
                .device = stream.device()->id(),
                .stream = stream.id(),
                .name = slot.name,
                .thread = trace::ThreadNumber(),
                .start_ns = start,
                .end_ns = trace::StampNs(),
                .ok = ok,
                .flags = trace::kInsideTask});
}

}  // namespace

// --- Launching --------------------------------------------------------------------------------------------------

Status Graph::Launch(Stream* stream) {
  auto run = std::make_unique<Run>();
  if (!externals_.empty()) run->points.reserve(externals_.size());
  {
    MutexLock lock(mutex_);
    ++in_flight_;
    run->number = ++launches_;
  }
  if (counted_on_) run->debt = std::make_shared<Debt>(shared_from_this());
  const std::shared_ptr<Debt> debt = run->debt;
  Run& data = *run;
  Replay replay(shared_from_this(), std::move(run));  // from here on the run ends by itself
  if (__builtin_expect(Scheduler::Get().observes_enqueue(), false)) DrawOrder(data);
  const bool told = trace::Wants(trace::kTasks | trace::kUses | trace::kGraphs | trace::kInsideTasks);
  if (__builtin_expect(told, false)) {
    DescribeOnce();
    Announce(data, *stream);
  }
  PreparePoints(data);
  // The points are copied: the run may be over before its launch returns.
  const std::vector<Event::Point> points = externals_.empty() ? std::vector<Event::Point>() : data.points;
  const std::vector<trace::Edge> edges = told ? EdgesOf(data) : std::vector<trace::Edge>();
  const auto note = [&, nodes = data.trace_base] {
    return LaunchNote{.graph = trace_id(), .nodes = nodes, .edges = edges};
  };
  Status launched = needs_team_
                        ? stream->Launch<TaskKind::kGraph>("GraphExecute", {}, TeamReplay(std::move(replay)), note)
                        : stream->Launch<TaskKind::kGraph>("GraphExecute", {}, std::move(replay), note);
  if (!launched.ok()) {
    if (debt != nullptr) debt->Settle();
    return launched;
  }
  // After the launch, as an ordinary record's is: whoever waits for one of them is told of later than the replay.
  PublishPoints(points);
  return Ok();
}

void Graph::DrawOrder(Run& run) const {
  run.order.clear();
  for (const uint32_t node : RandomOrder(shape_, SeedOf(id_, run.number))) {
    if (!nodes_[node].mark && !nodes_[node].disabled) run.order.push_back(&slots_[node]);
  }
}

void Graph::PreparePoints(Run& run) {
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    Event::Point point;
    if (external.record) {
      Stream* ticker = TakeTicker();
      point = {ticker, ticker->Promise(), external.event->NextGeneration()};
    } else {
      // The latest record is one of this very run, if it has one before the wait.
      size_t record = i;
      while (record > 0 && !(externals_[record - 1].record && externals_[record - 1].event == external.event)) --record;
      point = record > 0 ? run.points[record - 1] : external.event->LatestPoint();
    }
    run.points.push_back(point);
  }
}

void Graph::PublishPoints(const std::vector<Event::Point>& points) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (externals_[i].record) externals_[i].event->PointTo(points[i]);
  }
}

bool Graph::TakeTurn(Run& run, Stream& stream) {
  {
    MutexLock lock(mutex_);
    std::erase(waiting_, &stream);
    if (running_ != nullptr) {
      waiting_.push_back(&stream);
      return false;
    }
    running_ = &run;
    running_on_ = &stream;
    run.owns = true;
  }
  if (run.debt != nullptr) run.debt->Settle();
  ResetConditions();
  return true;
}

Debt::~Debt() {
  if (!settled_.load(std::memory_order_relaxed)) graph_->Abandon({}, /*mine=*/false);
}

void Graph::Abandon(const Run& run, bool mine) {
  const std::vector<TaskSlot*>& steps = run.order.empty() ? steps_ : run.order;
  if (!mine) {
    MutexLock lock(mutex_);  // the run that is at it may put other bodies in
    for (TaskSlot* slot : steps) {
      if (slot->ops->abandon != nullptr) slot->ops->abandon(*slot, /*mine=*/false);
    }
    return;
  }
  for (uint32_t at = run.by_lanes ? 0 : run.cursor; at < steps.size(); ++at) {
    TaskSlot& slot = *steps[at];
    if (slot.ops->abandon == nullptr || (run.by_lanes && state_[NodeOf(&slot)] == kDone)) continue;
    slot.ops->abandon(slot, /*mine=*/true);
  }
}

void Graph::EndRun(Run& run) {
  if (run.owns && !run.ended) Abandon(run, /*mine=*/true);
  for (size_t i = 0; i < run.points.size(); ++i) {
    if (!externals_[i].record) continue;
    // Kept already unless the run failed or was dropped: whoever waits for the record must go on then too.
    const Event::Point& point = run.points[i];
    if (point.stream->completed() < point.target) point.stream->KeepPromise(point.target);
    ReturnTicker(point.stream);
  }
  std::vector<Stream*> waiting;
  {
    MutexLock lock(mutex_);
    if (run.owns) {
      running_ = nullptr;
      running_on_ = nullptr;
      waiting.swap(waiting_);
    }
    if (--in_flight_ == 0) attention_.fetch_and(~static_cast<uint32_t>(kAbort), std::memory_order_relaxed);
  }
  for (Stream* stream : waiting) stream->Unblock();
}

void Graph::Abort() {
  std::vector<Stream*> blocked;
  {
    MutexLock lock(mutex_);
    if (in_flight_ == 0) return;
    aborted_up_to_.store(launches_, std::memory_order_relaxed);
    attention_.fetch_or(kAbort, std::memory_order_release);
    blocked = waiting_;
    if (running_on_ != nullptr) blocked.push_back(running_on_);
  }
  for (Stream* stream : blocked) stream->Unblock();
}

void Graph::Restart(Run& run, Stream& stream) {
  run.cursor = 0;
  run.begun = run.by_lanes = run.ended = false;
  run.trace_base = 0;
  run.tells_nodes = false;
  ++run.number;
  if (Scheduler::Get().observes_enqueue()) DrawOrder(run);
  if (trace::Wants(trace::kInsideTasks)) Announce(run, stream);
}

// --- Running ----------------------------------------------------------------------------------------------------

TaskEnd Graph::Step(Run& run, Stream& stream, Status* out_status) {
  const TaskEnd end = StepSome(run, stream, out_status);
  if (end == TaskEnd::kBlocked) return end;
  run.ended = true;
  if (__builtin_expect(!out_status->ok(), false)) Abandon(run, /*mine=*/true);
  return end;
}

TaskEnd Graph::StepSome(Run& run, Stream& stream, Status* out_status) {
  if (run.by_lanes) return StepLanes(run, stream, out_status);
  if (__builtin_expect(run.tells_nodes, false)) return StepTraced(run, stream, out_status);
  return StepFast(run, stream, out_status);
}

TaskEnd Graph::StepFast(Run& run, Stream& stream, Status* out_status) {
  const std::vector<TaskSlot*>& steps = run.order.empty() ? steps_ : run.order;
  TaskSlot* const* const first = steps.data();
  TaskSlot* const* const end = first + steps.size();
  TaskSlot* const* at = first + run.cursor;
  bool begun = run.begun;
  try {
    for (; at != end; ++at) {
      TaskSlot& slot = **at;
      if (__builtin_expect(attention_.load(std::memory_order_acquire) != 0, false) &&
          !Attend(run, NodeOf(&slot), begun, out_status)) {
        run.cursor = static_cast<uint32_t>(at - first);
        return TaskEnd::kDone;
      }
      if (!begun) slot.phase = 0;
      begun = false;
      const TaskEnd ended = slot.ops->run(slot, stream, out_status);
      if (__builtin_expect(ended == TaskEnd::kBlocked, false)) {
        return Blocked(run, static_cast<uint32_t>(at - first), stream, out_status);
      }
      TakeFaultInTask(out_status);
      if (__builtin_expect(!out_status->ok(), false)) break;
    }
  } catch (const std::exception& error) {
    *out_status = Status(Code::kTaskFailed, Format("threw %s", error.what()));
  } catch (...) {
    LetThreadEnd();
    *out_status = Status(Code::kTaskFailed, "threw something that is not a std::exception");
  }
  run.cursor = static_cast<uint32_t>(at - first);
  if (!out_status->ok()) NameFailure(NodeOf(*at), out_status);
  return TaskEnd::kDone;
}

TaskEnd Graph::StepTraced(Run& run, Stream& stream, Status* out_status) {
  const std::vector<TaskSlot*>& steps = run.order.empty() ? steps_ : run.order;
  for (uint32_t at = run.cursor; at < steps.size(); ++at) {
    const TaskEnd ended = RunNode(run, NodeOf(steps[at]), std::exchange(run.begun, false), stream, out_status);
    if (ended == TaskEnd::kBlocked) return Blocked(run, at, stream, out_status);
    run.cursor = at;
    if (!out_status->ok()) break;
  }
  return TaskEnd::kDone;
}

TaskEnd Graph::Blocked(Run& run, uint32_t cursor, Stream& stream, Status* out_status) {
  run.cursor = cursor;
  run.begun = true;
  if (lanes_.size() == 1) return TaskEnd::kBlocked;
  GoByLanes(run);
  return StepLanes(run, stream, out_status);
}

void Graph::GoByLanes(Run& run) {
  const std::vector<TaskSlot*>& steps = run.order.empty() ? steps_ : run.order;
  std::fill(state_.begin(), state_.end(), kWaiting);
  std::fill(lane_cursor_.begin(), lane_cursor_.end(), 0);
  for (uint32_t at = 0; at < run.cursor; ++at) state_[NodeOf(steps[at])] = kDone;
  state_[NodeOf(steps[run.cursor])] = kBegun;
  run.by_lanes = true;
}

// Every pass runs each lane as far as it goes, asking blocked nodes again: whoever woke the stream does not say why.
TaskEnd Graph::StepLanes(Run& run, Stream& stream, Status* out_status) {
  for (bool progress = true; progress;) {
    progress = false;
    bool all_done = true;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      const std::vector<uint32_t>& nodes = shape_.lanes[lane];
      for (uint32_t& cursor = lane_cursor_[lane]; cursor < nodes.size(); ++cursor) {
        const uint32_t node = nodes[cursor];
        if (state_[node] == kDone) continue;
        const auto& after = shape_.after[node];
        if (std::any_of(after.begin(), after.end(), [&](uint32_t other) { return state_[other] != kDone; })) break;
        if (!nodes_[node].mark && !nodes_[node].disabled) {
          const bool begun = std::exchange(state_[node], kBegun) == kBegun;
          if (RunNode(run, node, begun, stream, out_status) == TaskEnd::kBlocked) break;
          if (!out_status->ok()) return TaskEnd::kDone;
        }
        state_[node] = kDone;
        progress = true;
      }
      if (lane_cursor_[lane] < nodes.size()) all_done = false;
    }
    if (all_done) return TaskEnd::kDone;
  }
  return TaskEnd::kBlocked;
}

// One node with everything around it: pending bodies, exceptions, faults, the sink.
TaskEnd Graph::RunNode(Run& run, uint32_t node, bool begun, Stream& stream, Status* out_status) {
  if (attention_.load(std::memory_order_acquire) != 0 && !Attend(run, node, begun, out_status)) return TaskEnd::kDone;
  TaskSlot& slot = slots_[node];
  if (!begun) slot.phase = 0;
  const uint64_t start = run.tells_nodes ? trace::StampNs() : 0;
  try {
    if (slot.ops->run(slot, stream, out_status) == TaskEnd::kBlocked) return TaskEnd::kBlocked;
  } catch (const std::exception& error) {
    *out_status = Status(Code::kTaskFailed, Format("threw %s", error.what()));
  } catch (...) {
    LetThreadEnd();
    *out_status = Status(Code::kTaskFailed, "threw something that is not a std::exception");
  }
  TakeFaultInTask(out_status);
  if (run.tells_nodes) TellRan(run.trace_base + node, slot, stream, start, out_status->ok());
  if (!out_status->ok()) NameFailure(node, out_status);
  return TaskEnd::kDone;
}

// False when the run is to end here. A body that has begun keeps its place until the next run.
bool Graph::Attend(const Run& run, uint32_t node, bool begun, Status* out_status) {
  if (pending_ != nullptr && !begun) {
    if (OwnedTask* fresh = pending_[node].exchange(nullptr, std::memory_order_acq_rel)) {
      attention_.fetch_sub(1, std::memory_order_relaxed);
      MutexLock lock(mutex_);
      PlaceBody(node, std::move(*fresh));
      delete fresh;
    }
  }
  if ((attention_.load(std::memory_order_relaxed) & kAbort) == 0) return true;
  if (run.number > aborted_up_to_.load(std::memory_order_relaxed)) return true;
  *out_status =
      Status(Code::kModelAborted, Format("graph %u was aborted before node %u (%s)", id_, node, nodes_[node].name));
  return false;
}

void Graph::NameFailure(uint32_t node, Status* status) const {
  *status = std::move(*status).Prefixed(Format("node %u %s of graph %u (stream %d when captured)", node,
                                               nodes_[node].name, id_, lanes_[shape_.lane_of[node]].stream_id));
}

}  // namespace millpond::capture
