// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/events.h"

#include <vector>

#include "src/base/mutex.h"
#include "src/device/capture/graph.h"
#include "src/device/stream/stream.h"

namespace millpond::capture {

namespace {

struct ExternalRecord {
  EventShare event;
  Graph* graph;
  uint32_t index;

  TaskEnd operator()(TaskSlot&, Stream& stream, Status*) const {
    const Event::Point& point = graph->current()->points[index];
    event->MarkRecorded(point.generation, stream);
    point.stream->KeepPromise(point.target);
    return TaskEnd::kDone;
  }
};

struct ExternalWait {
  EventShare event;
  Graph* graph;
  uint32_t index;

  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status*) const {
    const Event::Point& point = graph->current()->points[index];
    if (point.stream == nullptr || point.stream->completed() >= point.target) return TaskEnd::kDone;
    // One entry is enough: it stays until the record is reached, whatever else wakes the stream before.
    if (slot.phase++ != 0) return TaskEnd::kBlocked;
    return point.stream->AddStreamWaiter(&stream, point.target) ? TaskEnd::kBlocked : TaskEnd::kDone;
  }
};

// Events made with ACL_EVENT_EXTERNAL are levels: looked at when the wait runs.
struct LevelWait {
  EventShare event;
  TaskEnd operator()(TaskSlot&, Stream& stream, Status*) const {
    return event->LevelUpOrWait(&stream) ? TaskEnd::kDone : TaskEnd::kBlocked;
  }
};

struct LevelReset {
  EventShare event;
  TaskEnd operator()(TaskSlot&, Stream& stream, Status*) const {
    event->LowerLevel(stream);
    return TaskEnd::kDone;
  }
};

struct TickerPool {
  Mutex mutex;
  std::vector<Stream*> free GUARDED_BY(mutex);
};
TickerPool& Tickers() {
  static auto& pool = *new TickerPool;
  return pool;
}

}  // namespace

OwnedTask MakeExternalTask(TaskKind kind, Graph* graph, uint32_t index, Event* event) {
  switch (kind) {
    case TaskKind::kEventRecord:
      return OwnedTask::Make<TaskKind::kEventRecord>("EventRecord", {},
                                                     ExternalRecord{EventShare(event), graph, index});
    case TaskKind::kEventReset:
      return OwnedTask::Make<TaskKind::kEventReset>("EventReset", {}, LevelReset{EventShare(event)});
    default:
      if (event->is_level()) {
        return OwnedTask::Make<TaskKind::kEventWait>("EventWait", {}, LevelWait{EventShare(event)});
      }
      return OwnedTask::Make<TaskKind::kEventWait>("EventWait", {}, ExternalWait{EventShare(event), graph, index});
  }
}

Stream* TakeTicker() {
  TickerPool& pool = Tickers();
  {
    MutexLock lock(pool.mutex);
    if (!pool.free.empty()) {
      Stream* ticker = pool.free.back();
      pool.free.pop_back();
      return ticker;
    }
  }
  // Never deleted: a stale wait may still look at its count, which says "done" for ever.
  return new Stream;
}

void ReturnTicker(Stream* ticker) {
  TickerPool& pool = Tickers();
  MutexLock lock(pool.mutex);
  pool.free.push_back(ticker);
}

}  // namespace millpond::capture
