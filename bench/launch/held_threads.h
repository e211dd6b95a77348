// SPDX-License-Identifier: Apache-2.0
// The runtime's own threads asleep: everything that is launched meanwhile is run by the thread that synchronises, so a
// clock around it sees all of the work.
#ifndef BENCH_LAUNCH_HELD_THREADS_H_
#define BENCH_LAUNCH_HELD_THREADS_H_

#include <memory>
#include <vector>

#include "bench/launch/launching.h"

namespace millpond::bench {

// One gate per runtime thread, and then some: more than there are threads simply wait in the queue.
class HeldThreads {
 public:
  HeldThreads() : streams_(4 * std::thread::hardware_concurrency() + 4) {
    for (const Stream& stream : streams_) gates_.push_back(std::make_unique<Gate>(stream, Gate::kSleep));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until all of them have one
  }
  ~HeldThreads() {
    for (const auto& gate : gates_) gate->Open();
    for (const Stream& stream : streams_) stream.Synchronize();
  }
  HeldThreads(const HeldThreads&) = delete;
  HeldThreads& operator=(const HeldThreads&) = delete;

 private:
  const std::vector<Stream> streams_;
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace millpond::bench

#endif  // BENCH_LAUNCH_HELD_THREADS_H_
