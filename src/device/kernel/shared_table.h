// SPDX-License-Identifier: Apache-2.0
// Handles of objects that tasks and callers share: a lookup never follows what the client passed, and what it finds
// stays alive for whoever found it, though the client gives the handle up meanwhile.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_SHARED_TABLE_H_
#define MILLPOND_SRC_DEVICE_KERNEL_SHARED_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "src/base/handle_table.h"
#include "src/base/mutex.h"

namespace millpond {

template <class T, HandleKind kKind>
class SharedTable {
 public:
  void* Add(std::shared_ptr<T> object) {
    MutexLock lock(mutex_);
    const uint64_t handle = static_cast<uint64_t>(kKind) << 56 | ++last_;
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<void*>(handle);
  }
  // Under a handle of the client's own choice: memory that it keeps. Replaces what was there.
  void Put(void* handle, std::shared_ptr<T> object) {
    MutexLock lock(mutex_);
    std::swap(objects_[reinterpret_cast<uint64_t>(handle)], object);
  }
  std::shared_ptr<T> Find(const void* handle) const {
    MutexLock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uint64_t>(handle));
    return found != objects_.end() ? found->second : nullptr;
  }
  // The object, for exactly one caller; null when the handle is none.
  std::shared_ptr<T> Remove(const void* handle) {
    MutexLock lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<uint64_t>(handle));
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  // Drops what `drop(object)` says. Objects end outside of the lock.
  template <class Drop>
  void RemoveIf(const Drop& drop) {
    std::map<uint64_t, std::shared_ptr<T>> dropped;
    MutexLock lock(mutex_);
    for (auto at = objects_.begin(); at != objects_.end();) {
      const auto here = at++;
      if (drop(*here->second)) dropped.insert(objects_.extract(here));
    }
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return objects_.size();
  }

 private:
  mutable Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<T>> objects_ GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_SHARED_TABLE_H_
