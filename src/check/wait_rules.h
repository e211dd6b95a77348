// SPDX-License-Identifier: Apache-2.0
// Waits that go wrong by themselves: an event that is reset before its waiters have passed (MP605), and streams that
// wait for each other (MP606).
//
// A deadlock is told only when it is certain. Plain events bind when a wait is enqueued, to a record that is there
// already, so a circle needs a wait that binds when it runs. When a thread begins to wait for a stream, everything that
// was enqueued is played through, each doubt decided in favour of going on: what has not moved then cannot move unless
// somebody enqueues another record. If more than one thread has ever launched, or a stream has called a function of the
// client's, somebody might, and nothing is said.
#ifndef MILLPOND_SRC_CHECK_WAIT_RULES_H_
#define MILLPOND_SRC_CHECK_WAIT_RULES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class WaitRules {
 public:
  explicit WaitRules(Ledger* ledger) : ledger_(*ledger) {}

  void OnLaunch(const trace::TaskEnqueued& task) {
    // A function of the client's may wake a thread that has launched nothing so far.
    if (launcher_ == 0) launcher_ = task.thread;
    several_launch_ |= launcher_ != task.thread || CallsClient(task.kind);
  }
  void OnEdges(const trace::TaskEnqueued& task, const Use& use);
  void OnSignal(const trace::Signal& signal);
  void OnHostBlocks(const trace::HostBlocks& wait);
  // The task and those before it on its stream are done, or were dropped.
  void OnDone(Epoch task);
  void OnStreamGone(int32_t stream);
  // Its handle may have been another event's.
  void OnEventMade(uint64_t handle);

 private:
  using LinkKey = std::pair<trace::Link, uint64_t>;
  // A record or wait that may not have run yet.
  struct Step {
    Use use;
    trace::Edge::Kind kind;
    LinkKey link;
    bool binds_when_run;
    bool sure;    // of waits: nothing but a record that was told can end it
    Epoch point;  // of waits for a point of a stream
  };
  struct Queue {
    std::deque<Step> steps;
    bool forgot = false;  // too many to keep: nothing is said about the stream any more
  };
  // Of a level event: who waits since its last record, after which there was no reset.
  struct Level {
    bool recorded = false;
    std::vector<Use> waits;
  };
  using Stuck = std::map<int32_t, const Step*>;  // by stream: the wait at which it stands for ever

  void NoteStep(const trace::TaskEnqueued& task, const trace::Edge& edge, const Use& use);
  void CheckReset(const trace::Edge& edge, const Use& reset);
  void DropUpTo(int32_t stream, uint64_t count, const LinkKey& link);
  Stuck Simulate() const;
  bool CanPass(const Step& step, const Stuck& at, const std::set<LinkKey>& raised) const;
  // A circle of streams that begins at `from`, each waiting for the next; empty if there is none.
  std::vector<const Step*> CircleFrom(int32_t from, const Stuck& stuck) const;
  void TellCircle(const trace::HostBlocks& wait, const std::vector<const Step*>& circle);

  // Without such a wait there is no circle, and nothing to play through.
  static bool IsLateWait(const Step& step) { return step.kind == trace::Edge::Kind::kWait && step.binds_when_run; }

  static constexpr size_t kMaxSteps = 4096;
  static constexpr size_t kMaxWaits = 64;  // of one event that are remembered

  Ledger& ledger_;
  std::map<int32_t, Queue> queues_;
  size_t late_waits_ = 0;  // in queues_
  std::set<LinkKey> up_;   // links that a wait would pass now
  std::map<uint64_t, Level> levels_;
  uint32_t launcher_ = 0;        // the thread that launched first
  bool several_launch_ = false;  // or may
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_WAIT_RULES_H_
