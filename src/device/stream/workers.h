// SPDX-License-Identifier: Apache-2.0
// The fast policy: a handful of worker threads over one run queue with a level per priority. Waking a sleeping
// thread costs 40 to 80 microseconds, so an idle worker spins briefly before it sleeps, only one spins at a time, and
// a thread that synchronises runs the stream itself instead of waiting for a worker.
#ifndef MILLPOND_SRC_DEVICE_STREAM_WORKERS_H_
#define MILLPOND_SRC_DEVICE_STREAM_WORKERS_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "src/base/mutex.h"
#include "src/base/spinlock.h"
#include "src/device/stream/scheduler.h"

namespace millpond {

// A FIFO of streams per priority level, linked through the streams: one is in at most one queue, and queueing it cannot
// fail. `size` may be read without the lock.
class RunQueue {
 public:
  static constexpr uint32_t kLevels = 8;  // priority 0 is the most urgent

  void Push(Stream* stream, uint32_t priority);
  Stream* Pop();
  uint32_t size() const { return size_.load(std::memory_order_seq_cst); }

 private:
  struct Level {
    Stream* first = nullptr;
    Stream* last = nullptr;
  };
  SpinLock lock_;
  std::array<Level, kLevels> levels_ GUARDED_BY(lock_);
  std::atomic<uint32_t> size_{0};
};

class Workers : public Scheduler {
 public:
  Workers(int threads, int spin_us);
  Status Start() override;
  void Ready(Stream* stream) noexcept override;
  void WakeOwed() override;
  bool OthersWaiting() override { return queue_.size() != 0 || (OnTeamThread() && team_queue_.size() != 0); }
  bool OnTeamThread() const override;
  bool Wait(Stream* stream, uint64_t target, Deadline deadline) override;

 private:
  // Tasks a worker runs of one stream before others get their turn.
  static constexpr uint32_t kBudget = 256;
  // How long a spinner lets a new entry lie. It starts at half a microsecond, doubles each time a synchronising thread
  // was faster, and halves each time it was not.
  static constexpr int kGracePauses = 16;
  static constexpr int kMaxGracePauses = 256;
  // A thread that waits for a stream others run looks at its counter only so often: each look slows the runner down.
  static constexpr int kPausesPerLook = 16;
  // How many streams in a row a worker takes from its own hand before it looks at the queue.
  static constexpr int kHandLimit = 64;

  void Loop();
  void Push(Stream* stream);
  Stream* Next(int* in_a_row);
  void EmptyHand();
  bool SpinForWork(int grace_pauses);
  bool HasWork() const { return queue_.size() != 0 || (OnTeamThread() && team_queue_.size() != 0); }
  void Sleep();
  void SleepAsTeam();
  void WakeOne();
  void WakeTeam();

  const uint32_t threads_;
  const uint32_t cores_;
  const Clock::duration spin_;
  RunQueue queue_;
  RunQueue team_queue_;               // streams for the team's thread, the first worker
  Mutex start_mutex_;                 // guards the start of threads
  std::atomic<uint32_t> running_{0};  // threads that were started, up to threads_
  alignas(64) std::atomic<uint32_t> spinning_{0};
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> signal_{0};
  std::atomic<uint32_t> team_asleep_{0};
  std::atomic<uint32_t> team_signal_{0};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_WORKERS_H_
