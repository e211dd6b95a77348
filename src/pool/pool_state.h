// SPDX-License-Identifier: Apache-2.0
// The insides of Pool, shared by its source files:
//   pool.cc      fast paths, lanes and thread caches     growth.cc   pages: allocating, moving, releasing
//   release.cc   frees, pending blocks, forgetting       report.cc   statistics and snapshots
//   follow.cc    recording and following a plan          tally.cc    counting
// Lock order: grow_, then lanes' locks (several only with grow_), lanes_lock_ last and briefly. A thread that holds a
// lane's lock never waits for grow_.
#ifndef MILLPOND_SRC_POOL_POOL_STATE_H_
#define MILLPOND_SRC_POOL_POOL_STATE_H_

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/base/mutex.h"
#include "src/pool/lane.h"
#include "src/pool/placed_blocks.h"
#include "src/pool/pool.h"
#include "src/pool/span_map.h"

namespace millpond::pool {

class PoolState {
 public:
  PoolState(PageSource* page_source, const Settings& wanted, int32_t device_number);
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
  Status StopRecording(const Pool::UseRecording& use);
  Status Follow(const Plan& plan);
  Status BeginRun();
  Status EndRun();
  Status Unfollow();

  // The thread ends: the content of its cache returns to the lane.
  void Abandon(ThreadCache* cache);

  const uint64_t id;  // never reused: a thread's note of a destroyed pool's cache is never mistaken for ours
  PageSource* const source;
  Settings settings;
  const int32_t device;
  const size_t red_zone;  // rounded up, so that blocks stay aligned
  const size_t page_bytes;
  const size_t total_bytes;
  SpanMap spans;

 private:
  // Statistics updated by several threads.
  struct Counters {
    std::atomic<int64_t> live_high{0}, used_high{0};
    std::atomic<size_t> reserved{0}, reserved_high{0};
    std::atomic<uint64_t> taken{0}, given{0}, moved{0}, waits{0}, retries{0}, failures{0};
    std::atomic<uint64_t> planned{0}, diverged{0};
  };

  // Recording and following.
  struct Recorder {
    Recording recording;
    bool stopped = false;         // and not used yet; nothing changes any more
    std::vector<size_t> step_of;  // the step of each allocation; the steps have room for its free
    std::unordered_map<Address, uint32_t> live;
    std::unordered_map<StreamKey, uint32_t> streams;
  };
  struct Follower {
    struct Area {
      Address address = 0;
      size_t bytes = 0;
      std::vector<PageHandle> pages;
      StreamKey stream = 0;  // bound at the first allocation of a run
      StreamKey last = 0;    // bound in the previous run: its work may be unfinished
      size_t live = 0;       // blocks
    };
    std::vector<Area> areas;
    PlacedBlocks blocks;
    size_t places = 0;  // that the plan has
    size_t cursor = 0;
    bool running = false;
    bool diverged = false;
  };

  // pool.cc
  Lane* LaneOf(StreamKey stream);
  void PutBack(Lane* lane, Block* block);  // what Prepare could not make ready
  ThreadCache* CacheOf(Lane* lane);        // null: the host has no memory for one
  ThreadCache* FindCache(Lane* lane);      // likewise, when the thread has no note of it
  bool caches_allowed() const { return plain_.load(std::memory_order_relaxed) == 0; }
  void DisableThreadCaches();  // while something must see every call; calls nest
  void EnableThreadCaches();
  void FlushLarge(Lane* lane, ThreadCache* cache) REQUIRES(lane->lock);
  void FlushSmall(Lane* lane, ThreadCache* cache) REQUIRES(lane->lock);
  void FlushOthers(Lane* lane) REQUIRES(lane->lock);  // every thread cache of the lane; needs the lane's lock

  Heap* HeapFor(Lane* lane, size_t bytes) REQUIRES(lane->lock);
  Block* TakeFromLane(Lane* lane, ThreadCache* cache, size_t rounded, Address advice) REQUIRES(lane->lock);
  void Account(Lane* lane, ThreadCache* cache, Block* block, size_t requested) REQUIRES(lane->lock);
  Status Prepare(Lane* lane, const Block& block, Address* out_address);
  Status CheckRequest(size_t bytes, size_t* out_rounded) const;

  // tally.cc
  void Fold(Lane* lane, ThreadCache* cache) REQUIRES(lane->lock);  // the cache's counts into the lane's
  void FoldIfDue(Lane* lane, ThreadCache* cache) REQUIRES(lane->lock);
  // Needs the tally's lock. High-water marks are exact for one lane used by one thread; with several, they may miss
  // what the others did in the last few dozen allocations.
  void Count(Tally* tally, const Counts& counts);
  static Counts Allocated(size_t requested, size_t bytes);
  static Counts Freed(size_t requested, size_t bytes);
  Counts Sum(const Tally* except) const;
  size_t UsedNow(const Lane* flushed) const REQUIRES(grow_);  // bytes; `flushed`: its caches were, and it is locked

  // release.cc
  Status NotLive(Address address, Span* span) const;
  Status MarkOthers(Lane* lane, Block* block, StreamKey last_use) REQUIRES(lane->lock);
  void Release(Lane* lane, Block* block) REQUIRES(lane->lock);
  bool OthersPassed(Block* block);
  void DropTickets(Block* block);
  void PoisonLate(Lane* lane, const Block& block);
  void ReturnToHeap(Lane* lane, Block* block) REQUIRES(lane->lock);
  void PollPending(Lane* lane) REQUIRES(lane->lock);
  Status CheckRedZones(const Block& block, StreamKey stream);
  void MaybeTrim();
  bool trims_by_itself() { return std::atomic_ref(settings.keep).load(std::memory_order_relaxed) != SIZE_MAX; }

  // growth.cc
  Status AllocateByGrowth(Lane* lane, size_t rounded, Block** out_block);
  size_t NewPagesAllowed() REQUIRES(grow_);
  Status GrowByPages(Lane* lane, Heap* heap, size_t rounded, const Heap::Growth& growth, Block** out_block)
      REQUIRES(grow_, lane->lock);
  Status ReserveAddresses(Lane* lane, Heap* heap, size_t rounded) REQUIRES(grow_);
  Status GrowBySegment(Lane* lane, Heap* heap, size_t rounded, Block** out_block) REQUIRES(grow_);
  Status NewPages(size_t count, std::vector<PageHandle>* out_pages) REQUIRES(grow_);
  Status GetPages(Lane* lane, const Heap* heap, const Heap::Growth& growth, std::vector<PageHandle>* out_pages)
      REQUIRES(grow_, lane->lock);
  // Free whole pages whose streams are done, unmapped, until there are `count`. `except`: a growth under way in `heap`.
  void CollectFromOthers(Lane* own, size_t count, std::vector<PageHandle>* out_pages) REQUIRES(grow_);
  void CollectFrom(Lane* lane, size_t count, const Heap* heap, const Heap::Growth* except,
                   std::vector<PageHandle>* out_pages) REQUIRES(lane->lock);
  Status MarkLane(const Lane& lane, Ticket* out_ticket);
  bool UpdatePassed(Lane* lane) REQUIRES(lane->lock);  // true: every free block of the lane may be taken
  bool WaitForPages(size_t needed) REQUIRES(grow_);
  void Reclaim() REQUIRES(grow_);  // waits for streams, so that everything freed can be reused
  Status Charge(size_t bytes) REQUIRES(grow_);
  void CountTaken();
  void Discharge(size_t bytes) REQUIRES(grow_);
  size_t ReleaseSegments(size_t keep_bytes) REQUIRES(grow_);
  void DeleteSparePage() REQUIRES(grow_);
  Status OutOfMemoryNow(size_t bytes, const Status& why);

  // follow.cc
  bool Planned(size_t bytes, StreamKey stream, Address* out_address);
  bool Bind(Follower::Area* area, StreamKey stream) REQUIRES(plan_lock_);
  bool FreePlanned(Address address, StreamKey stream, bool own_stream, Status* out_status);
  void RecordAllocation(Address address, size_t bytes, StreamKey stream);
  void RecordFree(Address address);
  Status MakeArea(size_t wanted, Follower::Area* area) REQUIRES(grow_);
  void DropAreas() REQUIRES(grow_, plan_lock_);

  // report.cc
  void Remember(HistoryEntry::Action action, Address address, size_t bytes, StreamKey stream);
  SpanInfo Describe(const Span& span, const Lane& lane, bool small, uint64_t now) const;

  std::atomic<uint32_t> plain_{0};  // how many reasons there are not to use thread caches
  Counters counters_;

  Mutex grow_;
  std::vector<PageHandle> spare_ GUARDED_BY(grow_);  // from the source, not mapped
  size_t needed_high_ GUARDED_BY(grow_) = 0;         // the most bytes that were used when pages were wanted
  uint64_t owed_ GUARDED_BY(grow_) = 0;              // moved pages that no allocations have paid for yet
  uint64_t paid_ GUARDED_BY(grow_) = 0;              // pages that all allocations up to now pay for

  mutable SharedMutex lanes_lock_;
  std::unordered_map<StreamKey, Lane*> by_stream_ GUARDED_BY(lanes_lock_);
  std::vector<Lane*> orphans_ GUARDED_BY(lanes_lock_);  // has room for all lanes
  LaneList lanes_;                                      // added to with lanes_lock_, walked without

  Mutex history_lock_;
  std::vector<HistoryEntry> history_ GUARDED_BY(history_lock_);
  size_t history_next_ GUARDED_BY(history_lock_) = 0;

  Mutex plan_lock_;
  std::shared_ptr<Recorder> recorder_ GUARDED_BY(plan_lock_);
  std::unique_ptr<Follower> follower_ GUARDED_BY(plan_lock_);
  Tally planned_;  // counted with plan_lock_, read without
  std::atomic<bool> recording_{false};
  std::atomic<bool> following_{false};
};

// A thread's direct-mapped table of its caches, by stream.
struct CacheNote {
  uint64_t pool;
  StreamKey stream;
  ThreadCache* cache;
};
inline constexpr size_t kCacheNotes = 4;
CacheNote* CacheNotes();
// Handles may be addresses or small numbers.
inline size_t NoteIndex(StreamKey stream) { return (stream ^ stream >> 4 ^ stream >> 12) % kCacheNotes; }

uint64_t NowNs();
Status CheckNotForked();

inline constexpr uint8_t kRedZoneByte = 0xfd;
inline constexpr uint8_t kPoisonByte = 0xdb;

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_POOL_STATE_H_
