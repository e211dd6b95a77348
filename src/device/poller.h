// SPDX-License-Identifier: Apache-2.0
// One thread that looks again: at streams whose task waits for a value in memory that anybody may write, and at
// deadlines of waits. It only calls Stream::Unblock; the task itself checks.
//
// One entry per stream: a deadline that lies half an hour ahead must not pile up once per wait, so a task asks anew
// each time it blocks, and what it asked before is kept only if it comes sooner.
#ifndef MILLPOND_SRC_DEVICE_POLLER_H_
#define MILLPOND_SRC_DEVICE_POLLER_H_

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "src/base/futex.h"

namespace millpond {

class Stream;

class Poller {
 public:
  static Poller& Get();
  // Unblocks the stream within about a millisecond, sooner at first.
  void Soon(Stream* stream);
  // Unblocks it at or after the deadline.
  void At(Stream* stream, Clock::time_point deadline);
  // Something was written that a waiting stream may be looking for.
  void Kick();

 private:
  struct Entry {
    Clock::time_point due;
    bool polling;  // Kick makes it due at once
  };
  void Add(Stream* stream, Clock::time_point due, bool polling);
  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Stream*, Entry> entries_;
  Clock::time_point sleeping_until_ = Clock::time_point::min();  // min: awake
  Clock::duration pause_ = std::chrono::microseconds(20);
  bool running_ = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_POLLER_H_
