// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/host_executor.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <thread>

#include "src/base/futex.h"
#include "src/base/mutex.h"
#include "src/base/thread_end.h"
#include "src/device/stream/scheduler.h"

namespace millpond {

namespace {
thread_local bool t_in_executor = false;
}

HostExecutor& HostExecutor::Get() {
  static auto& executor = *new HostExecutor;  // leaked: its threads outlive static destruction
  return executor;
}

HostExecutor& HostExecutor::ForExceptions() {
  static auto& executor = *new HostExecutor;
  return executor;
}

Status HostExecutor::Start() {
  MutexLock lock(mutex_);
  return threads_ > 0 ? Ok() : StartLocked();
}

Status HostExecutor::StartLocked() {
  MP_RETURN_IF_ERROR(StartThread("a thread for host functions", [this] { Loop(); }));
  ++threads_;
  ++idle_;
  return Ok();
}

bool HostExecutor::Post(Work* work) noexcept {
  {
    MutexLock lock(mutex_);
    if (idle_ <= queued_) {
      try {
        StartLocked().Ignore();  // the threads there are will come to it
      } catch (...) {            // NOLINT: no memory for the message
      }
      if (threads_ == 0) return false;
    }
    (first_ == nullptr ? first_ : last_->next_) = work;
    last_ = work;
    ++queued_;
  }
  wake_.NotifyOne();
  return true;
}

void HostExecutor::RunAndWait(Work* work) noexcept {
  struct Waited : Work {
    void Run() override { inner->Run(); }
    void Done() noexcept override {
      done.store(1, std::memory_order_release);
      FutexWake(&done, 1);  // of the address alone: the waiter may be gone by now
    }
    Work* inner = nullptr;
    std::atomic<uint32_t> done{0};
  } waited;
  waited.inner = work;
  if (t_in_executor || !Post(&waited)) {
    RunOne(&waited);
    return;
  }
  while (waited.done.load(std::memory_order_acquire) == 0) FutexWait(&waited.done, 0);
}

void HostExecutor::RunOne(Work* work) {
  try {
    work->Run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "millpond: a host function or callback threw %s; ignored\n", error.what());
  } catch (...) {
    if (ThreadEnds()) {
      work->Done();
      throw;
    }
    std::fprintf(stderr, "millpond: a host function or callback threw; ignored\n");
  }
  work->Done();
}

// The client's function ends our thread (pthread_exit): another takes its place.
void HostExecutor::ThreadLeaves() noexcept {
  MutexLock lock(mutex_);
  --threads_;
  if (threads_ > 0 && queued_ == 0) return;
  try {
    StartLocked().Ignore();  // Post tries again
  } catch (...) {            // NOLINT: no memory for the message
  }
}

void HostExecutor::Loop() {
  pthread_setname_np(pthread_self(), "mp-host");
  t_in_executor = true;
  UniqueLock lock(mutex_);
  while (first_ != nullptr || idle_ <= kKeptThreads) {
    while (first_ == nullptr) wake_.Wait(lock);
    --idle_;
    Work* const work = first_;
    first_ = work->next_;
    --queued_;
    lock.unlock();
    try {
      RunOne(work);
    } catch (...) {  // the thread ends: RunOne lets nothing else out
      ThreadLeaves();
      throw;
    }
    lock.lock();
    ++idle_;
  }
  --idle_;
  --threads_;
}

}  // namespace millpond
