// SPDX-License-Identifier: Apache-2.0
// Threads of the runtime's own for the client's code: host functions and exception callbacks. Never workers, because
// a host function may block for as long as it likes, and never a thread of the client.
#ifndef MILLPOND_SRC_DEVICE_HOST_EXECUTOR_H_
#define MILLPOND_SRC_DEVICE_HOST_EXECUTOR_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace millpond {

class HostExecutor {
 public:
  static HostExecutor& Get();
  // Threads of its own: host functions may fill all of Get()'s while they wait for the very stream that failed.
  static HostExecutor& ForExceptions();

  // Runs `work` soon. Work that throws is reported to stderr and dropped.
  void Post(std::function<void()> work);
  void RunAndWait(std::function<void()> work);

  // True in one of its threads: a host function must not wait for itself.
  static bool InExecutor();

 private:
  // One thread at first; another when all are busy, so that a host function waiting for another one's effect ends.
  static constexpr int kMaxThreads = 8;
  void Loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  int threads_ = 0;
  int idle_ = 0;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_HOST_EXECUTOR_H_
