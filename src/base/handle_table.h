// SPDX-License-Identifier: Apache-2.0
// Why encoded handles: a client may pass any bit pattern as a stream, event or context, twice, late or from
// another thread. A handle is (kind, generation, index); looking one up never dereferences what the client gave.
// Objects are never deallocated, only recycled oldest first, so that a race between use and destroy in the client
// reaches a wrong object at worst, never freed memory.
#ifndef MILLPOND_SRC_BASE_HANDLE_TABLE_H_
#define MILLPOND_SRC_BASE_HANDLE_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "src/base/assert.h"

namespace millpond {

// Distinct per kind so that an event passed as a stream is refused.
enum class HandleKind : uint8_t {
  kStream = 0x51,
  kEvent,
  kContext,
  kNotify,
  kCountNotify,
  kPhysical,
  kGraph,
  kGraphLane,
  kGraphTask,
  kTaskGroup,
  kCondition,
  kMemPool,
};

// T must be default-constructible. Safe from any thread; Find is lock-free.
template <class T, HandleKind kKind>
class HandleTable {
 public:
  static constexpr uint32_t kChunkSize = 256;
  static constexpr uint32_t kMaxChunks = 1024;

  HandleTable() = default;
  // Only tests destroy one: the runtime's tables live for ever.
  ~HandleTable() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_acquire);
  }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // Takes the object longest free (or a new one) and gives it a fresh handle. Null when the table is full.
  T* Create(void** out_handle) {
    std::lock_guard lock(mutex_);
    uint32_t index;
    if (free_.size() > kMinimumFree || (next_ == kChunkSize * kMaxChunks && !free_.empty())) {
      index = free_.front();
      free_.pop_front();
    } else if (next_ < kChunkSize * kMaxChunks) {
      index = next_;
      if (index % kChunkSize == 0) {  // before the count goes up: it may throw
        chunks_[index / kChunkSize].store(new Slot[kChunkSize], std::memory_order_release);
      }
      ++next_;
    } else {
      return nullptr;
    }
    Slot* slot = SlotAt(index);
    const uint64_t handle = Encode(index, ++slot->generation);
    slot->handle.store(handle, std::memory_order_release);
    live_.fetch_add(1, std::memory_order_relaxed);
    *out_handle = reinterpret_cast<void*>(handle);
    return &slot->object;
  }

  // Null for anything that is not a live handle of this table.
  T* Find(const void* handle) const {
    const uint64_t value = reinterpret_cast<uint64_t>(handle);
    if (value >> 56 != static_cast<uint64_t>(kKind)) return nullptr;
    const uint32_t index = static_cast<uint32_t>(value);
    if (index >= kChunkSize * kMaxChunks) return nullptr;
    Slot* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    Slot& slot = chunk[index % kChunkSize];
    return slot.handle.load(std::memory_order_acquire) == value ? &slot.object : nullptr;
  }

  // For those who keep a handle's index: the index, and the object there, whichever life it is in (null: none yet).
  static uint32_t IndexOf(const void* handle) { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(handle)); }
  T* At(uint32_t index) const {
    if (index >= kChunkSize * kMaxChunks) return nullptr;
    Slot* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    return chunk != nullptr ? &chunk[index % kChunkSize].object : nullptr;
  }

  // True for exactly one caller per handle; afterwards Find refuses it. The object stays usable until Recycle.
  bool Retire(const void* handle) {
    T* object = Find(handle);
    if (object == nullptr) return false;
    uint64_t expected = reinterpret_cast<uint64_t>(handle);
    Slot* slot = SlotAt(static_cast<uint32_t>(expected));
    if (!slot->handle.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) return false;
    live_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  // Gives the object of a retired handle back for reuse.
  void Recycle(const void* retired_handle) {
    std::lock_guard lock(mutex_);
    free_.push_back(static_cast<uint32_t>(reinterpret_cast<uint64_t>(retired_handle)));
  }

  uint32_t live() const { return live_.load(std::memory_order_relaxed); }

  // Calls visit(handle, object) for each live object. Objects created or destroyed meanwhile may be missed or seen.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (uint32_t chunk = 0; chunk < kMaxChunks; ++chunk) {
      Slot* slots = chunks_[chunk].load(std::memory_order_acquire);
      if (slots == nullptr) return;
      for (uint32_t i = 0; i < kChunkSize; ++i) {
        if (const uint64_t handle = slots[i].handle.load(std::memory_order_acquire)) {
          visit(reinterpret_cast<void*>(handle), slots[i].object);
        }
      }
    }
  }

 private:
  // Handles rest this long before reuse, so that a stale one is refused rather than answered.
  static constexpr size_t kMinimumFree = 64;

  struct Slot {
    std::atomic<uint64_t> handle{0};
    uint32_t generation = 0;
    T object;
  };

  // Bits: 63..56 kind, 55..32 generation, 31..0 index.
  static uint64_t Encode(uint32_t index, uint32_t generation) {
    return static_cast<uint64_t>(kKind) << 56 | static_cast<uint64_t>(generation & 0xFFFFFF) << 32 | index;
  }
  Slot* SlotAt(uint32_t index) const {
    Slot* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    MP_ASSERT(chunk != nullptr);
    return &chunk[index % kChunkSize];
  }

  std::mutex mutex_;
  std::deque<uint32_t> free_;
  uint32_t next_ = 0;
  std::atomic<uint32_t> live_{0};
  std::atomic<Slot*> chunks_[kMaxChunks] = {};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HANDLE_TABLE_H_
