// SPDX-License-Identifier: Apache-2.0
// What a stream tells sinks.
#include "src/device/device.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {
std::atomic<uint64_t> g_next_trace_task{1};
}

uint64_t NewTraceTasks(uint64_t count) { return g_next_trace_task.fetch_add(count, std::memory_order_relaxed); }

void Stream::OnInterests(uint32_t interests) {
  Streams().ForEach([&](void*, Stream& stream) {
    if ((interests & kLaunchInterests) != 0) {
      stream.slow_.fetch_or(kSlowTraced, std::memory_order_acq_rel);
    } else {
      stream.slow_.fetch_and(~uint32_t{kSlowTraced}, std::memory_order_acq_rel);
    }
  });
}

uint64_t Stream::NextTraceTask() {
  if (next_trace_task_ == last_trace_task_) {
    next_trace_task_ = NewTraceTasks(kTraceTaskBlock);
    last_trace_task_ = next_trace_task_ + kTraceTaskBlock;
  }
  return next_trace_task_++;
}

// Allocates nothing and reads no clock unless a sink asked for it: see bench/launch.
void Stream::Tell(TaskSlot* slot, std::span<const trace::Access> accesses, const LaunchNote& note, uint32_t stack) {
  const uint64_t task = NextTraceTask();
  if (trace::Wants(trace::kRan)) slot->evidence.set_task(task);
  if ((note.flags & trace::kInternal) == 0) last_of_client_.store(tail_count_ + 1, std::memory_order_relaxed);
  trace::FanOut* sinks = trace::Listening(trace::kTasks | trace::kUses);
  if (sinks == nullptr) return;
  sinks->OnEnqueued({.task = task,
                     .device = device()->id(),
                     .stream = id(),
                     .count = tail_count_ + 1,
                     .kind = slot->ops->kind,
                     .flags = note.flags,
                     .lane = 0,
                     .graph = note.graph,
                     .nodes = note.nodes,
                     .name = slot->name,
                     .thread = trace::ThreadNumber(),
                     .stack = stack,
                     .time_ns = trace::StampNs(),
                     .accesses = accesses,
                     .edges = note.all_edges()});
}

void Stream::TellReached(uint64_t target, trace::WaitKind kind) const {
  const Device* on = device();
  if (on != nullptr)
    trace::TellHostWait(kind, on->id(), id(), target, nullptr, 0, last_of_client_.load(std::memory_order_relaxed));
}

}  // namespace millpond
