// SPDX-License-Identifier: Apache-2.0
// The memory that is there, whole blocks: who allocated each, and which task of each stream used it last. Answers
// whether a block may go now.
#ifndef MILLPOND_SRC_CHECK_BLOCKS_H_
#define MILLPOND_SRC_CHECK_BLOCKS_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "src/check/order.h"
#include "src/check/shadow.h"
#include "src/trace/records.h"

namespace millpond::check {

struct Block {
  uintptr_t begin = 0, end = 0;
  trace::MemoryKind kind = trace::MemoryKind::kDevice;
  int32_t device = -1;
  uint64_t number = 0;     // in order of allocation, from 1
  uint32_t allocated = 0;  // stack
  uint32_t freed = 0;      // stack, of remembered ones
  bool told = false;       // of remembered ones: a finding says that somebody uses it nevertheless
  std::vector<Use> users;  // the last of each stream

  size_t bytes() const { return end - begin; }
};

// Not safe from several threads.
class Blocks {
 public:
  void Add(uintptr_t begin, size_t bytes, trace::MemoryKind kind, int32_t device, uint32_t stack);
  // The block that begins there, taken out and remembered.
  std::optional<Block> Remove(uintptr_t begin, uint32_t stack);
  // The live block that has the address, or null.
  Block* Find(uintptr_t address);
  // The youngest remembered block that had the address, or null.
  const Block* FindFreed(uintptr_t address) const;
  // A device block had the address once, and none has it now: quick to deny, for every access asks.
  Block* FindStale(uintptr_t address);
  // The youngest remembered block begins there, and went while it was in use.
  void MarkTold(uintptr_t begin);
  // Blocks that have a part of what lies between the access's ends.
  template <class See>
  void ForEachIn(const trace::Access& access, See see) {
    const auto begin = reinterpret_cast<uintptr_t>(access.address);
    const uintptr_t end = begin + access.extent();
    // Mapped ranges lie side by side: an access may reach over several.
    for (Block* block = Find(begin); block != nullptr; block = block->end < end ? Find(block->end) : nullptr) {
      see(block);
    }
  }
  void Touch(const trace::Access& access, const Use& use) {
    ForEachIn(access, [&](Block* block) { Touch(block, use); });
  }
  static void Touch(Block* block, const Use& use);

  const std::map<uintptr_t, Block>& live() const { return live_; }
  // Another number whenever a block came or went: what was found before may be stale.
  uint64_t version() const { return version_; }
  // How many there ever were: the number of the youngest.
  uint64_t allocations() const { return allocations_; }

 private:
  static constexpr size_t kRemembered = 4096;

  std::map<uintptr_t, Block> live_;               // by beginning
  std::deque<Block> freed_;                       // the oldest first
  uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;  // around all device blocks there ever were
  uint64_t allocations_ = 0;
  uint64_t version_ = 0;
  // The latest that were found: a task's operands are few, and the next task has some of them. Empty when one went.
  std::array<Block*, 4> latest_{};
  uint32_t next_ = 0;
};

// The latest by task, or null.
const Use* LastUser(const Block& block);
// A user of the block that the host does not know to be done: the latest by task, or null.
const Use* Pending(const Block& block, const Order& order);

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_BLOCKS_H_
