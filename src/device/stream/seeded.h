// SPDX-License-Identifier: Apache-2.0
// The adversarial policy: tasks run only inside the client's own calls, a random few at each launch and poll, and as
// many as needed at each wait, from streams picked at random among those that events let run. Every choice comes from
// the seed, so with one launching thread the order depends on the seed and the enqueue sequence alone, and a missing
// synchronisation shows itself and replays. Styles (by seed): lazy runs the awaited stream first and others hardly at
// all, hasty runs the others first, mixed picks evenly.
//
// What depends on the outside (host functions, value waits) becomes ready when it does. A client that waits without
// calling us at all (spinning on pinned memory) is helped by a background thread after a stall without any call.
#ifndef MILLPOND_SRC_DEVICE_STREAM_SEEDED_H_
#define MILLPOND_SRC_DEVICE_STREAM_SEEDED_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/stream/scheduler.h"

namespace millpond {

class Seeded : public Scheduler {
 public:
  static constexpr auto kStall = std::chrono::seconds(1);

  explicit Seeded(uint64_t seed, std::chrono::seconds stall = kStall);
  Status Start() override;
  void Ready(Stream* stream) noexcept override;
  void Enqueued(Stream* stream) override;
  bool Wait(Stream* stream, uint64_t target, Deadline deadline) override;
  void Polled(Stream* stream) override;
  bool observes_enqueue() const override { return true; }

 protected:
  // Runs one task of a ready stream, `wanted` preferred or avoided by style. False when none is ready.
  bool Step(Stream* wanted) REQUIRES(run_mutex_);
  // Takes one of the ready streams out, or gives null.
  virtual Stream* Pick(Stream* wanted) REQUIRES(run_mutex_);
  void CountCall() { calls_.fetch_add(1, std::memory_order_relaxed); }

  Mutex run_mutex_;    // held while tasks run: one at a time in the whole process
  Mutex ready_mutex_;  // guards ready_; taken inside run_mutex_, also by Unblock from any thread
  CondVar ready_changed_;
  // In the order they became ready. Start has reserved a place for every stream there is.
  std::vector<Stream*> ready_ GUARDED_BY(ready_mutex_);

 private:
  enum class Style { kLazy, kHasty, kMixed };

  void StallLoop();

  bool started_ GUARDED_BY(ready_mutex_) = false;
  std::mt19937_64 random_ GUARDED_BY(run_mutex_);
  const Style style_;
  const std::chrono::seconds stall_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_SEEDED_H_
