// SPDX-License-Identifier: Apache-2.0
// Event tasks inside a graph that the outside sees. What a record will mean and which record a wait is for is fixed
// when the graph is launched, as it is for ordinary records and waits when they are enqueued.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_EVENTS_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_EVENTS_H_

#include <cstdint>

#include "src/device/stream/event.h"
#include "src/device/stream/held.h"
#include "src/device/stream/task.h"

namespace millpond::capture {

class Graph;

using EventShare = Held<Event>;

// `index` is the event's place among the graph's points (Run::points).
OwnedTask MakeExternalTask(TaskKind kind, Graph* graph, uint32_t index, Event* event);

// A counter that a record's completion is published through: a stream without tasks, from a pool.
Stream* TakeTicker();
void ReturnTicker(Stream* ticker);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_EVENTS_H_
