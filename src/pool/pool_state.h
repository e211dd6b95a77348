// SPDX-License-Identifier: Apache-2.0
// The insides of Pool, shared by its source files:
//   pool.cc      the fast paths, lanes and fronts        growth.cc   pages: taking, moving, giving back
//   release.cc   frees, pending blocks, forgetting       report.cc   statistics and snapshots
//   follow.cc    recording and following a plan          tally.cc    counting
// Locks, outermost first: grow_, then lanes' locks (several only with grow_), lanes_lock_ last and briefly. A thread
// that holds a lane's lock never waits for grow_.
#ifndef MILLPOND_SRC_POOL_POOL_STATE_H_
#define MILLPOND_SRC_POOL_POOL_STATE_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "src/pool/lane.h"
#include "src/pool/pool.h"
#include "src/pool/span_map.h"

namespace millpond::pool {

class PoolState {
 public:
  PoolState(PageSource* source, const Settings& settings, int32_t device);
  ~PoolState();

  Status AllocateSlow(size_t bytes, StreamKey stream, Address advice, Address* out_address);
  Status FreeSlow(Address address, StreamKey stream, bool own_stream);
  Status RecordStream(Address address, StreamKey stream);
  Status Tag(Address address, const char* tag);
  bool FindBlock(Address address, Address* out_start, size_t* out_bytes);
  void ForgetStream(StreamKey stream);
  Status Trim(size_t keep_bytes, bool wait);

  Statistics GetStatistics();
  void ResetHighs();
  Snapshot TakeSnapshot();

  Status StartRecording();
  Status StopRecording(Recording* out_recording);
  Status Follow(const Plan& plan);
  Status BeginRun();
  Status EndRun();
  Status Unfollow();

  // The thread ends: what it holds back returns to the lane.
  void Abandon(Front* front);

  const uint64_t id;  // of all pools there ever were: a thread's note of another pool's front is never taken for ours
  PageSource* const source;
  Settings settings;
  const int32_t device;
  const size_t red_zone;  // rounded up, so that blocks stay aligned
  const size_t page_bytes;
  const size_t total_bytes;
  SpanMap spans;

 private:
  // Statistics that several threads count.
  struct Counters {
    std::atomic<int64_t> live_high{0}, used_high{0};
    std::atomic<size_t> reserved{0}, reserved_high{0};
    std::atomic<uint64_t> taken{0}, given{0}, moved{0}, waits{0}, retries{0}, failures{0};
    std::atomic<uint64_t> planned{0}, diverged{0};
  };

  // Recording and following.
  struct Recorder {
    Recording recording;
    std::vector<size_t> step_of;  // the step of each allocation
    std::unordered_map<Address, uint32_t> live;
    std::unordered_map<StreamKey, uint32_t> streams;
  };
  struct Follower {
    struct Area {
      Address address = 0;
      size_t bytes = 0;
      std::vector<PageHandle> pages;
      StreamKey stream = 0;            // bound at the first allocation of a run
      StreamKey last = 0;              // bound before: its work may still be under way
      std::map<Address, size_t> live;  // address -> bytes as placed
    };
    Plan plan;
    std::vector<Area> areas;
    size_t cursor = 0;
    bool running = false;
    bool diverged = false;
    std::unordered_map<Address, size_t> requested;
  };

  // pool.cc
  Lane* LaneOf(StreamKey stream);
  std::vector<Lane*> Lanes();
  Front* FrontOf(Lane* lane);
  Front* FindFront(Lane* lane);  // the same where the thread has no note of it
  bool fronts_allowed() const { return plain_.load(std::memory_order_relaxed) == 0; }
  void DisableFronts();  // while anything must see every call; counted
  void EnableFronts();
  void FlushLarge(Lane* lane, Front* front);
  void FlushSmall(Lane* lane, Front* front);
  void FlushOthers(Lane* lane);  // every front of the lane; with its lock

  Heap* HeapFor(Lane* lane, size_t bytes);
  Block* TakeFromLane(Lane* lane, Front* front, size_t rounded, Address advice);
  void Account(Lane* lane, Front* front, Block* block, size_t requested);
  Status Prepare(Lane* lane, const Block& block, Address* out_address);
  Status CheckRequest(size_t bytes, size_t* out_rounded) const;

  // tally.cc
  void Fold(Lane* lane, Front* front);  // the front's counts into the lane's
  void FoldIfDue(Lane* lane, Front* front);
  // With the tally's lock. The highs are exact for one lane used by one thread; with several, what the others did in
  // the last few dozen allocations may be missing in them.
  void Count(Tally* tally, const Counts& counts);
  static Counts Allocated(size_t requested, size_t bytes);
  static Counts Freed(size_t requested, size_t bytes);
  Counts Sum(const Tally* except) const;

  // release.cc
  Status NotLive(Address address, Span* span) const;
  Status Release(Lane* lane, Block* block, StreamKey last_use);
  void PoisonLate(Lane* lane, const Block& block);
  void Settle(Lane* lane, Block* block);  // into its heap, at last
  void PollPending(Lane* lane);
  Status CheckRedZones(const Block& block, StreamKey stream);
  void MaybeTrim();
  bool trims_by_itself() { return std::atomic_ref(settings.keep).load(std::memory_order_relaxed) != SIZE_MAX; }

  // growth.cc
  Status AllocateByGrowth(Lane* lane, size_t rounded, Block** out_block);
  size_t Slack(size_t percent) const;
  Status GrowByPages(Lane* lane, Heap* heap, size_t rounded, const Heap::Growth& growth, Block** out_block);
  Status AddPages(Lane* lane, Heap* heap, size_t rounded);
  Status GrowBySegment(Lane* lane, Heap* heap, size_t rounded, Block** out_block);
  Status NewPages(size_t count, std::vector<PageHandle>* out_pages);
  Status GetPages(Lane* lane, const Heap* heap, const Heap::Growth& growth, std::vector<PageHandle>* out_pages);
  // Free whole pages whose streams are done, unmapped, until there are `count`. `except`: a growth under way in `heap`.
  void CollectFromOthers(Lane* own, size_t count, std::vector<PageHandle>* out_pages);
  void CollectFrom(Lane* lane, size_t count, const Heap* heap, const Heap::Growth* except,
                   std::vector<PageHandle>* out_pages);
  Status MarkLane(const Lane& lane, Ticket* out_ticket);
  bool UpdatePassed(Lane* lane);  // true: every free block of the lane may be taken
  bool WaitForPages(size_t needed);
  void Reclaim();  // everything that waiting can bring back
  Status Charge(size_t bytes);
  void CountTaken();
  void Discharge(size_t bytes);
  size_t ReleaseSegments(size_t keep_bytes);
  Status OutOfMemoryNow(size_t bytes, const Status& why);

  // follow.cc
  bool Planned(size_t bytes, StreamKey stream, Address* out_address);
  bool FreePlanned(Address address, StreamKey stream, bool own_stream, Status* out_status);
  void RecordAllocation(Address address, size_t bytes, StreamKey stream);
  void RecordFree(Address address);
  Status MakeArea(size_t wanted, Follower::Area* area);
  void DropAreas();

  // report.cc
  void Remember(HistoryEntry::Action action, Address address, size_t bytes, StreamKey stream);
  SpanInfo Describe(const Span& span, const Lane& lane, bool small, uint64_t now) const;

  std::atomic<uint32_t> plain_{0};  // reasons why fronts may not be used
  Counters counters_;

  std::mutex grow_;
  std::vector<PageHandle> spare_;  // taken from the source, mapped nowhere

  Tally planned_;  // guarded by plan_lock_

  mutable std::shared_mutex lanes_lock_;
  std::unordered_map<StreamKey, Lane*> by_stream_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> orphans_;

  std::mutex history_lock_;
  std::vector<HistoryEntry> history_;
  size_t history_next_ = 0;

  std::mutex plan_lock_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Follower> follower_;
  std::atomic<bool> recording_{false};
  std::atomic<bool> following_{false};
};

// What a thread remembers of the pools it used: the front of a stream's lane.
struct FrontNote {
  uint64_t pool;
  StreamKey stream;
  Front* front;
};
inline constexpr size_t kFrontNotes = 4;
FrontNote* FrontNotes();
// Handles may be addresses or small numbers.
inline size_t NoteIndex(StreamKey stream) { return (stream ^ stream >> 4 ^ stream >> 12) % kFrontNotes; }

uint64_t NowNs();
Status CheckNotForked();

inline constexpr uint8_t kRedZoneByte = 0xfd;
inline constexpr uint8_t kPoisonByte = 0xdb;

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_POOL_STATE_H_
