// SPDX-License-Identifier: Apache-2.0
// Callbacks that run on a thread of the client's: it subscribes for streams, then calls Process in a loop.
// One instance serves aclrtLaunchCallback, another the host functions of streams with a thread of their own.
#ifndef MILLPOND_SRC_DEVICE_STREAM_CALLBACK_THREADS_H_
#define MILLPOND_SRC_DEVICE_STREAM_CALLBACK_THREADS_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "src/base/futex.h"
#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond {

class Stream;

class CallbackThreads {
 public:
  static constexpr size_t kMaxThreads = 1024;

  static CallbackThreads& Callbacks();
  static CallbackThreads& HostFuncs();

  // `thread` is the client's pthread id. A stream has at most one thread; a thread serves streams of one device.
  Status Subscribe(uint64_t thread, Stream* stream);
  // What is still queued for the stream is dropped, and a stream blocked on it goes on.
  Status Unsubscribe(uint64_t thread, Stream* stream);
  bool Subscribed(const Stream* stream);
  void Forget(const Stream* stream);  // the stream is destroyed

  // What a stream's thread is to run; `dropped` runs instead if the subscription ends first.
  struct Report {
    const Stream* stream;
    std::function<void()> run, dropped;
  };
  // Queues a list of one. False, and it is left alone, when no thread is subscribed. Allocates nothing.
  bool Post(std::list<Report>* report) noexcept;

  // Runs what is queued for the calling thread, waiting for the first. 107012 when it is not subscribed, 507012 when
  // nothing came in time.
  Status Process(Deadline deadline);

 private:
  struct Thread {
    CondVar arrived;
    std::list<Report> queue;
    size_t streams = 0;
    int32_t device = -1;
  };
  std::list<Report> Detach(const Stream* stream) noexcept REQUIRES(mutex_);  // reports to drop, without the lock

  Mutex mutex_;  // guards what follows; never held while a callback runs
  std::map<uint64_t, std::shared_ptr<Thread>> threads_ GUARDED_BY(mutex_);
  std::map<const Stream*, uint64_t> streams_ GUARDED_BY(mutex_);
};

// Tasks that hand work to the client. A host function always blocks the stream until it returns.
Status LaunchHostFunc(Stream* stream, void (*function)(void*), void* argument);
Status LaunchCallback(Stream* stream, void (*function)(void*), void* argument, bool block);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_CALLBACK_THREADS_H_
