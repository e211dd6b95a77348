// SPDX-License-Identifier: Apache-2.0
#include "src/comm/registered_memory.h"

#include <iterator>

#include "src/base/mutex.h"

namespace millpond::comm {

namespace {

uintptr_t Number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

}  // namespace

RegisteredMemory::Answer RegisteredMemory::AddWindow(const void* address, size_t bytes) {
  MutexLock lock(mutex_);
  return windows_.emplace(Number(address), bytes).second ? Answer::kDone : Answer::kTaken;
}

RegisteredMemory::Answer RegisteredMemory::RemoveWindow(const void* address) {
  MutexLock lock(mutex_);
  return windows_.erase(Number(address)) == 1 ? Answer::kDone : Answer::kUnknown;
}

bool RegisteredMemory::HasWindow(const void* address) const {
  MutexLock lock(mutex_);
  return windows_.contains(Number(address));
}

size_t RegisteredMemory::BytesOfWindow(const void* address) const {
  MutexLock lock(mutex_);
  const auto found = windows_.find(Number(address));
  return found != windows_.end() ? found->second : 0;
}

void RegisteredMemory::TakeFrom(RegisteredMemory* other) {
  std::map<uintptr_t, Range> ranges;
  std::map<uintptr_t, size_t> windows;
  {
    MutexLock lock(other->mutex_);
    ranges.swap(other->ranges_);
    windows.swap(other->windows_);
  }
  MutexLock lock(mutex_);
  ranges_.swap(ranges);
  windows_.swap(windows);
}

RegisteredMemory::Answer RegisteredMemory::AddRange(const void* base, size_t bytes) {
  const uintptr_t begin = Number(base);
  MutexLock lock(mutex_);
  const auto next = ranges_.lower_bound(begin);
  const bool runs_into_next = next != ranges_.end() && next->first - begin < bytes;
  const bool in_previous = next != ranges_.begin() && begin - std::prev(next)->first < std::prev(next)->second.bytes;
  if (runs_into_next || in_previous) return Answer::kTaken;
  ranges_[begin] = {bytes, {}};
  return Answer::kDone;
}

RegisteredMemory::Answer RegisteredMemory::RemoveRange(const void* base, size_t* out_active) {
  MutexLock lock(mutex_);
  const auto found = ranges_.find(Number(base));
  if (found == ranges_.end()) return Answer::kUnknown;
  *out_active = found->second.active.size();
  if (*out_active != 0) return Answer::kTaken;
  ranges_.erase(found);
  return Answer::kDone;
}

RegisteredMemory::Answer RegisteredMemory::Activate(const void* address, size_t bytes) {
  MutexLock lock(mutex_);
  Range* range = Find(Number(address), bytes);
  if (range == nullptr) return Answer::kUnknown;
  return range->active.emplace(Number(address), bytes).second ? Answer::kDone : Answer::kTaken;
}

RegisteredMemory::Answer RegisteredMemory::Deactivate(const void* address, bool* out_in_range) {
  MutexLock lock(mutex_);
  Range* range = Find(Number(address), 0);
  *out_in_range = range != nullptr;
  return range != nullptr && range->active.erase(Number(address)) == 1 ? Answer::kDone : Answer::kUnknown;
}

RegisteredMemory::Range* RegisteredMemory::Find(uintptr_t address, size_t bytes) {
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return nullptr;
  auto& [base, range] = *std::prev(next);
  const size_t offset = address - base;
  return offset <= range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

}  // namespace millpond::comm
