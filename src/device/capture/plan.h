// SPDX-License-Identifier: Apache-2.0
// In which order a graph's nodes may run: each lane (a captured stream) in its own order, and each node after the
// nodes of other lanes it waits for. Pure: knows neither tasks nor streams.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_PLAN_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace millpond::capture {

struct Shape {
  std::vector<std::vector<uint32_t>> lanes;  // nodes of each lane, first to last
  std::vector<std::vector<uint32_t>> after;  // by node: nodes of other lanes it waits for
  std::vector<uint32_t> lane_of;             // by node

  uint32_t AddLane();
  // Appends a node to a lane and returns its number: 0, 1, 2 ... in order of adding.
  uint32_t AddNode(uint32_t lane);
  uint32_t size() const { return static_cast<uint32_t>(lane_of.size()); }
};

// The order of adding where it is valid, else the nearest to it. Empty when nodes wait for each other in a circle.
std::optional<std::vector<uint32_t>> OrderOf(const Shape& shape);

// A valid order drawn by `seed`: at each step one of the lanes that can go on. pre: OrderOf has a value.
std::vector<uint32_t> RandomOrder(const Shape& shape, uint64_t seed);

// By lane: true when its last node comes before (or is) `last` in every order. Empty lanes count as true.
std::vector<bool> LanesBefore(const Shape& shape, uint32_t last);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_PLAN_H_
