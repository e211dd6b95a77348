// SPDX-License-Identifier: Apache-2.0
#include "src/pool/pool.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/base/thread_local.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

namespace {

// A lane keeps small and large blocks together until it has allocated this much: two half-empty pages would be a large
// overhead for a stream that is used little.
constexpr size_t kSplitVolume = size_t{64} << 20;

thread_local CacheNote t_notes[kCacheNotes] MP_FAST_TLS = {};

// A forked child has one thread and device memory that is not its own. It drops its notes, so every call takes the slow
// path and is refused there, before it can block on a lock that no thread is left to release.
std::atomic<bool> g_forked{false};
void ForgetInChild() {
  for (CacheNote& note : t_notes) note = {};
  g_forked.store(true, std::memory_order_relaxed);
}

// Live pools by id, for threads that exit.
struct Directory {
  Mutex lock;
  std::unordered_map<uint64_t, PoolState*> pools GUARDED_BY(lock);
  uint64_t next GUARDED_BY(lock) = 1;
};
Directory& Pools() {
  static auto& directory = *new Directory;  // used by threads that exit after static destruction
  return directory;
}

// All caches of a thread, returned to their pools when it exits.
struct ThreadCaches {
  std::vector<std::pair<uint64_t, ThreadCache*>> caches;
  ~ThreadCaches() {
    for (CacheNote& note : t_notes) note = {};
    MutexLock lock(Pools().lock);
    for (const auto& [pool, cache] : caches) {
      const auto found = Pools().pools.find(pool);
      if (found != Pools().pools.end()) found->second->Abandon(cache);
    }
  }
};
ThreadCaches& CachesOfThisThread() {
  static thread_local ThreadCaches caches;
  return caches;
}

}  // namespace

Status CheckNotForked() {
  MP_CHECK(!g_forked.load(std::memory_order_relaxed), kForked,
           "this process was forked from one that uses the pool; device memory does not survive a fork: start a new "
           "process (exec, or Python's 'spawn') and create a pool there");
  return Ok();
}

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

CacheNote* CacheNotes() { return t_notes; }

PoolState::PoolState(PageSource* page_source, const Settings& wanted, int32_t device_number)
    : id([] {
        MutexLock lock(Pools().lock);
        return Pools().next++;
      }()),
      source(page_source),
      settings(wanted),
      device(device_number),
      red_zone(RoundUp(wanted.red_zone, kUnit)),
      page_bytes(wanted.vmm != 0 ? page_source->page_bytes() : 0),
      total_bytes(page_source->total_bytes()) {
  // Settings that must see every call rule out thread caches.
  if (!ThreadCache::Supported() || settings.history != 0 || red_zone != 0 || settings.poison != 0 ||
      settings.cache == 0) {
    plain_.store(1, std::memory_order_relaxed);
  }
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &ForgetInChild); });
  MutexLock lock(Pools().lock);
  Pools().pools[id] = this;
}

Lane* PoolState::LaneOf(StreamKey stream) {
  {
    ReaderLock lock(lanes_lock_);
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  }
  UniqueLock lock(lanes_lock_);
  if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  if (!orphans_.empty()) {
    Lane* lane = by_stream_.emplace(stream, orphans_.back()).first->second;
    orphans_.pop_back();
    lane->set_stream(stream);
    return lane;
  }
  auto added = std::make_unique<Lane>(stream, page_bytes);
  orphans_.reserve(lanes_.size() + 1);  // forgetting a stream must not fail
  Lane* lane = by_stream_.emplace(stream, added.get()).first->second;
  lanes_.Add(std::move(added));
  return lane;
}

ThreadCache* PoolState::CacheOf(Lane* lane) {
  const StreamKey stream = lane->stream();
  const CacheNote& note = t_notes[NoteIndex(stream)];
  const bool noted = note.pool == id && note.stream == stream && note.cache->lane() == lane && !note.cache->closed();
  return noted ? note.cache : FindCache(lane);
}

ThreadCache* PoolState::FindCache(Lane* lane) {
  ThreadCaches& mine = CachesOfThisThread();
  ThreadCache* cache = nullptr;
  for (const auto& [pool, each] : mine.caches) {
    if (pool == id && each->lane() == lane) cache = each;
  }
  if (cache != nullptr && cache->closed()) {
    for (CacheNote& each : t_notes) {
      if (each.pool == id && each.cache == cache) each = {};
    }
    MutexLock lock(lane->lock);
    cache->Reopen();
  } else if (cache == nullptr) {
    MutexLock lock(lane->lock);
    try {
      mine.caches.reserve(mine.caches.size() + 1);
      if (lane->idle_caches.empty()) {
        lane->idle_caches.reserve(lane->caches.size() + 1);  // abandoning one must not fail
        lane->caches.push_back(std::make_unique<ThreadCache>(lane, &lane->blocks, settings.small, settings.cache));
        lane->idle_caches.push_back(lane->caches.back().get());
      }
    } catch (const std::bad_alloc&) {
      return nullptr;  // the lane serves
    }
    cache = lane->idle_caches.back();
    lane->idle_caches.pop_back();
    mine.caches.emplace_back(id, cache);
    cache->Reopen();
  }
  t_notes[NoteIndex(lane->stream())] = {.pool = id, .stream = lane->stream(), .cache = cache};
  return cache;
}

void PoolState::Abandon(ThreadCache* cache) {
  Lane* lane = cache->lane();
  MutexLock lock(lane->lock);
  FlushLarge(lane, cache);
  FlushSmall(lane, cache);
  Fold(lane, cache);
  cache->Close();
  lane->idle_caches.push_back(cache);
}

void PoolState::DisableThreadCaches() {
  plain_.fetch_add(1, std::memory_order_seq_cst);
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) cache->Revoke();
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) {
      FlushLarge(lane, cache.get());
      FlushSmall(lane, cache.get());
      Fold(lane, cache.get());
    }
  }
}

void PoolState::EnableThreadCaches() {
  if (plain_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) cache->Return();
  }
}

void PoolState::FlushLarge(Lane* lane, ThreadCache* cache) {
  if (Block* block = cache->TakeLarge()) ReturnToHeap(lane, block);
}

void PoolState::FlushSmall(Lane* lane, ThreadCache* cache) {
  cache->TakeSmall([&](Block* block) {
    lane->lock.AssertHeld();
    ReturnToHeap(lane, block);
  });
}

void PoolState::FlushOthers(Lane* lane) {
  for (const std::unique_ptr<ThreadCache>& cache : lane->caches) {
    cache->Revoke();
    FlushLarge(lane, cache.get());
    FlushSmall(lane, cache.get());
    Fold(lane, cache.get());
    if (caches_allowed()) cache->Return();
  }
}

Heap* PoolState::HeapFor(Lane* lane, size_t bytes) {
  return bytes < settings.small && lane->volume.load(std::memory_order_relaxed) > kSplitVolume ? &lane->small
                                                                                               : &lane->large;
}

Status PoolState::CheckRequest(size_t bytes, size_t* out_rounded) const {
  MP_REQUIRE(bytes != 0, "a block of 0 bytes was requested; request at least 1");
  MP_CHECK(bytes <= total_bytes, kOutOfMemory, "a block of %zu bytes was requested; device %d has %zu bytes in total",
           bytes, device, total_bytes);
  *out_rounded = RoundUp(bytes, kUnit) + 2 * red_zone;
  return Ok();
}

// What a new block needs for red zones, history and recordings.
Status PoolState::Prepare(Lane* lane, const Block& block, Address* out_address) {
  const Address address = block.address + red_zone;
  if (red_zone != 0) {
    const size_t tail = block.bytes - red_zone - block.requested;
    MP_RETURN_IF_ERROR(source->Fill(block.address, red_zone, kRedZoneByte, lane->stream()));
    MP_RETURN_IF_ERROR(source->Fill(address + block.requested, tail, kRedZoneByte, lane->stream()));
  }
  if (recording_.load(std::memory_order_relaxed)) RecordAllocation(address, block.requested, lane->stream());
  if (settings.history != 0) Remember(HistoryEntry::Action::kAllocate, address, block.requested, lane->stream());
  *out_address = address;
  return Ok();
}

Status PoolState::AllocateSlow(size_t bytes, StreamKey stream, Address advice, Address* out_address) {
  MP_RETURN_IF_ERROR(CheckNotForked());
  size_t rounded = 0;
  MP_RETURN_IF_ERROR(CheckRequest(bytes, &rounded));
  if (following_.load(std::memory_order_acquire) && advice == 0 && Planned(bytes, stream, out_address)) return Ok();
  const CacheNote& note = t_notes[NoteIndex(stream)];
  const bool noted = note.pool == id && note.stream == stream && !note.cache->closed();
  Lane* lane = noted ? note.cache->lane() : LaneOf(stream);
  ThreadCache* cache = nullptr;
  if (caches_allowed() && stream != 0) cache = noted ? note.cache : FindCache(lane);
  Block* block = nullptr;
  {
    MutexLock lock(lane->lock);
    block = TakeFromLane(lane, cache, rounded, advice);
    if (block != nullptr) Account(lane, cache, block, bytes);
  }
  if (block == nullptr) {
    if (Status status = AllocateByGrowth(lane, rounded, &block); !status.ok()) {
      counters_.failures.fetch_add(1, std::memory_order_relaxed);
      if (settings.history != 0) {
        const size_t most = settings.limit != 0 ? settings.limit : source->total_bytes();
        const size_t reserved = counters_.reserved.load(std::memory_order_relaxed);
        Remember(HistoryEntry::Action::kOutOfMemory, most - std::min(most, reserved), bytes, stream);
      }
      return status;
    }
    MutexLock lock(lane->lock);
    Account(lane, cache, block, bytes);
  }
  if (cache != nullptr) {  // then nothing needs to see every call
    *out_address = block->address;
    return Ok();
  }
  try {
    Status status = Prepare(lane, *block, out_address);
    if (!status.ok()) PutBack(lane, block);
    return status;
  } catch (const std::bad_alloc&) {
    PutBack(lane, block);
    throw;
  }
}

// As if it had never been allocated.
void PoolState::PutBack(Lane* lane, Block* block) {
  MutexLock lock(lane->lock);
  lane->tally.Add({.live = -static_cast<int64_t>(block->requested),
                   .used = -static_cast<int64_t>(block->bytes),
                   .allocations = uint64_t{0} - 1});
  block->span->heap->Put(block, ++lane->serial);
}

// From the lane's free memory. Needs the lane's lock.
Block* PoolState::TakeFromLane(Lane* lane, ThreadCache* cache, size_t rounded, Address advice) {
  if (!lane->pending.empty()) PollPending(lane);
  Heap* heap = HeapFor(lane, rounded);
  if (cache != nullptr && (heap == &lane->large || advice != 0)) FlushLarge(lane, cache);
  if (advice > red_zone) {
    if (cache != nullptr) FlushSmall(lane, cache);
    const Address start = advice - red_zone;
    Span* span = start % kUnit == 0 ? spans.Find(start) : nullptr;
    if (span != nullptr && span->heap->lane() == lane && span->Holds(start + rounded - 1)) {
      if (Block* block = span->heap->TakeAt(start, rounded)) return block;
    }
  }
  Block* block = heap->Take(rounded);
  if (block == nullptr && cache != nullptr && heap == &lane->small) {
    FlushSmall(lane, cache);
    block = heap->Take(rounded);
  }
  return block;
}

void PoolState::Account(Lane* lane, ThreadCache* cache, Block* block, size_t requested) {
  block->requested = requested;
  if (settings.history != 0) block->since_ns = NowNs();
  lane->volume.store(lane->volume.load(std::memory_order_relaxed) + block->bytes, std::memory_order_relaxed);
  if (cache == nullptr) return Count(&lane->tally, Allocated(requested, block->bytes));
  cache->CountAllocation(requested, block->bytes);
  FoldIfDue(lane, cache);
}

Pool::Pool(PageSource* source, const Settings& settings, int32_t device)
    : state_(std::make_unique<PoolState>(source, settings, device)), id_(state_->id) {}

Pool::~Pool() {
  if (!CheckNotForked().ok()) {
    static_cast<void>(state_.release());  // the parent's
    return;
  }
  {
    MutexLock lock(Pools().lock);
    Pools().pools.erase(state_->id);
  }
  state_.reset();
}

bool Pool::AllocateFast(size_t bytes, StreamKey stream, Address* out_address) {
  const CacheNote& note = t_notes[NoteIndex(stream)];
  ThreadCache* cache = note.cache;
  if (__builtin_expect(note.pool != id_ || note.stream != stream || !cache->Enter(), false)) return false;
  const size_t rounded = RoundUp(bytes, kUnit);
  Block* block = rounded != 0 ? cache->Pop(rounded) : nullptr;
  if (block != nullptr) {
    block->requested = bytes;
    block->state.store(Block::State::kLive, std::memory_order_relaxed);
    cache->CountAllocation(bytes, rounded);
    *out_address = block->address;
  }
  cache->Leave();
  return block != nullptr;
}

Status Pool::Allocate(size_t bytes, StreamKey stream, Address* out_address) {
  return AllocateFast(bytes, stream, out_address) ? Ok() : AllocateSlow(bytes, stream, out_address);
}

Status Pool::AllocateSlow(size_t bytes, StreamKey stream, Address* out_address) {
  return state_->AllocateSlow(bytes, stream, 0, out_address);
}

Status Pool::AllocateAt(size_t bytes, StreamKey stream, Address advice, Address* out_address) {
  return state_->AllocateSlow(bytes, stream, advice, out_address);
}

bool Pool::FreeFast(Address address, StreamKey stream) {
  const CacheNote& note = t_notes[NoteIndex(stream)];
  ThreadCache* cache = note.cache;
  if (__builtin_expect(note.pool != id_ || note.stream != stream || !cache->Enter(), false)) return false;
  bool done = false;
  Block* block = cache->Find(address);
  if (block != nullptr && block->Is(Block::State::kLive) && !block->recorded && cache->Push(block)) {
    block->state.store(Block::State::kCached, std::memory_order_relaxed);
    cache->CountFree(block->requested, block->bytes);
    done = true;
  }
  cache->Leave();
  return done;
}

Status Pool::Free(Address address, StreamKey stream) {
  return FreeFast(address, stream) ? Ok() : FreeSlow(address, stream);
}

Status Pool::FreeSlow(Address address, StreamKey stream) { return state_->FreeSlow(address, stream, false); }

Status Pool::Free(Address address) { return state_->FreeSlow(address, 0, true); }
Status Pool::RecordStream(Address address, StreamKey stream) { return state_->RecordStream(address, stream); }
Status Pool::Tag(Address address, const char* tag) { return state_->Tag(address, tag); }
bool Pool::Find(Address address, Address* out_start, size_t* out_bytes) const {
  return state_->FindBlock(address, out_start, out_bytes);
}
void Pool::ForgetStream(StreamKey stream) { state_->ForgetStream(stream); }
Status Pool::Trim(size_t keep_bytes, bool wait) { return state_->Trim(keep_bytes, wait); }
void Pool::set_limit(size_t bytes) { std::atomic_ref(state_->settings.limit).store(bytes, std::memory_order_relaxed); }
void Pool::set_keep(size_t bytes) { std::atomic_ref(state_->settings.keep).store(bytes, std::memory_order_relaxed); }
Statistics Pool::GetStatistics() const { return state_->GetStatistics(); }
void Pool::ResetHighs() { state_->ResetHighs(); }
Snapshot Pool::TakeSnapshot() const { return state_->TakeSnapshot(); }
Status Pool::StartRecording() { return state_->StartRecording(); }
Status Pool::StopRecording(const UseRecording& use) { return state_->StopRecording(use); }
Status Pool::Follow(const Plan& plan) { return state_->Follow(plan); }
Status Pool::BeginRun() { return state_->BeginRun(); }
Status Pool::EndRun() { return state_->EndRun(); }
Status Pool::Unfollow() { return state_->Unfollow(); }
int32_t Pool::device() const { return state_->device; }
const Settings& Pool::settings() const { return state_->settings; }

}  // namespace millpond::pool
