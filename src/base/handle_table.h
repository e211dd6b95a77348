// SPDX-License-Identifier: Apache-2.0
// Why encoded handles: a client may pass any bit pattern as a stream, event or context, twice, late or from
// another thread. A handle is (kind, generation, index); a lookup never dereferences what the client passed.
// Objects are never deallocated, only recycled oldest first, so that a client's race between use and destroy
// reaches the wrong object at worst, never freed memory.
#ifndef MILLPOND_SRC_BASE_HANDLE_TABLE_H_
#define MILLPOND_SRC_BASE_HANDLE_TABLE_H_

#include <atomic>
#include <cstdint>

#include "src/base/assert.h"
#include "src/base/mutex.h"

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
  kKernelImage,
  kKernelBinary,
  kKernel,
  kKernelArguments,
  kPicture,
  kPictureBatch,
  kPictureArea,
  kResizing,
  kBordering,
  kJpegSettings,
  kMediaChannel,
};

// T must be default-constructible. Safe from any thread; Find is lock-free.
template <class T, HandleKind kKind>
class HandleTable {
 public:
  static constexpr uint32_t kChunkSize = 256;
  static constexpr uint32_t kMaxChunks = 1024;

  HandleTable() = default;
  // Only tests destroy one: the runtime's tables are never destroyed.
  ~HandleTable() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_acquire);
  }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // Takes the least recently freed object (or a new one) and gives it a fresh handle. Null when the table is full.
  T* Create(void** out_handle) {
    MutexLock lock(mutex_);
    uint32_t index;
    if (free_count_ > kMinimumFree || (next_ == kChunkSize * kMaxChunks && free_count_ != 0)) {
      index = free_first_;
      free_first_ = SlotAt(index)->next_free;
      --free_count_;
    } else if (next_ < kChunkSize * kMaxChunks) {
      index = next_;
      if (index % kChunkSize == 0) {  // before the count is incremented: it may throw
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

  // For callers that store a handle's index: the index, and the object there, whatever its generation (null: none yet).
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

  // Returns the object of a retired handle for reuse. Never fails: it is called when a task ends, from destructors.
  void Recycle(const void* retired_handle) noexcept {
    MutexLock lock(mutex_);
    const uint32_t index = IndexOf(retired_handle);
    if (free_count_++ == 0) {
      free_first_ = index;
    } else {
      SlotAt(free_last_)->next_free = index;
    }
    free_last_ = index;
  }

  uint32_t live() const { return live_.load(std::memory_order_relaxed); }

  // Calls visit(handle, object) for each live object. Objects created or destroyed meanwhile may or may not be seen.
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const std::atomic<Slot*>& chunk : chunks_) {
      Slot* slots = chunk.load(std::memory_order_acquire);
      if (slots == nullptr) return;
      for (uint32_t i = 0; i < kChunkSize; ++i) {
        if (const uint64_t handle = slots[i].handle.load(std::memory_order_acquire)) {
          visit(reinterpret_cast<void*>(handle), slots[i].object);
        }
      }
    }
  }

 private:
  // Slots stay unused this long, so that a stale handle is refused rather than resolved.
  static constexpr size_t kMinimumFree = 64;

  struct Slot {
    std::atomic<uint64_t> handle{0};
    uint32_t generation = 0;
    uint32_t next_free = 0;  // guarded by mutex_; means something while another free slot comes after this one
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

  Mutex mutex_;
  // Free slots, the oldest first: a list through the slots.
  uint32_t free_first_ GUARDED_BY(mutex_) = 0;
  uint32_t free_last_ GUARDED_BY(mutex_) = 0;
  size_t free_count_ GUARDED_BY(mutex_) = 0;
  uint32_t next_ GUARDED_BY(mutex_) = 0;
  std::atomic<uint32_t> live_{0};
  std::atomic<Slot*> chunks_[kMaxChunks] = {};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HANDLE_TABLE_H_
