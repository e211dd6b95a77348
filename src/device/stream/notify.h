// SPDX-License-Identifier: Apache-2.0
// Notifies: a word that one stream's task sets and another's waits for. A plain notify holds 0 or 1 and a wait takes
// the 1; a count notify holds any 32-bit count with richer ways to record and compare. The word may lie in memory
// shared with another process; waits then poll.
#ifndef MILLPOND_SRC_DEVICE_STREAM_NOTIFY_H_
#define MILLPOND_SRC_DEVICE_STREAM_NOTIFY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/hold_count.h"
#include "src/base/relaxed.h"
#include "src/base/spinlock.h"
#include "src/base/status.h"
#include "src/device/stream/task.h"

namespace millpond {

class Device;
class Stream;

// Values of aclrtCntNotifyRecordMode and aclrtCntNotifyWaitMode, fixed by the ABI.
enum class CountRecord : uint32_t { kSet = 0, kAdd = 1, kOr = 2, kAnd = 4 };
enum class CountWait : uint32_t { kLess = 0, kEqual = 1, kBigger = 2, kBiggerOrEqual = 3, kEqualWithMask = 4 };

class Notify {
 public:
  void Open(void* handle, Device* device);

  void* handle() const { return handle_; }
  Device* device() const { return device_; }
  uint32_t id() const { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(handle())); }

  Status Record(Stream* stream, CountRecord mode, uint32_t value);
  // Waits until the word compares; with `clear` it is then set to 0. `timeout_s` 0: for ever.
  Status Wait(Stream* stream, CountWait mode, uint32_t value, bool clear, uint32_t timeout_s);
  Status ResetOn(Stream* stream);
  void ResetNow();

  // Moves the word into shared memory (its present value along). `memory`, where it lies, is kept until the last task
  // is done.
  void Share(std::atomic<uint32_t>* word, std::shared_ptr<void> memory);
  bool shared() const { return shared_; }

  void Hold() { holds_.Hold(); }
  void Release();

 private:
  friend Status DestroyNotify(void* handle, bool counting);
  friend Status CreateNotify(Device* device, bool counting, void** out_handle);

  // `on` null: the host does it.
  void Apply(CountRecord mode, uint32_t value, const Stream* on);
  bool TryTake(CountWait mode, uint32_t value, bool clear);
  LaunchNote Note(trace::Edge::Kind kind, uint32_t timeout_s = 0) const;

  Relaxed<void*> handle_ = nullptr;
  Relaxed<Device*> device_ = nullptr;
  Relaxed<bool> counting_ = false;
  HoldCount holds_;
  std::atomic<uint32_t> local_{0};
  Relaxed<std::atomic<uint32_t>*> word_ = &local_;
  Relaxed<bool> shared_ = false;
  SpinLock lock_;  // guards what follows
  std::shared_ptr<void> shared_memory_ GUARDED_BY(lock_);
  std::vector<Stream*> waiters_ GUARDED_BY(lock_);
  uint64_t records_ GUARDED_BY(lock_) = 0;  // how many have taken effect
};

using NotifyTable = HandleTable<Notify, HandleKind::kNotify>;
NotifyTable& Notifies();
using CountNotifyTable = HandleTable<Notify, HandleKind::kCountNotify>;
CountNotifyTable& CountNotifies();

Status CreateNotify(Device* device, bool counting, void** out_handle);
Status DestroyNotify(void* handle, bool counting);
Status FindNotify(const void* handle, bool counting, Notify** out_notify);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_NOTIFY_H_
