// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/notify.h"

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/stream/held.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {

using NotifyHold = Held<Notify>;

bool Compares(CountWait mode, uint32_t word, uint32_t value) {
  switch (mode) {
    case CountWait::kLess:
      return word < value;
    case CountWait::kEqual:
      return word == value;
    case CountWait::kBigger:
      return word > value;
    case CountWait::kBiggerOrEqual:
      return word >= value;
    case CountWait::kEqualWithMask:
      return (word & value) == value;
  }
  return false;
}

}  // namespace

NotifyTable& Notifies() {
  static auto& table = *new NotifyTable;
  return table;
}

CountNotifyTable& CountNotifies() {
  static auto& table = *new CountNotifyTable;
  return table;
}

Status CreateNotify(Device* device, bool counting, void** out_handle) {
  const uint32_t limit = device->profile().max_notifies;
  if (device->live_notifies.fetch_add(1, std::memory_order_relaxed) >= limit) {
    device->live_notifies.fetch_sub(1, std::memory_order_relaxed);
    return Status(Code::kNoNotify,
                  Format("device %d has its %u notifies in use; destroy some first", device->id(), limit));
  }
  Notify* notify = counting ? CountNotifies().Create(out_handle) : Notifies().Create(out_handle);
  if (notify == nullptr) {
    device->live_notifies.fetch_sub(1, std::memory_order_relaxed);
    return Status(Code::kNoNotify, "the process has too many live notifies; destroy some first");
  }
  notify->Open(*out_handle, device);
  notify->counting_ = counting;
  trace::TellObject(true, counting ? trace::ObjectKind::kCountNotify : trace::ObjectKind::kNotify, device->id(),
                    *out_handle);
  return Ok();
}

Status DestroyNotify(void* handle, bool counting) {
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, counting, &notify));
  Device* device = notify->device();
  const bool mine = counting ? CountNotifies().Retire(handle) : Notifies().Retire(handle);
  MP_CHECK(mine, kInvalidHandle, "notify %p was destroyed by another thread", handle);
  device->live_notifies.fetch_sub(1, std::memory_order_relaxed);
  trace::TellObject(false, counting ? trace::ObjectKind::kCountNotify : trace::ObjectKind::kNotify, device->id(),
                    handle);
  notify->Release();
  return Ok();
}

Status FindNotify(const void* handle, bool counting, Notify** out_notify) {
  MP_REQUIRE(handle != nullptr, "notify is null");
  *out_notify = counting ? CountNotifies().Find(handle) : Notifies().Find(handle);
  MP_CHECK(*out_notify != nullptr, kInvalidHandle,
           "notify %p is not a live notify: it was never created, or was destroyed", handle);
  return Ok();
}

void Notify::Open(void* handle, Device* device) {
  handle_ = handle;
  device_ = device;
  local_ = 0;
  word_ = &local_;
  shared_ = false;
  MutexLock lock(lock_);
  waiters_.clear();
  records_ = 0;
  holds_.Open();
}

void Notify::Release() {
  if (!holds_.Release()) return;
  std::shared_ptr<void> memory;  // ends outside the lock
  {
    MutexLock lock(lock_);
    word_ = &local_;
    memory.swap(shared_memory_);
  }
  if (counting_) {
    CountNotifies().Recycle(handle_);
  } else {
    Notifies().Recycle(handle_);
  }
}

void Notify::Share(std::atomic<uint32_t>* word, std::shared_ptr<void> memory) {
  MutexLock lock(lock_);
  if (word_->load(std::memory_order_acquire) != 0) word->store(1, std::memory_order_release);
  word_ = word;
  shared_memory_.swap(memory);
  shared_ = true;
}

void Notify::Apply(CountRecord mode, uint32_t value, const Stream* on) {
  std::vector<Stream*> waiters;
  {
    MutexLock lock(lock_);
    trace::TellSignal(trace::Signal::Kind::kRaised, trace::Link::kNotify, reinterpret_cast<uint64_t>(handle()),
                      ++records_, on != nullptr ? on->id() : -1, on != nullptr ? on->running_count() : 0);
    switch (mode) {
      case CountRecord::kSet:
        word_->store(value, std::memory_order_release);
        break;
      case CountRecord::kAdd:
        word_->fetch_add(value, std::memory_order_acq_rel);
        break;
      case CountRecord::kOr:
        word_->fetch_or(value, std::memory_order_acq_rel);
        break;
      case CountRecord::kAnd:
        word_->fetch_and(value, std::memory_order_acq_rel);
        break;
    }
    waiters.swap(waiters_);
  }
  for (Stream* waiter : waiters) waiter->Unblock();
}

bool Notify::TryTake(CountWait mode, uint32_t value, bool clear) {
  uint32_t word = word_->load(std::memory_order_acquire);
  while (Compares(mode, word, value)) {
    if (!clear || word_->compare_exchange_weak(word, 0, std::memory_order_acq_rel)) return true;
  }
  return false;
}

LaunchNote Notify::Note(trace::Edge::Kind kind, uint32_t timeout_s) const {
  return LaunchNote::Of({.kind = kind,
                         .link = trace::Link::kNotify,
                         .binds_when_run = true,
                         .id = reinterpret_cast<uint64_t>(handle()),
                         .generation = 0,
                         .may_end_otherwise = shared_ || counting_ || timeout_s != 0});
}

Status Notify::Record(Stream* stream, CountRecord mode, uint32_t value) {
  return stream->Launch<TaskKind::kNotifyRecord>(
      "NotifyRecord", {},
      [this, hold = NotifyHold(this), mode, value](TaskSlot&, Stream& self, Status*) -> TaskEnd {
        Apply(mode, value, &self);
        return TaskEnd::kDone;
      },
      [&] { return Note(trace::Edge::Kind::kRecord); });
}

Status Notify::Wait(Stream* stream, CountWait mode, uint32_t value, bool clear, uint32_t timeout_s) {
  return stream->Launch<TaskKind::kNotifyWait>(
      "NotifyWait", {},
      [this, hold = NotifyHold(this), mode, value, clear, timeout_s, deadline = Clock::time_point()](
          TaskSlot& slot, Stream& self, Status* out_status) mutable -> TaskEnd {
        {
          MutexLock lock(lock_);
          std::erase(waiters_, &self);
          if (TryTake(mode, value, clear)) {
            trace::TellSignal(trace::Signal::Kind::kMet, trace::Link::kNotify, reinterpret_cast<uint64_t>(handle()),
                              records_, self.id(), self.running_count());
            return TaskEnd::kDone;
          }
          try {
            waiters_.push_back(&self);
          } catch (const std::bad_alloc&) {  // it must wait all the same, and looks again by and by
            Poller::Get().Soon(&self);
          }
        }
        if (slot.phase++ == 0) {
          deadline = Clock::now() + std::chrono::seconds(timeout_s);
        } else if (timeout_s != 0 && Clock::now() >= deadline) {
          MutexLock lock(lock_);
          std::erase(waiters_, &self);
          *out_status = Status(Code::kWaitTimeout, Format("notify %u was not recorded within %u s", id(), timeout_s));
          return TaskEnd::kDone;
        }
        if (timeout_s != 0) Poller::Get().At(&self, deadline);
        if (shared_) Poller::Get().Soon(&self);
        return TaskEnd::kBlocked;
      },
      [&] { return Note(trace::Edge::Kind::kWait, timeout_s); });
}

Status Notify::ResetOn(Stream* stream) {
  return stream->Launch<TaskKind::kNotifyRecord>(
      "NotifyReset", {},
      [this, hold = NotifyHold(this)](TaskSlot&, Stream& self, Status*) -> TaskEnd {
        Apply(CountRecord::kSet, 0, &self);
        return TaskEnd::kDone;
      },
      [&] { return Note(trace::Edge::Kind::kReset); });
}

void Notify::ResetNow() { Apply(CountRecord::kSet, 0, nullptr); }

}  // namespace millpond
