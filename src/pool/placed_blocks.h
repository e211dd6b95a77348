// SPDX-License-Identifier: Apache-2.0
// The live blocks of a plan that is being followed. Where they begin is known beforehand, so that each has its cell in
// a table that never changes. A place shares memory with few places that come just before it in the run: as long as
// each was free of its own when it was taken, only these can still be live. Not safe from several threads.
#ifndef MILLPOND_SRC_POOL_PLACED_BLOCKS_H_
#define MILLPOND_SRC_POOL_PLACED_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/pool/page_source.h"
#include "src/pool/plan.h"

namespace millpond::pool {

class PlacedBlocks {
 public:
  struct Spot {
    Address address;
    size_t requested;
    size_t bytes;  // as the pool rounds it
    uint32_t area;
    uint32_t cell;
    uint32_t first_before;  // its part of befores_, which ends where the next spot's begins
  };

  PlacedBlocks() = default;
  // `areas`: where each of the plan's areas begins.
  PlacedBlocks(const Plan& plan, const std::vector<Address>& areas);

  // What is live stays, and is in the way of the new run.
  void BeginRun();
  // Whether nothing that is live shares memory with the n-th block. In a run, blocks are asked for and inserted in
  // order.
  bool IsFree(size_t place) const {
    for (size_t i = spots_[place].first_before; i < spots_[place + 1].first_before; ++i) {
      if (live_[befores_[i]] != 0) return false;
    }
    return old_.empty() || NoneOfOld(spots_[place]);
  }
  // pre: IsFree
  void Insert(size_t place) {
    cells_[spots_[place].cell].place = static_cast<uint32_t>(place);
    live_[place] = 1;
    ++count_;
  }
  // The live block that begins there; null: none.
  const Spot* Find(Address address) const {
    const Cell* cell = CellOf(address);
    return cell == nullptr ? nullptr : &spots_[cell->place];
  }
  // pre: it is live.
  void Erase(const Spot& spot) {
    Cell& cell = cells_[spot.cell];
    if (live_[cell.place] == 0) EraseOld(spot.address);
    live_[cell.place] = 0;
    cell.place = kNone;
    --count_;
  }
  void Clear();

  const Spot& at(size_t place) const { return spots_[place]; }
  size_t count() const { return count_; }
  // Those that are live, in no order.
  template <class Visit>  // visit(const Spot&)
  void ForEach(Visit visit) const {
    for (const Cell& cell : cells_) {
      if (cell.place != kNone) visit(spots_[cell.place]);
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Cell {
    Address address = 0;  // 0: no block of the plan
    uint32_t place = kNone;
  };
  struct Range {
    Address begin, end;
  };

  size_t Home(Address address) const { return (address >> 9) * 0x9e3779b97f4a7c15u >> shift_; }
  const Cell* CellOf(Address address) const {  // of a live block
    for (size_t at = Home(address); cells_[at].address != 0; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].address == address) return cells_[at].place == kNone ? nullptr : &cells_[at];
    }
    return nullptr;
  }
  uint32_t MakeCell(Address address);
  void FindBefores();
  bool NoneOfOld(const Spot& spot) const;
  void EraseOld(Address address);

  int shift_ = 63;
  std::vector<Cell> cells_ = std::vector<Cell>(2);  // open addressing, at most half full
  std::vector<Spot> spots_;                         // one more than places
  std::vector<uint32_t> befores_;
  std::vector<uint8_t> live_;  // of this run, by place
  std::vector<Range> old_;     // of earlier runs, in order
  size_t count_ = 0;
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_PLACED_BLOCKS_H_
