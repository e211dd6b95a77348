// SPDX-License-Identifier: Apache-2.0
// Threads of the runtime's own for the client's code: host functions and exception callbacks. Never workers, because
// a host function may block for as long as it likes, and never a thread of the client.
#ifndef MILLPOND_SRC_DEVICE_STREAM_HOST_EXECUTOR_H_
#define MILLPOND_SRC_DEVICE_STREAM_HOST_EXECUTOR_H_

#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond {

class HostExecutor {
 public:
  // Something to run once. Queued through itself, so that queueing allocates nothing.
  class Work {
   public:
    virtual ~Work() = default;
    // The client's code. What it throws is told on stderr; it may even end its thread (pthread_exit).
    virtual void Run() = 0;
    // Comes after Run, however that ended, and may delete the work: the executor does not touch it any more.
    virtual void Done() noexcept {}

   private:
    friend class HostExecutor;
    Work* next_ = nullptr;
  };

  static HostExecutor& Get();
  // Threads of its own: host functions may fill all of Get()'s while they wait for the very stream that failed.
  static HostExecutor& ForExceptions();

  // A thread exists from now on. Called before work is accepted, where a failure can be told.
  Status Start();
  // Runs `work` soon. False, and nothing is queued, when there is no thread and none can be started.
  bool Post(Work* work) noexcept;
  // Returns when it has run. On one of these threads, or with none to be had, it runs here.
  void RunAndWait(Work* work) noexcept;

 private:
  // One thread at first; another when all are busy, so that host functions which wait for each other's effects end: a
  // stream has one at a time, so there are never more than streams. This many stay when all is done.
  static constexpr int kKeptThreads = 8;
  Status StartLocked() REQUIRES(mutex_);
  void Loop();
  static void RunOne(Work* work);
  void ThreadLeaves() noexcept;

  Mutex mutex_;
  CondVar wake_;
  Work* first_ GUARDED_BY(mutex_) = nullptr;
  Work* last_ GUARDED_BY(mutex_) = nullptr;
  int queued_ GUARDED_BY(mutex_) = 0;
  int threads_ GUARDED_BY(mutex_) = 0;
  int idle_ GUARDED_BY(mutex_) = 0;  // threads that run no work
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_HOST_EXECUTOR_H_
