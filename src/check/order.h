// SPDX-License-Identifier: Apache-2.0
// What happened before what. Streams take part, each with the count of its tasks as its clock, and one host: calls of
// all threads are taken in real-time order, because the locks and queues between a program's threads cannot be seen and
// would make false alarms. So whatever the host knows is known to everything that is enqueued later, and needs no edge.
// On request (ByThreads) each thread has a clock of its own, and a stream learns what the thread knows that launches.
//
// Orders are told while tasks are enqueued, not while they run: what is found does not depend on the schedule. Waits
// that bind when they run (level events, notifies, value words) leave their stream open until they are met; what is
// enqueued on an open stream meanwhile may turn out to be ordered after anything, and is not judged. Of a level event
// that was recorded before the wait is enqueued, and not reset since, it is known what the wait can count on: that
// record, and nothing that comes later. Of a notify likewise: each wait counts on the record that meets it when
// everything runs in the order in which it was enqueued. A function of the client's that its stream waits for may wait
// too, for anything that the host learns before it returns: it leaves the stream open until then.
#ifndef MILLPOND_SRC_CHECK_ORDER_H_
#define MILLPOND_SRC_CHECK_ORDER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/trace/records.h"

namespace millpond::check {

// A task: when it has run, `stream` has completed `count` tasks.
struct Epoch {
  int32_t stream;
  uint64_t count;
};

// How many tasks of each stream are known to be done.
class Clock {
 public:
  uint64_t At(int32_t stream) const;
  bool Has(Epoch task) const { return At(task.stream) >= task.count; }
  void Learn(Epoch task);
  void Learn(const Clock& other);
  bool Covers(const Clock& other) const;
  bool empty() const { return counts_.empty(); }

 private:
  std::vector<std::pair<int32_t, uint64_t>> counts_;  // sorted by stream
};

// Not safe from several threads: the checker's lock is held around every call.
class Order {
 public:
  Order() = default;
  Order(const Order&) = delete;  // host_ points inside
  Order& operator=(const Order&) = delete;

  // kHeld: unknown until functions of the client's return; what comes out then is Decide's.
  enum class Relation { kOrdered, kUnordered, kUnknown, kHeld };
  // What a stream's tasks know of other streams, from the task `from` on.
  struct Knowledge {
    uint64_t from = 0;
    Clock others;
    std::vector<uint64_t> open;  // waits it depends on that were not met yet
  };
  // Two tasks, and what each knew when the later one was enqueued.
  struct Doubt {
    Epoch earlier, later;
    Knowledge of_earlier, of_later;
  };

  // Threads of the host know from now on what they waited for themselves, and nothing else.
  void ByThreads() { by_threads_ = true; }
  bool by_threads() const { return by_threads_; }
  // Who calls: what follows is said of this thread.
  void OnThread(uint32_t thread) {
    if (!by_threads_) return;
    host_ = &hosts_[thread];
    ++host_news_;
  }
  // The task is being enqueued by that thread; before its edges.
  void Launched(Epoch at);

  // The host knows that the task is done, and with it what the task waited for.
  void HostKnows(Epoch task);
  // The same of what this record of an event stands for; everything, when that cannot be told any more.
  void HostKnowsRecord(uint64_t event, uint64_t generation);
  bool HostHas(Epoch task) const { return host_->Has(task); }
  // Whoever asks: nothing that comes can conflict with it.
  bool EveryHostHas(Epoch task) const { return !by_threads_ && HostHas(task); }

  // The task is being enqueued; before its edges.
  void Told(Epoch at) {
    if (told_.first != at.stream) told_ = {at.stream, &streams_[at.stream]};
    told_.second->latest = at.count;
  }
  // Edges of the task `at`, which is being enqueued. Waits come before what the task touches is judged.
  void Record(const trace::Edge& edge, Epoch at);
  void Wait(const trace::Edge& edge, Epoch at);
  void OnSignal(const trace::Signal& signal);
  // A level event is up from when that task has run, until a reset; or nobody knows any more whether it is.
  void RecordLevel(const trace::Edge& edge, Epoch at);
  void ForgetLevel(uint64_t event) { levels_.erase(event); }
  void RecordNotify(const trace::Edge& edge, Epoch at);
  // What raises or takes it is not seen in order: its waits are known when they are met.
  void DoubtNotify(uint64_t notify) { notifies_[notify] = {.unsure = true, .records = {}, .bound = {}}; }
  void ForgetNotify(uint64_t notify) { notifies_.erase(notify); }
  // Everything told so far comes before what `at`'s stream does from now on: an end that cannot be seen was waited for.
  void WaitForEverything(Epoch at);

  // The task calls a function of the client's, and its stream goes on when that has returned.
  void Hold(Epoch at);
  void Release(Epoch at);

  // The event is gone: nobody can wait for its records any more.
  void ForgetEvent(uint64_t event);

  // Is the earlier task done when a task that is enqueued on `stream` now begins?
  Relation RelationTo(Epoch earlier, int32_t stream);
  // The same, where waits of these tasks that bind when they run bring nothing that could be the order asked for.
  Relation RelationTo(Epoch earlier, int32_t stream, std::span<const Epoch> waits);
  // What the stream does from now on waits for something that is not known yet, and may come after whatever comes.
  bool IsOpen(int32_t stream);
  // pre: kHeld for the two, of which the later one is being enqueued.
  Doubt DoubtOf(Epoch earlier, Epoch later);
  // The relation as far as it is known now. kHeld: not yet.
  Relation Decide(Doubt* doubt);
  // Whether the task waits for something that may still come.
  bool IsOpen(Epoch task);
  // The task that a wait is for; nothing when that is not known.
  std::optional<Epoch> PointOf(const trace::Edge& wait) const;

  // Another number when the host has learnt something.
  uint64_t host_news() const { return host_news_; }
  uint64_t unseen_ends() const { return unseen_ends_; }
  uint64_t merged_versions() const { return merged_versions_; }
  size_t late_waits() const { return late_waits_.size(); }

 private:
  struct StreamState {
    std::deque<Knowledge> versions;  // by `from`
    uint64_t latest = 0;             // the highest count told
  };
  struct Recorded {
    uint64_t generation;
    Epoch at;
    Clock others;
    std::vector<uint64_t> open;
  };
  // A wait that binds when it runs, or a function that may wait.
  struct LateWait {
    bool met = false;
    bool function = false;
    Clock learnt;
    std::vector<uint64_t> open;  // of what it met
  };
  // Of a notify: its records that no wait has taken, the first first.
  struct Notified {
    bool unsure = false;
    std::deque<Recorded> records;
    std::optional<Epoch> bound;  // what the last wait counts on
  };
  using LinkKey = std::pair<trace::Link, uint64_t>;
  using Ends = std::map<LinkKey, std::vector<Recorded>>;  // the last few of each link

  uint64_t AddLateWait(Epoch at, LateWait wait);
  void ReleaseKnown();
  // What is unordered but for these waits: the same, kHeld or kUnknown.
  Relation Of(const std::vector<uint64_t>& open) const;
  static Relation LessSure(Relation one, Relation other);
  Knowledge* Latest(int32_t stream);
  Knowledge* KnownAt(Epoch task);
  Knowledge& NewVersion(Epoch at);
  void Settle(Knowledge* knowledge) { Settle(&knowledge->others, &knowledge->open); }
  void Settle(Clock* others, std::vector<uint64_t>* open);
  // Lets go of waits that were met, after all who depend on them have taken over what they learnt; then of the oldest
  // that were not, if there are too many: who depends on those is not judged any more.
  void SweepLateWaits();
  void Join(Epoch at, const Recorded& recorded);
  Recorded Snapshot(uint64_t generation, Epoch at);
  void Raise(LinkKey key, const trace::Signal& signal);
  // The record of a level event that a wait can count on, or null.
  const Recorded* LevelOf(const trace::Edge& wait) const;
  // True when the wait takes a record of its notify that was told before it.
  bool TakesRecord(const trace::Edge& wait, Epoch at);
  // Null when it was forgotten or never told. To forget an end is safe only because everything is waited for instead.
  const Recorded* Find(const Ends& ends, LinkKey key, uint64_t generation) const;
  void Keep(Ends* ends, LinkKey key, Recorded recorded);
  Clock Everything() const;
  void Prune(int32_t stream);

  static constexpr size_t kMaxVersions = 256;
  static constexpr size_t kKeptGenerations = 4;
  static constexpr size_t kMaxRecords = 256;        // of a notify
  static constexpr size_t kMaxLateWaits = 1 << 14;  // after a sweep

  bool by_threads_ = false;
  std::unordered_map<uint32_t, Clock> hosts_{{0, Clock()}};  // by thread; one for all unless by_threads_
  Clock* host_ = &hosts_[0];
  std::unordered_map<int32_t, StreamState> streams_;  // none is taken out
  std::pair<int32_t, StreamState*> told_{-1, nullptr};
  Ends records_;                                   // of edges that bind when enqueued
  Ends raised_;                                    // of those that bind when run
  std::unordered_map<uint64_t, Recorded> levels_;  // the last record of each level event that is not reset
  std::unordered_map<uint64_t, Notified> notifies_;
  std::map<uint64_t, LateWait> late_waits_;  // by number, the oldest first
  uint64_t next_late_wait_ = 0;
  size_t sweep_at_ = 1024;                                         // so many late waits
  std::map<std::pair<int32_t, uint64_t>, uint64_t> late_wait_of_;  // (stream, count) of the waiting task
  std::map<std::pair<int32_t, uint64_t>, uint64_t> functions_;     // the same of those that have not returned
  uint64_t host_news_ = 0;
  uint64_t unseen_ends_ = 0;
  uint64_t merged_versions_ = 0;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_ORDER_H_
