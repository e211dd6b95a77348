// SPDX-License-Identifier: Apache-2.0
// Finds the block of a lane that starts at an address: a hash table with room for twice its entries, dense in memory
// however far apart the blocks are. One writer at a time, with the lane's lock. Readers need no lock: what they find is
// right, but while a writer moves entries they may miss one, and then have to look again with the lock.
#ifndef MILLPOND_SRC_POOL_BLOCK_TABLE_H_
#define MILLPOND_SRC_POOL_BLOCK_TABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/pool/page_source.h"

namespace millpond::pool {

struct Block;

class BlockTable {
 public:
  BlockTable() { Grow(16); }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // From now on so many more can be inserted without asking for host memory. Strong guarantee.
  void AddRoom(size_t entries) {
    if (2 * (room_ + entries) > writers_->mask + 1) Grow(std::bit_ceil(2 * (room_ + entries)));
    room_ += entries;
  }

  // pre: no entry has this address, and there is room for it (AddRoom).
  void Insert(Address address, Block* block) { writers_->Insert(address, block); }
  // pre: it is there.
  void Erase(Address address) { writers_->Erase(address); }

  Block* Find(Address address) const { return readers_.load(std::memory_order_acquire)->Find(address); }

 private:
  static constexpr Address kNone = 0;
  static constexpr Address kChanging = 1;  // no block starts here

  struct Cell {
    std::atomic<Address> address{kNone};
    std::atomic<Block*> block{nullptr};

    // A reader that has seen the old address and sees the new block, sees that the address has changed.
    void Change(Address new_address, Block* new_block) {
      address.store(kChanging, std::memory_order_relaxed);
      block.store(new_block, std::memory_order_release);
      address.store(new_address, std::memory_order_release);
    }
  };

  struct Cells {
    explicit Cells(size_t count)
        : mask(count - 1), shift(64 - std::countr_zero(count)), cells(std::make_unique<Cell[]>(count)) {}

    size_t Home(Address address) const { return (address >> 9) * 0x9e3779b97f4a7c15u >> shift; }
    size_t Next(size_t at) const { return (at + 1) & mask; }

    void Insert(Address address, Block* block) {
      size_t at = Home(address);
      while (cells[at].address.load(std::memory_order_relaxed) != kNone) at = Next(at);
      cells[at].Change(address, block);
    }

    // Entries that were put behind the gap because their own place was taken move up.
    void Erase(Address address) {
      size_t gap = Home(address);
      while (cells[gap].address.load(std::memory_order_relaxed) != address) gap = Next(gap);
      for (size_t at = Next(gap);; at = Next(at)) {
        const Address other = cells[at].address.load(std::memory_order_relaxed);
        if (other == kNone) break;
        if (((at - Home(other)) & mask) < ((at - gap) & mask)) continue;
        cells[gap].Change(other, cells[at].block.load(std::memory_order_relaxed));
        gap = at;
      }
      cells[gap].Change(kNone, nullptr);
    }

    Block* Find(Address address) const {
      for (size_t at = Home(address);; at = Next(at)) {
        const Cell& cell = cells[at];
        const Address here = cell.address.load(std::memory_order_acquire);
        if (here == address) {
          Block* const block = cell.block.load(std::memory_order_acquire);
          return cell.address.load(std::memory_order_relaxed) == address ? block : nullptr;
        }
        if (here == kNone) return nullptr;
      }
    }

    const size_t mask;
    const int shift;
    const std::unique_ptr<Cell[]> cells;
  };

  void Grow(size_t count) {
    auto next = std::make_unique<Cells>(count);
    versions_.reserve(versions_.size() + 1);
    for (size_t at = 0; writers_ != nullptr && at <= writers_->mask; ++at) {
      const Cell& cell = writers_->cells[at];
      const Address address = cell.address.load(std::memory_order_relaxed);
      if (address != kNone) next->Insert(address, cell.block.load(std::memory_order_relaxed));
    }
    versions_.push_back(std::move(next));
    writers_ = versions_.back().get();
    readers_.store(writers_, std::memory_order_release);
  }

  std::atomic<const Cells*> readers_{nullptr};
  Cells* writers_ = nullptr;  // the same
  size_t room_ = 0;
  std::vector<std::unique_ptr<Cells>>
      versions_;  // a reader may still look at an old one; together as large as the last
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_BLOCK_TABLE_H_
