// SPDX-License-Identifier: Apache-2.0
#include "src/check/written.h"

#include <algorithm>
#include <iterator>

namespace millpond::check {

const Written::Block* Written::Find(uintptr_t address) const {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  return address < block.end ? &block : nullptr;
}

void Written::Write(uintptr_t begin, uintptr_t end) {
  const auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin() || begin >= std::prev(after)->second.end) return;
  Ranges& written = std::prev(after)->second.written;
  auto next = written.upper_bound(end);
  // Those that overlap or touch the new one become part of it.
  while (next != written.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = written.erase(next);
  }
  written.emplace_hint(next, begin, end);
  if (written.size() <= kMaxRanges) return;
  const uintptr_t first = written.begin()->first, last = written.rbegin()->second;
  written.clear();
  written.emplace(first, last);
}

bool Written::IsUntouched(uintptr_t begin, uintptr_t end) const {
  const Block* block = Find(begin);
  if (block == nullptr || end > block->end) return false;
  const auto next = block->written.lower_bound(end);  // begins behind the range
  return next == block->written.begin() || std::prev(next)->second <= begin;
}

}  // namespace millpond::check
