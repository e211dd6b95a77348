// SPDX-License-Identifier: Apache-2.0
// Peer "ring": the raw single-producer ring of ring.h between two spinning threads.
#include "bench/launch/ring.h"

#include <memory>

#include "bench/common/measure.h"

namespace millpond::bench {
namespace {

using TaskRing = Ring<1024>;

void Empty(void*) {}

// The consumer runs tasks until it meets one without a function, and echoes each with a reply when asked to.
class Consumer {
 public:
  explicit Consumer(bool echo) : echo_(echo), thread_([this] { Loop(); }) {}

  ~Consumer() {
    requests_->Push({nullptr, nullptr});
    thread_.join();
  }

  TaskRing& requests() { return *requests_; }
  TaskRing& replies() { return *replies_; }

 private:
  void Loop() {
    for (;;) {
      const RingTask task = requests_->Pop();
      if (task.fn == nullptr) return;
      task.fn(task.arg);
      if (echo_ || task.arg != nullptr) replies_->Push(task);
    }
  }

  const bool echo_;
  const std::unique_ptr<TaskRing> requests_ = std::make_unique<TaskRing>();
  const std::unique_ptr<TaskRing> replies_ = std::make_unique<TaskRing>();
  std::thread thread_;  // last: it uses the rings
};

void Throughput(const Harness& harness) {
  Consumer consumer(/*echo=*/false);
  harness.PerItem("task", "ns", harness.Count(5'000'000), [&](std::size_t count) {
    for (std::size_t i = 1; i < count; ++i) consumer.requests().Push({Empty, nullptr});
    consumer.requests().Push({Empty, &consumer});  // a non-null argument asks for a reply: all are done
    consumer.replies().Pop();
  });
}

void RoundTrip(const Harness& harness) {
  Consumer consumer(/*echo=*/true);
  const auto ping_pong = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      consumer.requests().Push({Empty, nullptr});
      consumer.replies().Pop();
    }
  };
  harness.PerItem("launch_sync", "ns", harness.Count(200'000), ping_pong);
  // One way between threads cannot be timed with one clock reading on each side at this scale; half a round trip can.
  harness.PerItem("hop", "ns", 2 * harness.Count(200'000), [&](std::size_t count) { ping_pong(count / 2); });
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("ring", argc, argv);
  millpond::bench::Throughput(harness);
  millpond::bench::RoundTrip(harness);
  return 0;
}
