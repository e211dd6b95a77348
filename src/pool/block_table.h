// SPDX-License-Identifier: Apache-2.0
// Finds the block that starts at an address: a hash table with room for twice its entries, dense in memory however far
// apart the blocks are. One writer at a time, with the lane's lock. Readers need no lock: what they find is right, but
// while a writer moves entries they may miss one, and then have to look again with the lock.
#ifndef MILLPOND_SRC_POOL_BLOCK_TABLE_H_
#define MILLPOND_SRC_POOL_BLOCK_TABLE_H_

#include <algorithm>
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
  BlockTable() { Publish(std::make_unique<Cells>(16)); }
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;

  // From now on up to `entries` can be inserted without asking for host memory. Strong guarantee.
  void Reserve(size_t entries) {
    const Cells& now = *versions_.back();
    if (2 * entries <= now.cells.size()) return;
    auto next = std::make_unique<Cells>(std::bit_ceil(2 * entries));
    versions_.reserve(versions_.size() + 1);
    for (const Cell& cell : now.cells) {
      const Address address = cell.address.load(std::memory_order_relaxed);
      if (address != kNone) next->Insert(address, cell.block.load(std::memory_order_relaxed));
    }
    Publish(std::move(next));
  }

  // pre: no entry has this address, and there is room for it (Reserve).
  void Insert(Address address, Block* block) { versions_.back()->Insert(address, block); }
  // pre: it is there.
  void Erase(Address address) { versions_.back()->Erase(address); }

  Block* Find(Address address) const { return current_.load(std::memory_order_acquire)->Find(address); }

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
    explicit Cells(size_t count) : shift(64 - std::countr_zero(count)), cells(count) {}

    size_t Home(Address address) const { return (address >> 9) * 0x9e3779b97f4a7c15u >> shift; }
    size_t Next(size_t at) const { return (at + 1) & (cells.size() - 1); }

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
        const size_t mask = cells.size() - 1;
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

    const int shift;
    std::vector<Cell> cells;
  };

  void Publish(std::unique_ptr<Cells> cells) {
    versions_.push_back(std::move(cells));
    current_.store(versions_.back().get(), std::memory_order_release);
  }

  std::atomic<const Cells*> current_{nullptr};
  std::vector<std::unique_ptr<Cells>>
      versions_;  // a reader may still look at an old one; together as large as the last
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_BLOCK_TABLE_H_
