// SPDX-License-Identifier: Apache-2.0
// How a stream is waited for, what the waiting learns of its failures, and how it is aborted.
#include <algorithm>
#include <new>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/scheduler.h"
#include "src/device/stream/stream.h"

namespace millpond {

void Stream::Publish(uint64_t completed) {
  // Sequentially consistent against AddWaiter: either we see the waiter's target, or it sees our count.
  completed_.exchange(completed, std::memory_order_seq_cst);
  if (__builtin_expect(next_wake_.load(std::memory_order_seq_cst) <= completed, false)) WakeWaiters(completed);
}

void Stream::WakeWaiters(uint64_t completed) {
  // In rounds of a few, so that nothing is allocated on a path between two streams.
  constexpr size_t kRound = 8;
  for (bool more = true; more;) {
    Waiter due[kRound];
    size_t count = 0;
    {
      MutexLock lock(waiters_lock_);
      uint64_t next = kNever;
      more = false;
      std::erase_if(waiters_, [&](const Waiter& waiter) {
        if (waiter.target > completed) {
          next = std::min(next, waiter.target);
        } else if (count < kRound) {
          due[count++] = waiter;
          return true;
        } else {
          more = true;
        }
        return false;
      });
      next_wake_.store(more ? completed : next, std::memory_order_seq_cst);
    }
    for (size_t i = 0; i < count; ++i) {
      if (due[i].stream != nullptr) {
        due[i].stream->Unblock();
      } else {
        due[i].thread->store(1, std::memory_order_release);
        FutexWake(due[i].thread, 1);
      }
    }
  }
}

bool Stream::AddWaiter(Waiter waiter) {
  MutexLock lock(waiters_lock_);
  if (next_wake_.load(std::memory_order_relaxed) > waiter.target) {
    next_wake_.exchange(waiter.target, std::memory_order_seq_cst);
  }
  if (completed_.load(std::memory_order_seq_cst) >= waiter.target) return false;
  waiters_.push_back(waiter);
  return true;
}

bool Stream::AddStreamWaiter(Stream* waiter, uint64_t target) {
  try {
    return AddWaiter({.target = target, .stream = waiter, .thread = nullptr});
  } catch (const std::bad_alloc&) {  // it must wait all the same: order is what was asked for
    Poller::Get().Soon(waiter);
    return true;
  }
}

void Stream::RemoveStreamWaiter(Stream* waiter) {
  MutexLock lock(waiters_lock_);
  std::erase_if(waiters_, [&](const Waiter& entry) { return entry.stream == waiter; });
}

bool Stream::AddThreadWaiter(std::atomic<uint32_t>* word, uint64_t target) {
  return AddWaiter({.target = target, .stream = nullptr, .thread = word});
}

void Stream::RemoveThreadWaiter(std::atomic<uint32_t>* word) {
  bool found = false;
  {
    MutexLock lock(waiters_lock_);
    found = std::erase_if(waiters_, [&](const Waiter& entry) { return entry.thread == word; }) != 0;
  }
  // Not there: a runner has taken it and is about to write the word, which must not vanish before.
  while (!found && word->load(std::memory_order_acquire) == 0) CpuRelax();
}

Status Stream::WaitFor(uint64_t target, Deadline deadline, Code timeout_code, trace::WaitKind kind) {
  MP_RETURN_IF_ERROR(Await(target, deadline, timeout_code));
  TellReached(target, kind);
  return Ok();
}

Status Stream::Await(uint64_t target, Deadline deadline, Code timeout_code) {
  if (completed() >= target) return Ok();
  MP_CHECK(!InTask(), kInternal, "a task may not wait for a stream");
  if (__builtin_expect(!deadline && trace::Wants(trace::kHost), false)) EndIfEndless(target);
  if (Scheduler::Get().Wait(this, target, deadline)) return Ok();
  return Status(timeout_code, Format("stream %d has not finished in the time given: %llu of %llu tasks are left", id(),
                                     static_cast<unsigned long long>(target - std::min(target, completed())),
                                     static_cast<unsigned long long>(target)));
}

Status Stream::Synchronize(Deadline deadline, Code timeout_code, trace::WaitKind kind) {
  MP_RETURN_IF_ERROR(WaitFor(enqueued(), deadline, timeout_code, kind));
  MP_RETURN_IF_ERROR(TakeError());
  // Clients that missed the failure, or whose launches were refused, must not take old data for results.
  MP_CHECK(
      !stopped_ && (context() == nullptr || !context()->failed()), kTaskFailed,
      "stream %d was stopped: a task failed in its context, whose failure mode is stop; destroy the context or reset "
      "the device%s",
      id(), WhatStopped().c_str());
  return Ok();
}

std::string Stream::WhatStopped() const {
  std::string text;
  Streams().ForEach([&](void*, Stream& stream) {
    if (text.empty() && stream.context() == context()) text = stream.OwnFailure();
  });
  return text;
}

std::string Stream::OwnFailure() const {
  MutexLock lock(error_lock_);
  if (failure_.code == Code::kOk || failure_.task == nullptr) return stopped_by_;
  return Format("; task %s (#%u of stream %d): %s", failure_.task, failure_.number, id(),
                failure_.status.ok() ? "it failed" : failure_.status.message().c_str());
}

Status Stream::TakeError() {
  Failure failure;
  {
    MutexLock lock(error_lock_);
    failure = std::exchange(failure_, {});
  }
  if (failure.code == Code::kOk) return Ok();
  try {
    Status told = TextOf(&failure);
    if (stopped_) {
      std::string text = "; " + told.message();
      MutexLock lock(error_lock_);
      stopped_by_ = std::move(text);
    }
    return told;
  } catch (const std::bad_alloc&) {  // kept for whoever asks when there is memory again
    MutexLock lock(error_lock_);
    if (failure_.code == Code::kOk) failure_ = std::move(failure);
    throw;
  }
}

Status Stream::TextOf(Failure* failure) const {
  if (failure->status.ok()) {
    failure->status = Status(
        failure->code, failure->code == Code::kHostOutOfMemory
                           ? "the host ran out of memory while it ran; free host memory or raise the process's limit"
                           : "it failed, and the host had no memory left to keep the reason");
  }
  if (failure->task == nullptr) return std::move(failure->status);
  return std::move(failure->status)
      .Prefixed(Format("task %s (#%u of stream %d, device %d)", failure->task, failure->number, id(), device()->id()));
}

bool Stream::Poll(uint64_t target) {
  if (completed() >= target) return true;
  Scheduler::Get().Polled(this);
  return completed() >= target;
}

Status Stream::Abort(Status reason) {
  MP_CHECK(!InTask(), kInternal, "a task may not abort a stream");
  const uint64_t target = enqueued();
  if (completed() >= target) {
    aborts_.fetch_add(1, std::memory_order_release);
    TellReached(target, trace::WaitKind::kStream);
    return Ok();
  }
  {
    // Before anything is dropped, so that a thread already synchronising learns of it. An abort that is still under
    // way (by another thread) and this one are one range.
    MutexLock lock(error_lock_);
    const uint64_t done = completed();
    if (done < target) {
      if (done >= aborted_to_) aborted_from_ = done;
      aborted_to_ = std::max(aborted_to_, target);
      if (failure_.code == Code::kOk) {
        const Code code = reason.code();
        failure_ = {code, std::move(reason), nullptr, 0};
      }
    }
  }
  uint64_t until = abort_until_.load(std::memory_order_seq_cst);
  while (until < target && !abort_until_.compare_exchange_weak(until, target, std::memory_order_seq_cst)) {
  }
  aborts_.fetch_add(1, std::memory_order_release);  // after the reason, which whoever sees this asks for
  Unblock();
  const bool finished = Scheduler::Get().Wait(this, target, std::nullopt);
  MP_ASSERT(finished);
  trace::TellSignal(trace::Signal::Kind::kPassed, trace::Link::kPoint, static_cast<uint64_t>(id()), target, id(),
                    target);
  TellReached(target, trace::WaitKind::kStream);  // what was dropped uses nothing any more
  return Ok();
}

bool Stream::WasAborted(uint64_t target) const {
  MutexLock lock(error_lock_);
  return target > aborted_from_ && target <= aborted_to_;
}

}  // namespace millpond
