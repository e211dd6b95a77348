// SPDX-License-Identifier: Apache-2.0
// Clients hold aclTensor* and the like and may pass us anything. Objects of one kind lie in one reserved range, so a
// pointer is judged without touching what it points to: in the range, at a slot's start, alive. Slots are reused,
// never unmapped.
#ifndef MILLPOND_SRC_API_ACLNN_ARENA_H_
#define MILLPOND_SRC_API_ACLNN_ARENA_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "src/base/spinlock.h"

namespace millpond::aclnn {

// T keeps its capacity between lives. One arena per T, never destroyed.
template <class T>
class Arena {
 public:
  static Arena& Get() {
    static auto* arena = new Arena;
    return *arena;
  }

  // Throws std::bad_alloc when kMaxObjects are alive. The object is as its last life left it.
  T* Create() {
    Shelf& shelf = ThreadShelf();
    if (shelf.count == 0) Refill(&shelf);
    Slot* slot = shelf.items[--shelf.count];
    slot->alive.store(true, std::memory_order_release);
    return &slot->object;
  }
  bool Alive(const T* object) const {
    const Slot* slot = SlotOf(object);
    return slot != nullptr && slot->alive.load(std::memory_order_acquire);
  }
  // False when it was not alive: a stranger's pointer, or destroyed before.
  bool Destroy(const T* object) {
    Slot* slot = SlotOf(object);
    if (slot == nullptr || !slot->alive.exchange(false, std::memory_order_acq_rel)) return false;
#if defined(__SANITIZE_ADDRESS__)
    slot->object = T();  // what it holds looks lost to the leak checker, which does not search the reserved range
#endif
    Shelf& shelf = ThreadShelf();
    if (shelf.count == kShelf) Spill(&shelf);
    shelf.items[shelf.count++] = slot;
    return true;
  }

 private:
  static constexpr size_t kMaxObjects = size_t{1} << 24U;
  static constexpr size_t kShelf = 64;

  struct Slot {
    T object;
    std::atomic<bool> alive{false};
  };
  struct Shelf {
    size_t count = 0;
    Slot* items[kShelf];
    ~Shelf() {
      Arena& arena = Get();
      std::lock_guard lock(arena.lock_);
      arena.spare_.insert(arena.spare_.end(), items, items + count);
      count = 0;
    }
  };

  Arena() {
    void* range = mmap(nullptr, kMaxObjects * sizeof(Slot), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::bad_alloc();
    madvise(range, kMaxObjects * sizeof(Slot), MADV_DONTDUMP);
    slots_ = static_cast<Slot*>(range);
  }

  Slot* SlotOf(const T* object) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(object) - reinterpret_cast<uintptr_t>(slots_);
    if (offset >= made_.load(std::memory_order_acquire) * sizeof(Slot) || offset % sizeof(Slot) != 0) return nullptr;
    return slots_ + offset / sizeof(Slot);
  }
  static Shelf& ThreadShelf() {
    static thread_local Shelf shelf;
    return shelf;
  }
  void Refill(Shelf* shelf) {
    std::lock_guard lock(lock_);
    for (; shelf->count < kShelf / 2; ++shelf->count) {
      if (!spare_.empty()) {
        shelf->items[shelf->count] = spare_.back();
        spare_.pop_back();
        continue;
      }
      const size_t made = made_.load(std::memory_order_relaxed);
      if (made == kMaxObjects) break;
      shelf->items[shelf->count] = ::new (static_cast<void*>(slots_ + made)) Slot;
      made_.store(made + 1, std::memory_order_release);
    }
    if (shelf->count == 0) throw std::bad_alloc();
  }
  void Spill(Shelf* shelf) {
    std::lock_guard lock(lock_);
    spare_.insert(spare_.end(), shelf->items + kShelf / 2, shelf->items + kShelf);
    shelf->count = kShelf / 2;
  }

  Slot* slots_;
  std::atomic<size_t> made_{0};
  SpinLock lock_;
  std::vector<Slot*> spare_;
};

}  // namespace millpond::aclnn

#endif  // MILLPOND_SRC_API_ACLNN_ARENA_H_
