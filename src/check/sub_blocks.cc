// SPDX-License-Identifier: Apache-2.0
#include "src/check/sub_blocks.h"

#include <utility>

namespace millpond::check {

const SubBlock* SubBlocks::FindIn(const Level& level, uintptr_t address) {
  const auto after = level.upper_bound(address);
  if (after == level.begin()) return nullptr;
  const SubBlock& block = std::prev(after)->second;
  return address < block.end ? &block : nullptr;
}

void SubBlocks::ForgetFrom(size_t depth, uintptr_t begin, uintptr_t end) {
  for (; depth < kDepth; ++depth) {
    Level& level = levels_[depth];
    auto at = level.lower_bound(begin);
    if (at != level.begin() && std::prev(at)->second.end > begin) --at;
    while (at != level.end() && at->first < end) at = level.erase(at);
  }
}

void SubBlocks::Begin(SubBlock block) {
  if (block.begin >= block.end) return;
  size_t depth = 0;
  for (; depth + 1 < kDepth; ++depth) {
    const SubBlock* around = FindIn(levels_[depth], block.begin);
    if (around == nullptr || around->end < block.end || around->bytes() == block.bytes()) break;
  }
  ForgetFrom(depth, block.begin, block.end);
  const uintptr_t begin = block.begin;
  levels_[depth].emplace(begin, std::move(block));
}

void SubBlocks::End(uintptr_t begin) {
  for (size_t depth = kDepth; depth-- > 0;) {
    const auto found = levels_[depth].find(begin);
    if (found == levels_[depth].end()) continue;
    const uintptr_t end = found->second.end;
    levels_[depth].erase(found);
    ForgetFrom(depth + 1, begin, end);
    return;
  }
}

void SubBlocks::Forget(uintptr_t begin, uintptr_t end) { ForgetFrom(0, begin, end); }

const SubBlock* SubBlocks::Find(uintptr_t address) const {
  for (size_t depth = kDepth; depth-- > 0;) {
    if (const SubBlock* found = FindIn(levels_[depth], address)) return found;
  }
  return nullptr;
}

const SubBlock* SubBlocks::LeftBy(uintptr_t begin, uintptr_t end) const {
  const SubBlock* outermost = FindIn(levels_[0], begin);
  return outermost != nullptr && outermost->end < end ? outermost : nullptr;
}

size_t SubBlocks::Within(uintptr_t begin, uintptr_t end) const {
  size_t count = 0;
  for (auto at = levels_[0].lower_bound(begin); at != levels_[0].end() && at->first < end; ++at) ++count;
  return count;
}

}  // namespace millpond::check
