// SPDX-License-Identifier: Apache-2.0
// An order of tasks that is written down, so that a wrong result can be shown again: `millpond check --explore` looks
// for one, and MILLPOND_SCHEDULE brings it back.
//
//   hold:S:C      Stream S stops before its task C for as long as anything else can go on; everything else runs at
//                 once. What should have come after that task and is not ordered so comes before it.
//   pct:SEED:A,B  Streams and the host have priorities, drawn from SEED; the highest that can go on does. After step A
//                 whoever made it goes to the end of the line, after step B again. (Burckhardt and others, "A
//                 Randomized Scheduler with Probabilistic Guarantees of Finding Bugs": with d - 1 such steps a mistake
//                 of depth d among n that take k steps is met with a chance of at least 1 in n k^(d-1).)
//
// As with a seed, tasks run only inside the client's own calls.
#ifndef MILLPOND_SRC_DEVICE_STREAM_PLANNED_H_
#define MILLPOND_SRC_DEVICE_STREAM_PLANNED_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/device/stream/seeded.h"

namespace millpond {

struct Schedule {
  bool holds = false;
  int32_t stream = -1;  // held ...
  uint64_t task = 0;    // ... before its task of this count
  uint64_t seed = 0;
  std::vector<uint64_t> changes;  // steps, ascending

  static Status Parse(const std::string& text, Schedule* out_schedule);
};

class Planned : public Seeded {
 public:
  explicit Planned(Schedule schedule);
  void Enqueued(Stream* stream) override;
  void Polled(Stream* stream) override;

 protected:
  Stream* Pick(Stream* wanted) override REQUIRES(run_mutex_);

 private:
  // A client that spins without calling us gets its turn, but later than with a seed: on a machine under load a held
  // task must not come too early.
  static constexpr auto kPatience = std::chrono::seconds(10);
  static constexpr int32_t kHost = -1;

  bool IsHeld(const Stream& stream) const;
  uint64_t PriorityOf(int32_t actor) REQUIRES(run_mutex_);
  // `actor` has made a step.
  void Count(int32_t actor) REQUIRES(run_mutex_);
  // The best of the ready streams, as an index; ready_.size() when none may go on now. `must`: somebody waits, so that
  // a held stream goes too when it is the last.
  size_t Best(bool must) REQUIRES(run_mutex_, ready_mutex_);
  // Runs what goes before the host.
  void RunFreely() REQUIRES(run_mutex_);

  const Schedule schedule_;
  uint64_t steps_ GUARDED_BY(run_mutex_) = 0;
  size_t next_change_ GUARDED_BY(run_mutex_) = 0;
  bool must_ GUARDED_BY(run_mutex_) = true;
  std::map<int32_t, uint64_t> priorities_ GUARDED_BY(run_mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_PLANNED_H_
