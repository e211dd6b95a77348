// SPDX-License-Identifier: Apache-2.0
// Who runs streams, and when. Three policies: Workers (fast), Seeded (adversarial and repeatable) and Planned (an order
// that is written down). The choice is made once, by MILLPOND_SEED and MILLPOND_SCHEDULE.
#ifndef MILLPOND_SRC_DEVICE_STREAM_SCHEDULER_H_
#define MILLPOND_SRC_DEVICE_STREAM_SCHEDULER_H_

#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

#include "src/base/futex.h"
#include "src/base/status.h"

namespace millpond {

class Stream;

// "cannot start <what>: <why>; ...": what every Start answers.
Status NoThread(const char* what, const std::exception& why);

// A thread of the runtime's own, which nobody joins.
template <class Body>
Status StartThread(const char* what, Body body) {
  try {
    std::thread(std::move(body)).detach();
  } catch (const std::exception& error) {
    return NoThread(what, error);
  }
  return Ok();
}

class Scheduler {
 public:
  static Scheduler& Get();
  virtual ~Scheduler() = default;

  // The threads that run tasks exist from now on; called before a stream does, and so before a task is accepted.
  virtual Status Start() = 0;
  // A stream has become queued (it has work and nobody runs it). Called from inside Stream::Run (InRun) it may leave
  // waking others to the caller, who either takes the stream itself in a moment or calls WakeOwed first.
  virtual void Ready(Stream* stream) noexcept = 0;
  // The calling thread is about to do something long: whoever should run what it made ready must be told now.
  virtual void WakeOwed() {}
  // Whether another stream waits for a thread: if not, a stream that used up its budget just goes on.
  virtual bool OthersWaiting() { return true; }
  // A task was appended. Only called when `observes_enqueue()`.
  virtual void Enqueued(Stream*) {}
  // Waits for stream->completed() >= target; false when the deadline passed first.
  virtual bool Wait(Stream* stream, uint64_t target, Deadline deadline) = 0;
  // The client polled: make progress if that depends on us.
  virtual void Polled(Stream*) {}

  virtual bool observes_enqueue() const { return false; }

  // May the calling thread run tasks that compute with a team? OpenMP makes a team for each thread that starts one, and
  // teams that wait beside each other's work cost more than they give: one thread runs all such tasks.
  virtual bool OnTeamThread() const { return true; }
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_SCHEDULER_H_
