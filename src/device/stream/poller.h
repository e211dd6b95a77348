// SPDX-License-Identifier: Apache-2.0
// One thread that looks again: at streams whose task waits for a value in memory that anybody may write, and at
// deadlines of waits. It only calls Stream::Unblock; the task itself checks.
//
// One entry per stream: a deadline that lies half an hour ahead must not pile up once per wait, so a task asks anew
// each time it blocks, and what it asked before is kept only if it comes sooner.
#ifndef MILLPOND_SRC_DEVICE_STREAM_POLLER_H_
#define MILLPOND_SRC_DEVICE_STREAM_POLLER_H_

#include "src/base/futex.h"
#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond {

class Stream;

class Poller {
 public:
  static Poller& Get();
  // Its thread exists from now on; called before a stream does, so that nothing below can fail.
  Status Start();
  // Unblocks the stream within about a millisecond, sooner at first.
  void Soon(Stream* stream);
  // Unblocks it at or after the deadline.
  void At(Stream* stream, Clock::time_point deadline);
  // Something was written that a waiting stream may be looking for.
  void Kick();
  // A thread of the client's ends, `main` or another: is it the last one (last_thread.h)?
  void LookForTheEnd(bool main);

 private:
  void Add(Stream* stream, Clock::time_point due, bool polling) REQUIRES(mutex_);
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  Stream* first_ GUARDED_BY(mutex_) = nullptr;                                      // a list through Stream::poll_place
  Clock::time_point sleeping_until_ GUARDED_BY(mutex_) = Clock::time_point::min();  // min: awake
  Clock::duration pause_ GUARDED_BY(mutex_) = std::chrono::microseconds(20);
  bool running_ GUARDED_BY(mutex_) = false;
  bool thread_ended_ GUARDED_BY(mutex_) = false;
  bool main_leaves_ GUARDED_BY(mutex_) = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_POLLER_H_
