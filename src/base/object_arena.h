// SPDX-License-Identifier: Apache-2.0
// Objects that clients hold by pointer, created and destroyed at every launch, where live_set.h would cost too
// much. Clients may pass anything: objects of one kind are in one reserved range, so a pointer is validated without
// touching what it points to: in the range, at a slot's start, alive. Slots are reused, never unmapped.
#ifndef MILLPOND_SRC_BASE_OBJECT_ARENA_H_
#define MILLPOND_SRC_BASE_OBJECT_ARENA_H_

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "src/base/mutex.h"
#include "src/base/spinlock.h"

namespace millpond {

// T keeps its capacity when reused. One arena per T, never destroyed.
template <class T>
class ObjectArena {
 public:
  // Not from the heap, so that only an address space that is full can keep it from being made (std::bad_alloc).
  static ObjectArena& Get() {
    alignas(ObjectArena) static std::byte home[sizeof(ObjectArena)];
    static ObjectArena& arena = *new (home) ObjectArena;
    return arena;
  }

  // Throws std::bad_alloc when kMaxObjects are alive. The object is as its previous user left it.
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
  // False when it was not alive: a foreign pointer, or already destroyed.
  bool Destroy(const T* object) noexcept {
    if (!Retire(object)) return false;
    Recycle(object);
    return true;
  }
  // Destroy in two steps, for whoever has something to end in between: true for exactly one caller, who then recycles.
  bool Retire(const T* object) noexcept {
    Slot* slot = SlotOf(object);
    return slot != nullptr && slot->alive.exchange(false, std::memory_order_acq_rel);
  }
  void Recycle(const T* retired) noexcept {
    Slot* slot = SlotOf(retired);
#if defined(__SANITIZE_ADDRESS__)
    slot->object = T();  // the leak checker does not scan the reserved range, so what it holds would look leaked
#endif
    Shelf& shelf = ThreadShelf();
    if (shelf.count == kShelf) Spill(&shelf, kShelf / 2);
    shelf.items[shelf.count++] = slot;
  }

 private:
  static constexpr size_t kMaxObjects = size_t{1} << 24U;
  static constexpr size_t kShelf = 64;

  struct Slot {
    T object;
    std::atomic<bool> alive{false};
    Slot* next_spare = nullptr;
  };
  struct Shelf {
    size_t count = 0;
    Slot* items[kShelf];
    ~Shelf() {
      if (count != 0) Get().Spill(this, 0);
    }
  };

  ObjectArena() {
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
    MutexLock lock(lock_);
    for (; shelf->count < kShelf / 2; ++shelf->count) {
      if (spare_ != nullptr) {
        shelf->items[shelf->count] = spare_;
        spare_ = spare_->next_spare;
        continue;
      }
      const size_t made = made_.load(std::memory_order_relaxed);
      if (made == kMaxObjects) break;
      shelf->items[shelf->count] = ::new (static_cast<void*>(slots_ + made)) Slot;
      made_.store(made + 1, std::memory_order_release);
    }
    if (shelf->count == 0) throw std::bad_alloc();
  }
  // Allocates nothing: threads end here.
  void Spill(Shelf* shelf, size_t left) noexcept {
    MutexLock lock(lock_);
    while (shelf->count > left) {
      Slot* slot = shelf->items[--shelf->count];
      slot->next_spare = spare_;
      spare_ = slot;
    }
  }

  Slot* slots_;
  std::atomic<size_t> made_{0};
  SpinLock lock_;
  Slot* spare_ GUARDED_BY(lock_) = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_OBJECT_ARENA_H_
