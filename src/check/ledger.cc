// SPDX-License-Identifier: Apache-2.0
#include "src/check/ledger.h"

#include <algorithm>

#include "src/base/format.h"

namespace millpond::check {

namespace {

constexpr int kNeighbours = 3;
constexpr size_t kMoreLanes = 5;  // beside those of the two operations and the host
constexpr uint64_t kShortlyBefore = 16;

// Between a task and the next the host does what it does.
uint64_t OrderOfTask(uint64_t sequence) { return 2 * sequence; }
uint64_t OrderOfHost(uint64_t sequence) { return 2 * sequence + 1; }

std::string StreamName(int32_t stream) { return stream < 0 ? "the host" : Format("stream %d", stream); }

}  // namespace

uint32_t Names::Look(const char* name) {
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    texts_.emplace_back(name);
    found = numbers_.emplace(texts_.back(), static_cast<uint32_t>(texts_.size() - 1)).first;
  }
  SeenAt(name) = {name, &texts_[found->second], found->second};
  return found->second;
}

int32_t Ledger::StreamOf(const void* handle) const {
  const auto found = stream_of_handle.find(reinterpret_cast<uint64_t>(handle));
  return found == stream_of_handle.end() ? -1 : found->second;
}

std::string Ledger::Where(const Use& use) const {
  return (use.name != 0 ? NameOf(use) : "a task") + " on " + StreamName(use.at.stream);
}

Part Ledger::PartOf(const char* role, const Use& use) const {
  return {role, Where(use) + ", launched here", NameOf(use), use.stack, use.thread};
}

Thing Ledger::ThingOf(const Use& use) const {
  Thing thing{.kind = "task", .name = NameOf(use)};
  thing.stream = use.at.stream;
  thing.count = use.at.count;
  return thing;
}

Thing Ledger::ThingOf(const Block& block, uintptr_t begin, uintptr_t end) const {
  Thing thing{.kind = "block", .name = Format("block %llu", static_cast<unsigned long long>(block.number))};
  thing.address = block.begin;
  thing.bytes = block.bytes();
  if (begin != 0) {
    thing.offset = static_cast<int64_t>(std::max(begin, block.begin) - block.begin);
    thing.range_bytes = std::min(end, block.end) - std::max(begin, block.begin);
  }
  return thing;
}

Thing Ledger::ThingOf(const Piece& piece, uintptr_t begin, uintptr_t end) const {
  Thing thing{.kind = "piece", .name = Format("piece %llu", static_cast<unsigned long long>(piece.number))};
  if (!piece.name.empty()) thing.name += " (" + piece.name + ")";
  thing.address = piece.begin;
  thing.bytes = piece.bytes();
  thing.offset = static_cast<int64_t>(std::max(begin, piece.begin) - piece.begin);
  thing.range_bytes = std::min(end, piece.end) - std::max(begin, piece.begin);
  return thing;
}

Lane Ledger::LaneOf(int32_t stream) const {
  Lane lane{stream, StreamName(stream), {}};
  const auto found = streams.find(stream);
  if (found == streams.end()) return lane;
  found->second.recent.ForEach([&](const RecentTask& task) {
    lane.tasks.push_back({task.count, names.Of(task.name), "", OrderOfTask(task.sequence)});
  });
  waits.ForEach([&](const RecentWait& wait) {
    if (wait.at.stream != stream) return;
    for (LaneTask& task : lane.tasks) {
      if (task.count == wait.at.count) task.after_stream = wait.after.stream, task.after_count = wait.after.count;
    }
  });
  return lane;
}

Lane Ledger::LaneOfHost() {
  Lane lane{-1, StreamName(-1), {}};
  host_steps.ForEach([&](const HostStep& step) {
    const std::string what = step.name != 0 ? names.Of(step.name) : reporter.symbols().EntryPoint(step.stack);
    lane.tasks.push_back(
        {0, step.stream >= 0 ? what + " " + StreamName(step.stream) : what, "", OrderOfHost(step.sequence)});
  });
  return lane;
}

std::vector<Lane> Ledger::Picture(const Use& earlier, const Use* later, const std::string& host_call) {
  std::vector<Lane> lanes{LaneOf(earlier.at.stream)};
  if (later != nullptr && later->at.stream != earlier.at.stream) lanes.push_back(LaneOf(later->at.stream));
  const auto mark = [&](Lane* lane, const Use& use, const char* as) {
    const auto place = std::find_if(lane->tasks.begin(), lane->tasks.end(),
                                    [&](const LaneTask& task) { return task.count >= use.at.count; });
    if (place != lane->tasks.end() && place->count == use.at.count) {
      place->mark = as;
    } else {
      lane->tasks.insert(place, {use.at.count, NameOf(use), as, OrderOfTask(use.sequence)});
    }
  };
  mark(&lanes.front(), earlier, "earlier");
  if (later != nullptr) mark(&lanes.back(), *later, "later");
  // Those that did something since the earlier one, or shortly before it: the latest first.
  std::vector<std::pair<uint64_t, int32_t>> busy;
  for (const auto& [stream, life] : streams) {
    const uint64_t last = life.recent.Last().sequence;
    const bool shown = stream == earlier.at.stream || (later != nullptr && stream == later->at.stream);
    if (!shown && last != 0 && last + kShortlyBefore > earlier.sequence) busy.emplace_back(last, stream);
  }
  std::sort(busy.rbegin(), busy.rend());
  if (busy.size() > kMoreLanes) busy.resize(kMoreLanes);
  std::sort(busy.begin(), busy.end(), [](const auto& one, const auto& other) { return one.second < other.second; });
  for (const auto& [last, stream] : busy) lanes.push_back(LaneOf(stream));
  Lane host = LaneOfHost();
  if (later == nullptr) host.tasks.push_back({0, host_call, "later", OrderOfHost(sequence)});
  if (!host.tasks.empty()) lanes.push_back(std::move(host));
  return lanes;
}

std::vector<NearBlock> Ledger::Around(uintptr_t address) const {
  const auto& live = blocks.live();
  auto first = live.upper_bound(address);
  for (int i = 0; i <= kNeighbours && first != live.begin(); ++i) --first;
  std::vector<NearBlock> near;
  int after = 0;
  for (auto at = first; at != live.end() && after < kNeighbours; ++at) {
    const Block& block = at->second;
    if (block.begin > address) ++after;
    near.push_back({block.begin, block.bytes(), true, block.number, block.allocated,
                    block.begin <= address && address < block.end});
  }
  return near;
}

}  // namespace millpond::check
