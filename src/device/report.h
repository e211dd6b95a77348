// SPDX-License-Identifier: Apache-2.0
// Callbacks that run on a thread of the client's: it subscribes for streams, then calls Process in a loop.
// One instance serves aclrtLaunchCallback, another the host functions of streams with a thread of their own.
#ifndef MILLPOND_SRC_DEVICE_REPORT_H_
#define MILLPOND_SRC_DEVICE_REPORT_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "src/base/futex.h"
#include "src/base/status.h"

namespace millpond {

class Stream;

class Reports {
 public:
  static constexpr size_t kMaxThreads = 1024;

  static Reports& Callbacks();
  static Reports& HostFuncs();

  // `thread` is the client's pthread id. A stream has at most one thread; a thread serves streams of one device.
  Status Subscribe(uint64_t thread, Stream* stream);
  // What is still queued for the stream is dropped, and a stream blocked on it goes on.
  Status Unsubscribe(uint64_t thread, Stream* stream);
  bool Subscribed(const Stream* stream);
  void Forget(const Stream* stream);  // the stream is destroyed

  // Queues `run` for the stream's thread. False when no thread is subscribed. `dropped` runs instead if the
  // subscription ends first.
  bool Post(const Stream* stream, std::function<void()> run, std::function<void()> dropped);

  // Runs what is queued for the calling thread, waiting for the first. 107012 when it is not subscribed, 507012 when
  // nothing came in time.
  Status Process(Deadline deadline);

 private:
  struct Report {
    const Stream* stream;
    std::function<void()> run, dropped;
  };
  struct Thread {
    std::condition_variable arrived;
    std::deque<Report> queue;
    size_t streams = 0;
    int32_t device = -1;
  };
  void Detach(const Stream* stream, std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards what follows; never held while a callback runs
  std::map<uint64_t, std::shared_ptr<Thread>> threads_;
  std::map<const Stream*, uint64_t> streams_;
};

// Tasks that hand work to the client. A host function always blocks the stream until it returns.
Status LaunchHostFunc(Stream* stream, void (*function)(void*), void* argument);
Status LaunchCallback(Stream* stream, void (*function)(void*), void* argument, bool block);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_REPORT_H_
