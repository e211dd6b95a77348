// SPDX-License-Identifier: Apache-2.0
#include "src/check/ledger.h"

#include <algorithm>
#include <cstring>

#include "src/base/format.h"

namespace millpond::check {

namespace {

constexpr int kNeighbours = 3;

std::string StreamName(int32_t stream) { return stream < 0 ? "the host" : Format("stream %d", stream); }

}  // namespace

uint32_t Names::NumberOf(const char* name) {
  if (name == nullptr) return 0;
  const auto address = reinterpret_cast<uintptr_t>(name);
  Seen& seen = seen_[(address >> 4 ^ address >> 10) % seen_.size()];
  if (seen.name == name && std::strcmp(seen.text->c_str(), name) == 0) return seen.number;
  const uint32_t number = Look(name);
  seen = {name, &texts_[number], number};
  return number;
}

uint32_t Names::Look(const char* name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(name);
  numbers_.emplace(texts_.back(), number);
  return number;
}

Use Ledger::NewUse(const trace::TaskEnqueued& task, uint32_t stack) {
  Use use{.at = {task.stream, task.count},
          .sequence = ++sequence,
          .stack = stack,
          .name = names.NumberOf(task.name),
          .thread = task.thread,
          .kind = task.kind};
  if (last_told.first != task.stream) last_told = {task.stream, &streams[task.stream]};
  last_told.second->latest = task.count;
  last_told.second->recent.Add(task.count, use.name);
  return use;
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
  thing.address = piece.begin;
  thing.bytes = piece.bytes();
  thing.offset = static_cast<int64_t>(std::max(begin, piece.begin) - piece.begin);
  thing.range_bytes = std::min(end, piece.end) - std::max(begin, piece.begin);
  return thing;
}

std::vector<Lane> Ledger::Picture(const Use& earlier, const Use* later, const std::string& host_call) const {
  std::vector<Lane> lanes;
  const auto add = [&](const Use& use, const char* mark) {
    Lane lane{use.at.stream, StreamName(use.at.stream), {}};
    if (const auto found = streams.find(use.at.stream); found != streams.end()) {
      found->second.recent.ForEach([&](const RecentTasks::Task& task) {
        if (task.count != use.at.count) lane.tasks.push_back({task.count, names.Of(task.name), ""});
      });
    }
    const auto place = std::find_if(lane.tasks.begin(), lane.tasks.end(),
                                    [&](const LaneTask& task) { return task.count > use.at.count; });
    lane.tasks.insert(place, {use.at.count, NameOf(use), mark});
    lanes.push_back(std::move(lane));
  };
  add(earlier, "earlier");
  if (later != nullptr) {
    add(*later, "later");
  } else {
    lanes.push_back({-1, "the host", {{0, host_call, "later"}}});
  }
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
