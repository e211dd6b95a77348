// SPDX-License-Identifier: Apache-2.0
// Objects that are made and ended all the time, often on different threads: each thread keeps a few, a shared list
// takes the rest. Nothing is ever given back to the system, so a late user of an ended object reads an object.
#ifndef MILLPOND_SRC_BASE_RECYCLER_H_
#define MILLPOND_SRC_BASE_RECYCLER_H_

#include <cstddef>
#include <mutex>
#include <vector>

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
  void Put(T* item) {
    Shelf& shelf = ThreadShelf();
    if (shelf.count == kShelf) Spill(&shelf);
    shelf.items[shelf.count++] = item;
  }

 private:
  static constexpr size_t kShelf = 32;
  struct Shelf {
    size_t count = 0;
    T* items[kShelf];
    Recycler* owner = nullptr;
    ~Shelf() {
      if (owner == nullptr) return;
      std::lock_guard lock(owner->lock_);
      owner->spare_.insert(owner->spare_.end(), items, items + count);
      count = 0;
    }
  };

  Shelf& ThreadShelf() {
    static thread_local Shelf shelf;
    shelf.owner = this;
    return shelf;
  }
  bool Refill(Shelf* shelf) {
    std::lock_guard lock(lock_);
    while (shelf->count < kShelf / 2 && !spare_.empty()) {
      shelf->items[shelf->count++] = spare_.back();
      spare_.pop_back();
    }
    return shelf->count != 0;
  }
  void Spill(Shelf* shelf) {
    std::lock_guard lock(lock_);
    spare_.insert(spare_.end(), shelf->items + kShelf / 2, shelf->items + kShelf);
    shelf->count = kShelf / 2;
  }

  SpinLock lock_;
  std::vector<T*> spare_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_RECYCLER_H_
