// SPDX-License-Identifier: Apache-2.0
#include "src/check/memory_report.h"

#include <algorithm>
#include <vector>

#include "src/base/format.h"
#include "src/base/json.h"
#include "src/trace/sink.h"

namespace millpond::check {

namespace {

// A point is written when an owner's memory has changed by this part of its peak: a curve looks the same with more.
constexpr uint64_t kSteps = 200;
constexpr size_t kLargest = 50;

}  // namespace

std::string MemoryReport::OwnerOf(uint32_t stack) {
  Symbols& symbols = ledger_.reporter.symbols();
  if (symbols.PassesThrough(stack, "libtorch_npu")) return "torch_npu";
  return symbols.EntryPoint(stack);
}

void MemoryReport::WritePoint(const Owner& owner, Curve* curve) {
  curve->written = curve->live;
  ledger_.reporter.Write(
      "memory", Format("\"time_ns\":%llu,\"device\":%d,\"owner\":", static_cast<unsigned long long>(trace::NowNs()),
                       owner.first) +
                    JsonQuoted(owner.second) + Format(",\"live\":%llu", static_cast<unsigned long long>(curve->live)));
}

void MemoryReport::OnMemory(const trace::MemoryChange& change) {
  if (change.kind == trace::MemoryKind::kRegistered) return;
  const auto address = reinterpret_cast<uintptr_t>(change.address);
  const auto update = [&](const Owner& owner, uint64_t live) {
    Curve& curve = curves_[owner];
    curve.live = live;
    curve.peak = std::max(curve.peak, live);
    const uint64_t moved = live > curve.written ? live - curve.written : curve.written - live;
    if (moved * kSteps >= curve.peak) WritePoint(owner, &curve);
  };
  if (change.allocated) {
    const Owner owner{change.device, OwnerOf(change.stack)};
    live_[address] = {owner, change.bytes};
    update(owner, curves_[owner].live + change.bytes);
    return;
  }
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  const auto [owner, bytes] = found->second;
  live_.erase(found);
  update(owner, curves_[owner].live - bytes);
}

void MemoryReport::Finish() {
  for (auto& [owner, curve] : curves_) WritePoint(owner, &curve);
  std::vector<const Block*> largest;
  for (const auto& [begin, block] : ledger_.blocks.live()) largest.push_back(&block);
  const size_t shown = std::min(largest.size(), kLargest);
  std::partial_sort(largest.begin(), largest.begin() + static_cast<ptrdiff_t>(shown), largest.end(),
                    [](const Block* one, const Block* other) { return one->bytes() > other->bytes(); });
  std::string blocks;
  for (size_t i = 0; i < shown; ++i) {
    const Block& block = *largest[i];
    blocks += (i == 0 ? "" : ",") + Format("{\"bytes\":%zu,\"device\":%d,\"owner\":", block.bytes(), block.device) +
              JsonQuoted(OwnerOf(block.allocated)) + ",\"frames\":" + ledger_.reporter.FramesOf(block.allocated) + "}";
  }
  ledger_.reporter.Write("live", "\"blocks\":[" + blocks + "]");
}

}  // namespace millpond::check
