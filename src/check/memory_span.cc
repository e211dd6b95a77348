// SPDX-License-Identifier: Apache-2.0
#include "src/check/memory_span.h"

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/format.h"

namespace millpond::check {

namespace {

constexpr size_t kLargest = 50;

unsigned long long Printed(uint64_t value) { return value; }

}  // namespace

void MemorySpan::OnMemory(const trace::MemoryChange& change) {
  if (change.device < 0) return;
  Bytes& bytes = devices_[change.device];
  bytes.live = change.device_live_bytes;
  bytes.peak = std::max(bytes.peak, bytes.live);
}

void MemorySpan::Begin() {
  for (auto& [device, bytes] : devices_) bytes.peak = bytes.live;
  allocations_before_ = ledger_.blocks.allocations();
}

void MemorySpan::Write() {
  std::string devices;
  for (const auto& [device, bytes] : devices_) {
    devices += Format("%s{\"device\":%d,\"live\":%llu,\"peak\":%llu}", devices.empty() ? "" : ",", device,
                      Printed(bytes.live), Printed(bytes.peak));
  }
  std::vector<const Block*> made;
  for (const auto& [begin, block] : ledger_.blocks.live()) {
    if (block.number > allocations_before_ && block.device >= 0) made.push_back(&block);
  }
  const size_t shown = std::min(made.size(), kLargest);
  std::partial_sort(made.begin(), made.begin() + static_cast<ptrdiff_t>(shown), made.end(),
                    [](const Block* one, const Block* other) { return one->bytes() > other->bytes(); });
  std::string blocks;
  for (size_t i = 0; i < shown; ++i) {
    const Block& block = *made[i];
    blocks +=
        (i == 0 ? "" : ",") +
        Format("{\"number\":%llu,\"address\":\"0x%llx\",\"bytes\":%zu,\"device\":%d,\"frames\":", Printed(block.number),
               Printed(block.begin), block.bytes(), block.device) +
        ledger_.reporter.FramesOf(block.allocated) + "}";
  }
  ledger_.reporter.Write("span", "\"devices\":[" + devices + "]" + Format(",\"live_blocks\":%zu", made.size()) +
                                     ",\"blocks\":[" + blocks + "]");
}

}  // namespace millpond::check
