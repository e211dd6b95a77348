// SPDX-License-Identifier: Apache-2.0
#include "src/check/memory_report.h"

#include <algorithm>
#include <vector>

#include "src/base/enum_name.h"
#include "src/base/format.h"
#include "src/base/json.h"
#include "src/trace/emit.h"
#include "src/trace/sink.h"

namespace millpond::check {

namespace {

// A point is written when an owner's memory has changed by this part of its peak: a curve looks the same with more.
constexpr uint64_t kSteps = 200;
constexpr size_t kLargest = 50;

// In the order of trace::Purpose.
constexpr const char* kPurposes[] = {"memory",  "constants", "feature memory",
                                     "outputs", "workspace", "intermediate tensors"};

}  // namespace

// A tensor of torch_npu, what a graph or operator asked for (of a client's allocator, if the program's own call made
// the block), or the call itself.
std::string MemoryReport::OwnerOf(uint32_t stack) {
  Symbols& symbols = ledger_.reporter.symbols();
  const trace::Asker& asker = trace::CurrentAsker();
  std::string call = symbols.EntryPoint(stack);
  if (asker.purpose != trace::Purpose::kUnknown) {
    const std::string what =
        Format("%s of %s", EnumName(kPurposes, asker.purpose), asker.who != nullptr ? asker.who : "a graph");
    return call.starts_with("aclrt") ? "allocator: " + what : what;
  }
  if (symbols.PassesThrough(stack, "libtorch_npu")) return "tensors of torch_npu";
  return call;
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
    NoteSize(owner, change.bytes, change.stack);
    update(owner, curves_[owner].live + change.bytes);
    return;
  }
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  const auto [owner, bytes] = found->second;
  live_.erase(found);
  update(owner, curves_[owner].live - bytes);
}

// The largest sizes so far, each with its place in the program.
void MemoryReport::NoteSize(const Owner& owner, size_t bytes, uint32_t stack) {
  const std::pair<size_t, uint32_t> key{bytes, stack};
  if (largest_.size() == kLargest && key < largest_.begin()->first) return;
  Size& size = largest_[key];
  size.owner = owner;
  ++size.count;
  if (largest_.size() > kLargest) largest_.erase(largest_.begin());
}

std::string MemoryReport::BlockText(size_t bytes, const Owner& owner, uint32_t stack) {
  return Format("\"bytes\":%zu,\"device\":%d,\"owner\":", bytes, owner.first) + JsonQuoted(owner.second) +
         ",\"frames\":" + ledger_.reporter.FramesOf(stack);
}

void MemoryReport::Finish() {
  for (auto& [owner, curve] : curves_) WritePoint(owner, &curve);
  std::string blocks;
  for (auto size = largest_.rbegin(); size != largest_.rend(); ++size) {
    blocks += (blocks.empty() ? "{" : ",{") + BlockText(size->first.first, size->second.owner, size->first.second) +
              Format(",\"count\":%llu}", static_cast<unsigned long long>(size->second.count));
  }
  ledger_.reporter.Write("largest", "\"blocks\":[" + blocks + "]");
  std::vector<const Block*> left;
  for (const auto& [begin, block] : ledger_.blocks.live()) left.push_back(&block);
  const size_t shown = std::min(left.size(), kLargest);
  std::partial_sort(left.begin(), left.begin() + static_cast<ptrdiff_t>(shown), left.end(),
                    [](const Block* one, const Block* other) { return one->bytes() > other->bytes(); });
  blocks.clear();
  for (size_t i = 0; i < shown; ++i) {
    const Block& block = *left[i];
    const auto known = live_.find(block.begin);
    const Owner owner = known != live_.end() ? known->second.first : Owner{block.device, OwnerOf(block.allocated)};
    blocks += (blocks.empty() ? "{" : ",{") + BlockText(block.bytes(), owner, block.allocated) + "}";
  }
  ledger_.reporter.Write("live", "\"blocks\":[" + blocks + "]");
}

}  // namespace millpond::check
