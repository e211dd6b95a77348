// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placed_blocks.h"

#include <algorithm>
#include <bit>
#include <map>

#include "src/pool/heap.h"

namespace millpond::pool {

PlacedBlocks::PlacedBlocks(const Plan& plan, const std::vector<Address>& areas)
    : cells_(std::bit_ceil(2 * plan.places.size() + 2)), live_(plan.places.size()) {
  shift_ = 64 - std::countr_zero(cells_.size());
  spots_.reserve(plan.places.size() + 1);
  for (const Plan::Place& place : plan.places) {
    const Address address = areas[place.stream] + place.offset;
    spots_.push_back({.address = address,
                      .requested = place.bytes,
                      .bytes = RoundUp(place.bytes, kUnit),
                      .area = place.stream,
                      .cell = MakeCell(address),
                      .first_before = 0});
  }
  spots_.push_back({});
  FindBefores();
  old_.reserve(plan.places.size());
}

uint32_t PlacedBlocks::MakeCell(Address address) {
  size_t at = Home(address);
  while (cells_[at].address != 0 && cells_[at].address != address) at = (at + 1) & (cells_.size() - 1);
  cells_[at].address = address;
  return static_cast<uint32_t>(at);
}

// The last that was placed on each byte, as ranges; a place comes on top of those that it overlaps.
void PlacedBlocks::FindBefores() {
  struct Piece {
    Address end;
    uint32_t place;
  };
  std::map<Address, Piece> top;
  for (uint32_t place = 0; place + 1 < spots_.size(); ++place) {
    const Address begin = spots_[place].address;
    const Address end = begin + spots_[place].bytes;
    const size_t first = befores_.size();
    spots_[place].first_before = static_cast<uint32_t>(first);
    auto piece = top.upper_bound(begin);
    if (piece != top.begin() && std::prev(piece)->second.end > begin) --piece;
    while (piece != top.end() && piece->first < end) {
      const auto [from, old] = *piece;
      befores_.push_back(old.place);
      piece = top.erase(piece);
      if (from < begin) top[from] = {.end = begin, .place = old.place};
      if (old.end > end) top[end] = old;
      if (old.end > end) break;
    }
    top[begin] = {.end = end, .place = place};
    const auto mine = befores_.begin() + static_cast<ptrdiff_t>(first);
    std::sort(mine, befores_.end());
    befores_.erase(std::unique(mine, befores_.end()), befores_.end());
  }
  spots_.back().first_before = static_cast<uint32_t>(befores_.size());
}

void PlacedBlocks::BeginRun() {
  old_.clear();
  if (count_ == 0) return;
  ForEach([&](const Spot& spot) { old_.push_back({.begin = spot.address, .end = spot.address + spot.bytes}); });
  std::sort(old_.begin(), old_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::fill(live_.begin(), live_.end(), uint8_t{0});
}

bool PlacedBlocks::NoneOfOld(const Spot& spot) const {
  const auto after =
      std::partition_point(old_.begin(), old_.end(), [&](const Range& range) { return range.end <= spot.address; });
  return after == old_.end() || after->begin >= spot.address + spot.bytes;
}

void PlacedBlocks::EraseOld(Address address) {
  const auto found =
      std::partition_point(old_.begin(), old_.end(), [&](const Range& range) { return range.begin < address; });
  if (found != old_.end() && found->begin == address) old_.erase(found);
}

void PlacedBlocks::Clear() {
  for (Cell& cell : cells_) cell.place = kNone;
  std::fill(live_.begin(), live_.end(), uint8_t{0});
  old_.clear();
  count_ = 0;
}

}  // namespace millpond::pool
