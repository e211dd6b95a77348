// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/plan.h"

#include <algorithm>
#include <random>

#include "src/base/assert.h"

namespace millpond::capture {

namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Walks all lanes, asking `pick` which of the ready lanes goes on. Short when the rest is a circle.
template <class Pick>
std::vector<uint32_t> Walk(const Shape& shape, Pick pick) {
  std::vector<uint32_t> order;
  order.reserve(shape.size());
  std::vector<bool> done(shape.size(), false);
  std::vector<size_t> cursor(shape.lanes.size(), 0);
  std::vector<uint32_t> ready;
  const auto next = [&](uint32_t lane) {
    return cursor[lane] < shape.lanes[lane].size() ? shape.lanes[lane][cursor[lane]] : kNone;
  };
  const auto can_go = [&](uint32_t lane) {
    const uint32_t node = next(lane);
    return node != kNone &&
           std::all_of(shape.after[node].begin(), shape.after[node].end(), [&](uint32_t other) { return done[other]; });
  };
  while (order.size() < shape.size()) {
    ready.clear();
    for (uint32_t lane = 0; lane < shape.lanes.size(); ++lane) {
      if (can_go(lane)) ready.push_back(lane);
    }
    if (ready.empty()) break;
    const uint32_t lane = pick(ready, next);
    const uint32_t node = next(lane);
    done[node] = true;
    ++cursor[lane];
    order.push_back(node);
  }
  return order;
}

bool AddingOrderIsValid(const Shape& shape) {
  for (uint32_t node = 0; node < shape.size(); ++node) {
    for (const uint32_t other : shape.after[node]) {
      if (other >= node) return false;
    }
  }
  return true;
}

}  // namespace

uint32_t Shape::AddLane() {
  lanes.emplace_back();
  return static_cast<uint32_t>(lanes.size() - 1);
}

uint32_t Shape::AddNode(uint32_t lane) {
  const uint32_t node = size();
  lanes[lane].push_back(node);
  after.emplace_back();
  lane_of.push_back(lane);
  return node;
}

std::optional<std::vector<uint32_t>> OrderOf(const Shape& shape) {
  if (AddingOrderIsValid(shape)) {
    std::vector<uint32_t> order(shape.size());
    for (uint32_t node = 0; node < shape.size(); ++node) order[node] = node;
    return order;
  }
  std::vector<uint32_t> order = Walk(shape, [](const std::vector<uint32_t>& ready, const auto& next) {
    return *std::min_element(ready.begin(), ready.end(), [&](uint32_t a, uint32_t b) { return next(a) < next(b); });
  });
  if (order.size() != shape.size()) return std::nullopt;
  return order;
}

std::vector<uint32_t> RandomOrder(const Shape& shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> order =
      Walk(shape, [&](const std::vector<uint32_t>& ready, const auto&) { return ready[random() % ready.size()]; });
  MP_ASSERT(order.size() == shape.size());
  return order;
}

std::vector<bool> LanesBefore(const Shape& shape, uint32_t last) {
  std::vector<uint32_t> place(shape.size());
  for (const auto& lane : shape.lanes) {
    for (uint32_t i = 0; i < lane.size(); ++i) place[lane[i]] = i;
  }
  // How far each lane is known to come before `last`: everything up to reached[lane], not including it.
  std::vector<uint32_t> reached(shape.lanes.size(), 0);
  std::vector<uint32_t> open{last};
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    const uint32_t lane = shape.lane_of[node];
    for (uint32_t i = reached[lane]; i <= place[node]; ++i) {
      const auto& after = shape.after[shape.lanes[lane][i]];
      open.insert(open.end(), after.begin(), after.end());
    }
    reached[lane] = std::max(reached[lane], place[node] + 1);
  }
  std::vector<bool> before(shape.lanes.size());
  for (size_t lane = 0; lane < shape.lanes.size(); ++lane) before[lane] = reached[lane] == shape.lanes[lane].size();
  return before;
}

}  // namespace millpond::capture
