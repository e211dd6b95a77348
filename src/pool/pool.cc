// SPDX-License-Identifier: Apache-2.0
#include "src/pool/pool.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "src/base/format.h"
#include "src/base/thread_local.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

namespace {

// A lane keeps small and large blocks together until it has handed out this much: two half-empty pages would be much
// for a stream of little use.
constexpr size_t kTogether = size_t{64} << 20;

thread_local FrontNote t_notes[kFrontNotes] MP_FAST_TLS = {};

// The child of a fork has one thread, which forgets its fronts, and device memory that is not its own: from then on
// every call takes the slow path and is refused there, before it meets a lock that no thread is left to release.
std::atomic<bool> g_forked{false};
void ForgetInChild() {
  for (FrontNote& note : t_notes) note = {};
  g_forked.store(true, std::memory_order_relaxed);
}

// Pools that live, by number, for threads that end.
struct Directory {
  std::mutex lock;
  std::unordered_map<uint64_t, PoolState*> pools;
  uint64_t next = 1;
};
Directory& Pools() {
  static auto& directory = *new Directory;  // used by threads that end after static destruction
  return directory;
}

// Every front a thread has, so that they are given back when it ends.
struct ThreadFronts {
  std::vector<std::pair<uint64_t, Front*>> fronts;
  ~ThreadFronts() {
    for (FrontNote& note : t_notes) note = {};
    std::lock_guard lock(Pools().lock);
    for (const auto& [pool, front] : fronts) {
      const auto found = Pools().pools.find(pool);
      if (found != Pools().pools.end()) found->second->Abandon(front);
    }
  }
};
ThreadFronts& ThisThreadsFronts() {
  static thread_local ThreadFronts fronts;
  return fronts;
}

}  // namespace

Status CheckNotForked() {
  MP_CHECK(!g_forked.load(std::memory_order_relaxed), kForked,
           "this process was forked from one that uses the pool; device memory does not survive a fork: start a new "
           "process (exec, or Python's 'spawn') and make a pool there");
  return Ok();
}

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

FrontNote* FrontNotes() { return t_notes; }

PoolState::PoolState(PageSource* page_source, const Settings& wanted, int32_t device_number)
    : id([] {
        std::lock_guard lock(Pools().lock);
        return Pools().next++;
      }()),
      source(page_source),
      settings(wanted),
      device(device_number),
      red_zone(RoundUp(wanted.red_zone, kUnit)),
      page_bytes(wanted.vmm != 0 ? page_source->page_bytes() : 0),
      total_bytes(page_source->total_bytes()) {
  // Anything that must see each call keeps the fronts out.
  if (!Front::Supported() || settings.history != 0 || red_zone != 0 || settings.poison != 0 || settings.cache == 0) {
    plain_.store(1, std::memory_order_relaxed);
  }
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &ForgetInChild); });
  std::lock_guard lock(Pools().lock);
  Pools().pools[id] = this;
}

std::vector<Lane*> PoolState::Lanes() {
  std::shared_lock lock(lanes_lock_);
  std::vector<Lane*> lanes;
  lanes.reserve(lanes_.size());
  for (const std::unique_ptr<Lane>& lane : lanes_) lanes.push_back(lane.get());
  return lanes;
}

Lane* PoolState::LaneOf(StreamKey stream) {
  {
    std::shared_lock lock(lanes_lock_);
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  }
  std::unique_lock lock(lanes_lock_);
  if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second;
  Lane* lane = nullptr;
  if (!orphans_.empty()) {
    lane = orphans_.back();
    orphans_.pop_back();
    lane->set_stream(stream);
  } else {
    lanes_.push_back(std::make_unique<Lane>(stream, page_bytes));
    lane = lanes_.back().get();
  }
  by_stream_[stream] = lane;
  return lane;
}

Front* PoolState::FrontOf(Lane* lane) {
  const StreamKey stream = lane->stream();
  const FrontNote& note = t_notes[NoteIndex(stream)];
  const bool noted = note.pool == id && note.stream == stream && note.front->lane() == lane && !note.front->closed();
  return noted ? note.front : FindFront(lane);
}

Front* PoolState::FindFront(Lane* lane) {
  ThreadFronts& mine = ThisThreadsFronts();
  Front* front = nullptr;
  for (const auto& [pool, each] : mine.fronts) {
    if (pool == id && each->lane() == lane) front = each;
  }
  if (front != nullptr && front->closed()) {
    for (FrontNote& each : t_notes) {
      if (each.pool == id && each.front == front) each = {};
    }
    std::lock_guard lock(lane->lock);
    front->Reopen();
  } else if (front == nullptr) {
    std::lock_guard lock(lane->lock);
    if (!lane->idle_fronts.empty()) {
      front = lane->idle_fronts.back();
      lane->idle_fronts.pop_back();
    } else {
      lane->fronts.push_back(std::make_unique<Front>(lane, settings.small, settings.cache));
      front = lane->fronts.back().get();
    }
    mine.fronts.emplace_back(id, front);
    front->Reopen();
  }
  t_notes[NoteIndex(lane->stream())] = {.pool = id, .stream = lane->stream(), .front = front};
  return front;
}

void PoolState::Abandon(Front* front) {
  Lane* lane = front->lane();
  std::lock_guard lock(lane->lock);
  FlushLarge(lane, front);
  FlushSmall(lane, front);
  Fold(lane, front);
  front->Close();
  lane->idle_fronts.push_back(front);
}

void PoolState::DisableFronts() {
  plain_.fetch_add(1, std::memory_order_seq_cst);
  for (Lane* lane : Lanes()) {
    std::lock_guard lock(lane->lock);
    for (const std::unique_ptr<Front>& front : lane->fronts) front->Revoke();
    for (const std::unique_ptr<Front>& front : lane->fronts) {
      FlushLarge(lane, front.get());
      FlushSmall(lane, front.get());
      Fold(lane, front.get());
    }
  }
}

void PoolState::EnableFronts() {
  if (plain_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  for (Lane* lane : Lanes()) {
    std::lock_guard lock(lane->lock);
    for (const std::unique_ptr<Front>& front : lane->fronts) front->Return();
  }
}

void PoolState::FlushLarge(Lane* lane, Front* front) {
  if (Block* block = front->TakeLarge()) Settle(lane, block);
}

void PoolState::FlushSmall(Lane* lane, Front* front) {
  front->TakeSmall([&](Block* block) { Settle(lane, block); });
}

void PoolState::FlushOthers(Lane* lane) {
  for (const std::unique_ptr<Front>& front : lane->fronts) {
    front->Revoke();
    FlushLarge(lane, front.get());
    FlushSmall(lane, front.get());
    Fold(lane, front.get());
    if (fronts_allowed()) front->Return();
  }
}

Heap* PoolState::HeapFor(Lane* lane, size_t bytes) {
  return bytes < settings.small && lane->volume > kTogether ? &lane->small : &lane->large;
}

Status PoolState::CheckRequest(size_t bytes, size_t* out_rounded) const {
  MP_REQUIRE(bytes != 0, "a block of 0 bytes was asked for; ask for at least 1");
  MP_CHECK(bytes <= total_bytes, kOutOfMemory, "a block of %zu bytes was asked for; device %d has %zu bytes in all",
           bytes, device, total_bytes);
  *out_rounded = RoundUp(bytes, kUnit) + 2 * red_zone;
  return Ok();
}

// What a new block needs when the pool is to see everything.
Status PoolState::Prepare(Lane* lane, const Block& block, Address* out_address) {
  const Address address = block.address + red_zone;
  *out_address = address;
  if (settings.history != 0) Remember(HistoryEntry::Action::kAllocate, address, block.requested, lane->stream());
  if (recording_.load(std::memory_order_relaxed)) RecordAllocation(address, block.requested, lane->stream());
  if (red_zone == 0) return Ok();
  const size_t tail = block.bytes - red_zone - block.requested;
  MP_RETURN_IF_ERROR(source->Fill(block.address, red_zone, kRedZoneByte, lane->stream()));
  return source->Fill(address + block.requested, tail, kRedZoneByte, lane->stream());
}

Status PoolState::AllocateSlow(size_t bytes, StreamKey stream, Address advice, Address* out_address) {
  MP_RETURN_IF_ERROR(CheckNotForked());
  size_t rounded = 0;
  MP_RETURN_IF_ERROR(CheckRequest(bytes, &rounded));
  if (following_.load(std::memory_order_acquire) && advice == 0 && Planned(bytes, stream, out_address)) return Ok();
  const FrontNote& note = t_notes[NoteIndex(stream)];
  const bool noted = note.pool == id && note.stream == stream && !note.front->closed();
  Lane* lane = noted ? note.front->lane() : LaneOf(stream);
  Front* front = nullptr;
  if (fronts_allowed() && stream != 0) front = noted ? note.front : FindFront(lane);
  Block* block = nullptr;
  {
    std::lock_guard lock(lane->lock);
    block = TakeFromLane(lane, front, rounded, advice);
    if (block != nullptr) Account(lane, front, block, bytes);
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
    std::lock_guard lock(lane->lock);
    Account(lane, front, block, bytes);
  }
  if (front != nullptr) {  // then nobody needs to see each call
    *out_address = block->address;
    return Ok();
  }
  return Prepare(lane, *block, out_address);
}

// What is free here already. With the lane's lock.
Block* PoolState::TakeFromLane(Lane* lane, Front* front, size_t rounded, Address advice) {
  if (!lane->pending.empty()) PollPending(lane);
  Heap* heap = HeapFor(lane, rounded);
  if (front != nullptr && (heap == &lane->large || advice != 0)) FlushLarge(lane, front);
  if (advice > red_zone) {
    if (front != nullptr) FlushSmall(lane, front);
    const Address start = advice - red_zone;
    Span* span = start % kUnit == 0 ? spans.Find(start) : nullptr;
    if (span != nullptr && span->heap->lane() == lane && span->Holds(start + rounded - 1)) {
      if (Block* block = span->heap->TakeAt(start, rounded)) return block;
    }
  }
  Block* block = heap->Take(rounded);
  if (block == nullptr && front != nullptr && heap == &lane->small) {
    FlushSmall(lane, front);
    block = heap->Take(rounded);
  }
  return block;
}

void PoolState::Account(Lane* lane, Front* front, Block* block, size_t requested) {
  block->requested = requested;
  if (settings.history != 0) block->since_ns = NowNs();
  lane->volume += block->bytes;
  if (front == nullptr) return Count(&lane->tally, Allocated(requested, block->bytes));
  front->CountAllocation(requested, block->bytes);
  FoldIfDue(lane, front);
}

Pool::Pool(PageSource* source, const Settings& settings, int32_t device)
    : state_(std::make_unique<PoolState>(source, settings, device)), id_(state_->id) {}

Pool::~Pool() {
  if (!CheckNotForked().ok()) {
    state_.release();  // the parent's
    return;
  }
  {
    std::lock_guard lock(Pools().lock);
    Pools().pools.erase(state_->id);
  }
  state_.reset();
}

bool Pool::AllocateFast(size_t bytes, StreamKey stream, Address* out_address) {
  const FrontNote& note = t_notes[NoteIndex(stream)];
  Front* front = note.front;
  if (__builtin_expect(note.pool != id_ || note.stream != stream || !front->Enter(), false)) return false;
  const size_t rounded = RoundUp(bytes, kUnit);
  Block* block = rounded != 0 ? front->Pop(rounded) : nullptr;
  if (block != nullptr) {
    block->requested = bytes;
    block->state.store(Block::State::kLive, std::memory_order_relaxed);
    front->CountAllocation(bytes, rounded);
    *out_address = block->address;
  }
  front->Leave();
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
  const FrontNote& note = t_notes[NoteIndex(stream)];
  Front* front = note.front;
  if (__builtin_expect(note.pool != id_ || note.stream != stream || !front->Enter(), false)) return false;
  bool done = false;
  Block* block = front->Find(state_->spans, address);
  if (block != nullptr && block->Is(Block::State::kLive) && !block->recorded && front->Push(block)) {
    block->state.store(Block::State::kCached, std::memory_order_relaxed);
    front->CountFree(block->requested, block->bytes);
    done = true;
  }
  front->Leave();
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
Status Pool::StopRecording(Recording* out_recording) { return state_->StopRecording(out_recording); }
Status Pool::Follow(const Plan& plan) { return state_->Follow(plan); }
Status Pool::BeginRun() { return state_->BeginRun(); }
Status Pool::EndRun() { return state_->EndRun(); }
Status Pool::Unfollow() { return state_->Unfollow(); }
int32_t Pool::device() const { return state_->device; }
const Settings& Pool::settings() const { return state_->settings; }

}  // namespace millpond::pool
