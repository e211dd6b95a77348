// SPDX-License-Identifier: Apache-2.0
// Functions that clients register to hear of devices, streams and failed tasks. The doors wrap their own types of
// function; what is registered is kept here. Callbacks run with no lock held. Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_STATE_CALLBACKS_H_
#define MILLPOND_SRC_DEVICE_STATE_CALLBACKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/exception.h"

namespace millpond {

// Called in the order of registration.
template <class... Args>
class NamedCallbacks {
 public:
  using Function = std::function<void(Args...)>;

  // False when the name is taken.
  bool Add(const std::string& name, Function function) {
    MutexLock lock(mutex_);
    for (const Entry& entry : *list_) {
      if (entry.first == name) return false;
    }
    auto next = std::make_shared<List>(*list_);
    next->emplace_back(name, std::move(function));
    list_ = std::move(next);
    return true;
  }
  void Remove(const std::string& name) {
    MutexLock lock(mutex_);
    auto next = std::make_shared<List>(*list_);
    std::erase_if(*next, [&](const Entry& entry) { return entry.first == name; });
    list_ = std::move(next);
  }
  // Allocates nothing of its own: streams and contexts end here.
  void Tell(Args... args) const {
    std::shared_ptr<const List> list;
    {
      MutexLock lock(mutex_);
      list = list_;
    }
    for (const Entry& entry : *list) entry.second(args...);
  }

 private:
  using Entry = std::pair<std::string, Function>;
  using List = std::vector<Entry>;
  mutable Mutex mutex_;
  std::shared_ptr<const List> list_ GUARDED_BY(mutex_) = std::make_shared<List>();
};

// Around the making and unmaking of a device's primary context.
NamedCallbacks<int32_t, Device::Stage>& DeviceStateCallbacks();
// A stream, by its handle: after it is made (true), before it is destroyed (false).
NamedCallbacks<void*, bool>& StreamStateCallbacks();
// Before (true) and after (false) all tasks of a device are aborted, with the caller's timeout.
NamedCallbacks<int32_t, bool, uint32_t>& TaskAbortCallbacks();

// Tasks that failed asynchronously. One slot and a list, which are independent: a function in both is called twice.
class ExceptionCallbacks {
 public:
  using Function = std::function<void(const TaskException&)>;
  static ExceptionCallbacks& Get();

  Status SetSlot(Function function);               // empty: none
  Status Add(const void* key, Function function);  // a key that is there already stays as it is
  bool Remove(const void* key);                    // false: not registered

 private:
  Status Listen() REQUIRES(mutex_);
  void Dispatch(const TaskException& exception);

  Mutex mutex_;
  bool listening_ GUARDED_BY(mutex_) = false;
  Function slot_ GUARDED_BY(mutex_);
  std::vector<std::pair<const void*, Function>> list_ GUARDED_BY(mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STATE_CALLBACKS_H_
