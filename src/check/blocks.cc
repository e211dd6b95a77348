// SPDX-License-Identifier: Apache-2.0
#include "src/check/blocks.h"

#include <algorithm>

namespace millpond::check {

void Blocks::Add(uintptr_t begin, size_t bytes, trace::MemoryKind kind, int32_t device, uint32_t stack) {
  ++version_;
  latest_ = {};
  Block& block = live_[begin];
  block = Block{.begin = begin,
                .end = begin + bytes,
                .kind = kind,
                .device = device,
                .number = ++allocations_,
                .allocated = stack,
                .users = {}};
  if (kind != trace::MemoryKind::kDevice) return;
  lowest_ = std::min(lowest_, begin);
  highest_ = std::max(highest_, begin + bytes);
}

std::optional<Block> Blocks::Remove(uintptr_t begin, uint32_t stack) {
  auto found = live_.extract(begin);
  if (found.empty()) return std::nullopt;
  ++version_;
  latest_ = {};
  Block block = std::move(found.mapped());
  block.freed = stack;
  freed_.push_back(block);
  if (freed_.size() > kRemembered) freed_.pop_front();
  return block;
}

Block* Blocks::Find(uintptr_t address) {
  for (Block* block : latest_) {
    if (block != nullptr && block->begin <= address && address < block->end) return block;
  }
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return address < block.end ? latest_[next_++ % latest_.size()] = &block : nullptr;
}

const Block* Blocks::FindFreed(uintptr_t address) const {
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                  [&](const Block& block) { return block.begin <= address && address < block.end; });
  return found == freed_.rend() ? nullptr : &*found;
}

Block* Blocks::FindStale(uintptr_t address) {
  if (address < lowest_ || address >= highest_ || Find(address) != nullptr) return nullptr;
  auto* freed = const_cast<Block*>(FindFreed(address));  // NOLINT: of ours
  return freed != nullptr && freed->kind == trace::MemoryKind::kDevice ? freed : nullptr;
}

void Blocks::MarkTold(uintptr_t begin) {
  if (!freed_.empty() && freed_.back().begin == begin) freed_.back().told = true;
}

void Blocks::Touch(Block* block, const Use& use) {
  const auto same = std::find_if(block->users.begin(), block->users.end(),
                                 [&](const Use& user) { return user.at.stream == use.at.stream; });
  if (same != block->users.end()) {
    *same = use;
  } else {
    block->users.push_back(use);
  }
}

const Use* LastUser(const Block& block) {
  const auto last = std::max_element(block.users.begin(), block.users.end(),
                                     [](const Use& one, const Use& other) { return one.sequence < other.sequence; });
  return last == block.users.end() ? nullptr : &*last;
}

const Use* Pending(const Block& block, const Order& order) {
  const Use* pending = nullptr;
  for (const Use& user : block.users) {
    if (!order.HostHas(user.at) && (pending == nullptr || user.sequence > pending->sequence)) pending = &user;
  }
  return pending;
}

}  // namespace millpond::check
