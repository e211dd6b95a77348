// SPDX-License-Identifier: Apache-2.0
// What a stream tells sinks.
#include <array>
#include <vector>

#include "src/device/device.h"
#include "src/device/memory/red_zones.h"
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

void Stream::EndIfEndless(uint64_t target) {
  trace::FanOut* sinks = trace::Listening(trace::kHost);
  if (sinks == nullptr || device() == nullptr) return;
  std::array<int32_t, 64> room{};
  size_t stuck = 0;
  sinks->OnHostBlocks({id(), target, trace::ThreadNumber(), trace::StackIfWanted(), room, &stuck});
  if (stuck == 0) return;
  std::vector<Stream*> streams(stuck, nullptr);
  Streams().ForEach([&](void*, Stream& stream) {
    for (size_t i = 0; i < stuck; ++i) {
      if (room[i] == stream.id()) streams[i] = &stream;
    }
  });
  for (Stream* stream : streams) {
    if (stream == nullptr) continue;
    stream
        ->Abort(Status(Code::kWaitTimeout,
                       Format("stream %d waits for a stream that waits for it: neither would ever go on, so the "
                              "checker (MP606) had their tasks dropped; record each event before the wait for it",
                              stream->id())))
        .Ignore();
  }
}

void Stream::TellReached(uint64_t target, trace::WaitKind kind) const {
  const Device* on = device();
  if (on == nullptr) return;
  trace::TellHostWait(kind, on->id(), id(), target, nullptr, 0, last_of_client_.load(std::memory_order_relaxed));
  // Where a program waits it hears of what went wrong soonest; all at once would make waits dear.
  constexpr size_t kZonesPerWait = 16;
  if (__builtin_expect(trace::Wants(trace::kGuards), false) &&
      (kind == trace::WaitKind::kStream || kind == trace::WaitKind::kDevice)) {
    internal::CheckSomeRedZones(kZonesPerWait);
  }
}

}  // namespace millpond
