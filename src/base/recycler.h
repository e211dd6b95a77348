// SPDX-License-Identifier: Apache-2.0
// For objects created and destroyed frequently, often on different threads: each thread caches a few, a shared
// list takes the rest. Nothing is ever returned to the system, so a late user of a dead object still reads an object.
#ifndef MILLPOND_SRC_BASE_RECYCLER_H_
#define MILLPOND_SRC_BASE_RECYCLER_H_

#include <cstddef>
#include <new>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/spinlock.h"

namespace millpond {

// pre: one Recycler per T and process, never destroyed.
template <class T>
class Recycler {
 public:
  T* Take() {
    Shelf& shelf = ThreadShelf();
    if (shelf.count == 0 && !Refill(&shelf)) return new T;
    return shelf.items[--shelf.count];
  }
  void Put(T* item) noexcept {
    Shelf& shelf = ThreadShelf();
    if (shelf.count == kShelf) Spill(&shelf, kShelf / 2);
    shelf.items[shelf.count++] = item;
  }

 private:
  static constexpr size_t kShelf = 32;
  struct Shelf {
    size_t count = 0;
    T* items[kShelf];
    Recycler* owner = nullptr;
    ~Shelf() {
      if (owner != nullptr) owner->Spill(this, 0);
    }
  };

  Shelf& ThreadShelf() {
    static thread_local Shelf shelf;
    shelf.owner = this;
    return shelf;
  }
  bool Refill(Shelf* shelf) {
    MutexLock lock(lock_);
    while (shelf->count < kShelf / 2 && !spare_.empty()) {
      shelf->items[shelf->count++] = spare_.back();
      spare_.pop_back();
    }
    return shelf->count != 0;
  }
  // Tasks and threads end here, so nothing may fail: with no memory for the list the objects are left lying, as every
  // object here is in the end.
  void Spill(Shelf* shelf, size_t left) noexcept {
    MutexLock lock(lock_);
    try {
      spare_.insert(spare_.end(), shelf->items + left, shelf->items + shelf->count);
    } catch (const std::bad_alloc&) {
    }
    shelf->count = left;
  }

  SpinLock lock_;
  std::vector<T*> spare_ GUARDED_BY(lock_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_RECYCLER_H_
