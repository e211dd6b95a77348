// SPDX-License-Identifier: Apache-2.0
// The client's handle of a graph (aclmdlRI), and the recording behind it. Objects live in a HandleTable and are
// recycled, never freed: a stream or event that still points here after its capture has ended finds that out under the
// lock and goes on as if it had never looked.
//
// Two ways to record: capture (a stream between Begin and End, and the streams that join it by waiting for an event
// recorded in it) and building (persistent streams bound to the graph).
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_HANDLE_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/capture/graph.h"
#include "src/device/capture/mode.h"
#include "src/device/stream/stream.h"

namespace millpond {
class Context;
}

namespace millpond::capture {

// Values of aclmdlRICaptureStatus.
enum class CaptureStatus : uint8_t { kNone, kActive, kInvalidated };

class Handle final : public CaptureTarget {
 public:
  enum class Making : uint8_t { kCaptured, kBuilt, kBranch };  // a branch: the body of a conditional node
  enum class State : uint8_t { kEmpty, kCapturing, kBuilding, kReady };
  using Callback = void (*)(void*);

  void Open(void* handle, Context* context, Making making, Handle* parent);

  void* handle() const { return handle_; }
  const void* context() const { return context_; }  // the context's handle
  Making making() const { return making_; }
  State state() const { return state_.load(std::memory_order_acquire); }
  std::shared_ptr<Graph> graph() const;
  // The graph, ready to run, be looked at or changed; 107026 while it is still being recorded.
  Status Ready(std::shared_ptr<Graph>* out_graph) const;
  CaptureStatus capture_status() const;

  // --- CaptureTarget
  Status Add(Stream* stream, OwnedTask task) override;
  Status RecordEvent(Stream* stream, Event* event, bool external) override;
  Status WaitEvent(Stream* stream, Event* event, bool external) override;
  Status ResetEvent(Stream* stream, Event* event) override;

  // --- Capture
  Status Begin(Stream* stream, Mode mode);
  // On failure other than 107036 the capture is over and what it recorded is gone.
  Status End(Stream* stream);
  Status BeginGroup(Stream* stream);
  Status EndGroup(Stream* stream, void** out_group);
  // Further tasks and the end are refused; the streams stay captured until then.
  void Invalidate() { invalid_.store(true, std::memory_order_release); }
  // The stream is being destroyed.
  void ForgetStream(Stream* stream);
  // Appends a node that is not a launched task (a conditional one).
  Status AddNode(Stream* stream, OwnedTask task, std::vector<Handle*> branches);
  Status AddCondition(const ConditionValue& condition, void* handle);

  // --- Building
  Status Bind(Stream* stream);
  Status Unbind(Stream* stream);
  Status EndTasks(Stream* stream);
  Status FinishBuilding();

  // --- The rest
  void SetName(std::string name);
  std::string name() const;
  Status AddCallback(Callback function, void* argument);
  Status RemoveCallback(Callback function);
  // Handles that go when the graph goes.
  void OwnLane(void* lane);
  void OwnTask(void* task);
  std::vector<void*> OwnedLanes() const;
  // Ends the recording if there is one, retires every handle that belongs here, and calls the callbacks.
  void Close();

 private:
  friend Status DestroyGraph(void* handle);
  struct Mark {  // what an event means inside the recording
    bool recorded = false;
    uint32_t node = 0;
    std::vector<uint32_t> early_waits;  // captured before any record
  };

  Status CheckActive() const REQUIRES(mutex_);
  Status CheckGroup(uint32_t lane, TaskKind kind) REQUIRES(mutex_);
  Status AddTo(uint32_t lane, OwnedTask task) REQUIRES(mutex_);
  Status CheckEventMaking(const Event& event) const;
  bool ActsOutside(const Event& event) const;
  Status AddOutside(uint32_t lane, TaskKind kind, Event* event, bool once) REQUIRES(mutex_);
  Status CheckConflict(const Event& event);
  Status Join(Stream* stream, uint32_t* out_lane) REQUIRES(mutex_);
  Mark& MarkOf(Event* event) REQUIRES(mutex_);
  // The lane of a stream that the graph is built from.
  Status FindBound(const Stream& stream, uint32_t* out_lane) const REQUIRES(mutex_);
  Status CheckComplete() const REQUIRES(mutex_);
  void StopRecording(State next) REQUIRES(mutex_);

  void* handle_ = nullptr;
  const void* context_ = nullptr;
  Making making_ = Making::kCaptured;
  Handle* parent_ = nullptr;
  std::atomic<State> state_{State::kEmpty};
  std::atomic<bool> invalid_{false};

  mutable Mutex mutex_;  // guards what follows
  std::shared_ptr<Graph> graph_ GUARDED_BY(mutex_);
  Stream* origin_ GUARDED_BY(mutex_) = nullptr;
  uint64_t thread_ GUARDED_BY(mutex_) = 0;
  Mode mode_ GUARDED_BY(mutex_) = Mode::kGlobal;
  std::map<const Stream*, uint32_t> lane_of_ GUARDED_BY(mutex_);
  std::map<uint32_t, Stream*> stream_of_ GUARDED_BY(mutex_);
  std::set<uint32_t> ended_lanes_ GUARDED_BY(mutex_);
  std::map<Event*, Mark> marks_ GUARDED_BY(mutex_);  // the events are held
  std::set<const Event*> external_events_ GUARDED_BY(mutex_);
  std::map<uint32_t, std::vector<uint32_t>> open_groups_ GUARDED_BY(mutex_);  // by lane: nodes so far
  Status group_error_ GUARDED_BY(mutex_);
  std::vector<void*> groups_, lanes_, tasks_, conditions_;
  std::vector<Handle*> branches_ GUARDED_BY(mutex_);
  std::vector<std::pair<Callback, void*>> callbacks_ GUARDED_BY(mutex_);
  std::string name_ GUARDED_BY(mutex_);
};

using GraphTable = HandleTable<Handle, HandleKind::kGraph>;
GraphTable& Graphs();

Status FindGraph(const void* handle, Handle** out_graph);
Status NewGraph(Context* context, Handle::Making making, Handle* parent, Handle** out_graph);
// Runs in flight finish. 107026 while it is captured.
Status DestroyGraph(void* handle);

// The capture a stream is in; null when it is in none (a bound stream is not captured).
Handle* CaptureOf(const Stream& stream);

// 107027 when a stream of the context is being captured: it runs nothing that could be waited for.
Status CheckNoCaptureIn(const Context& context);

Status Begin(Stream* stream, Mode mode);
Status BeginBranch(Stream* stream, Handle* branch, Mode mode);
Status End(Stream* stream, void** out_handle);

// aclmdlRIExecuteAsync.
Status LaunchGraph(Handle* handle, Stream* stream);
// aclmdlRIExecute: on a stream of its own.
Status ExecuteGraph(Handle* handle, Deadline deadline);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_HANDLE_H_
