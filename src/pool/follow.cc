// SPDX-License-Identifier: Apache-2.0
// Recording a run, and following a plan made from it.
#include <algorithm>
#include <new>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

Status PoolState::StartRecording() {
  {
    MutexLock lock(plan_lock_);
    MP_REQUIRE(recorder_ == nullptr || recorder_->stopped, "a recording is already active; stop it first");
    MP_REQUIRE(recorder_ == nullptr,
               "the last recording (%zu steps) could not be written and is kept; stop it again with a file that can be "
               "written, such as /dev/null to drop it",
               recorder_->recording.steps.size());
    MP_REQUIRE(follower_ == nullptr, "a plan is being followed; record without it (millpondPoolUnfollow)");
    recorder_ = std::make_shared<Recorder>();
    recording_.store(true, std::memory_order_release);
  }
  DisableThreadCaches();  // takes the lanes' locks, which are outside plan_lock_
  return Ok();
}

Status PoolState::StopRecording(const Pool::UseRecording& use) {
  std::shared_ptr<Recorder> recorder;
  bool was_active = false;
  {
    MutexLock lock(plan_lock_);
    MP_REQUIRE(recorder_ != nullptr, "no recording is active; start one first");
    recording_.store(false, std::memory_order_release);
    was_active = !std::exchange(recorder_->stopped, true);
    recorder = recorder_;
  }
  if (was_active) EnableThreadCaches();
  MP_RETURN_IF_ERROR(use(recorder->recording));
  MutexLock lock(plan_lock_);
  if (recorder_ == recorder) recorder_.reset();
  return Ok();
}

void PoolState::RecordAllocation(Address address, size_t bytes, StreamKey stream) {
  MutexLock lock(plan_lock_);
  if (recorder_ == nullptr || recorder_->stopped) return;
  std::vector<Step>& steps = recorder_->recording.steps;
  // Everything that may throw comes first, and a free later finds room for its step.
  const auto reserve = [](auto& list, size_t count) {
    if (list.capacity() < count) list.reserve(std::max(count, 2 * list.capacity()));
  };
  reserve(recorder_->step_of, recorder_->step_of.size() + 1);
  reserve(steps, steps.size() + recorder_->live.size() + 2);
  const auto id = static_cast<uint32_t>(recorder_->step_of.size());
  const auto live = recorder_->live.insert_or_assign(address, id).first;
  uint32_t index = 0;
  try {
    index = recorder_->streams.try_emplace(stream, static_cast<uint32_t>(recorder_->streams.size())).first->second;
  } catch (const std::bad_alloc&) {
    recorder_->live.erase(live);
    throw;
  }
  recorder_->step_of.push_back(steps.size());
  steps.push_back({.allocate = true, .id = id, .stream = index, .bytes = bytes});
}

// Blocks from before the recording are not part of it.
void PoolState::RecordFree(Address address) {
  MutexLock lock(plan_lock_);
  if (recorder_ == nullptr || recorder_->stopped) return;
  const auto found = recorder_->live.find(address);
  if (found == recorder_->live.end()) return;
  const Step& allocation = recorder_->recording.steps[recorder_->step_of[found->second]];
  const Step step{.allocate = false, .id = found->second, .stream = allocation.stream, .bytes = allocation.bytes};
  recorder_->recording.steps.push_back(step);
  recorder_->live.erase(found);
}

// Needs grow_. Memory for one stream of a plan; on failure only spare pages remain.
Status PoolState::MakeArea(size_t wanted, Follower::Area* area) {
  if (page_bytes == 0) {
    area->bytes = wanted;
    MP_RETURN_IF_ERROR(Charge(wanted));
    Status status = source->NewSegment(wanted, &area->address);
    status.ok() ? CountTaken() : Discharge(wanted);
    return status;
  }
  area->bytes = RoundUp(wanted, page_bytes);
  const size_t count = area->bytes / page_bytes;
  area->pages.reserve(count);
  spare_.reserve(spare_.size() + count);  // for the way back, where nothing may fail
  while (area->pages.size() < count && !spare_.empty()) {
    area->pages.push_back(spare_.back());
    spare_.pop_back();
  }
  size_t mapped = 0;
  const auto undo = [&] {
    grow_.AssertHeld();
    for (size_t i = 0; i < mapped; ++i) source->Unmap(area->address + i * page_bytes, area->pages[i]).Ignore();
    if (area->address != 0) source->Unreserve(area->address, area->bytes);
    spare_.insert(spare_.end(), area->pages.begin(), area->pages.end());
  };
  try {
    Status status = NewPages(count - area->pages.size(), &area->pages);
    if (status.ok()) status = source->Reserve(area->bytes, &area->address);
    while (status.ok() && mapped < count) {
      status = source->Map(area->address + mapped * page_bytes, area->pages[mapped]);
      if (status.ok()) ++mapped;
    }
    if (!status.ok()) undo();
    return status;
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
}

Status PoolState::Follow(const Plan& plan) {
  // Whether blocks that are live together overlap is checked as they are placed (Planned): a plan has no lifetimes.
  MP_RETURN_IF_ERROR(plan.ValidatePlaces(kUnit));
  MutexLock grow(grow_);
  {
    MutexLock lock(plan_lock_);
    MP_REQUIRE(follower_ == nullptr, "a plan is being followed already; end that first (millpondPoolUnfollow)");
    MP_REQUIRE(recorder_ == nullptr || recorder_->stopped, "a recording is active; stop it first");
    MP_CHECK(red_zone == 0, kUnsupported,
             "plans leave no room for red zones; follow them without MILLPOND_POOL_RED_ZONE");
    auto follower = std::make_unique<Follower>();
    follower->places = plan.places.size();
    follower->areas.reserve(plan.area_bytes.size());
    follower_ = std::move(follower);
    try {
      for (const size_t wanted : plan.area_bytes) {
        Follower::Area area;
        if (Status status = MakeArea(wanted, &area); !status.ok()) {
          DropAreas();
          return std::move(status).Prefixed("cannot allocate the plan's memory");
        }
        follower_->areas.push_back(std::move(area));
      }
      std::vector<Address> starts;
      for (const Follower::Area& area : follower_->areas) starts.push_back(area.address);
      follower_->blocks = PlacedBlocks(plan, starts);
    } catch (const std::bad_alloc&) {
      if (follower_ != nullptr) DropAreas();
      throw;
    }
    following_.store(true, std::memory_order_release);
  }
  DisableThreadCaches();  // takes the lanes' locks, which are outside plan_lock_
  return Ok();
}

// Needs grow_ and plan_lock_; nothing in the areas is live.
void PoolState::DropAreas() {
  for (Follower::Area& area : follower_->areas) {
    Ticket ticket = 0;
    // A stream that took over from an earlier one was ordered after it.
    const StreamKey user = area.stream != 0 ? area.stream : area.last;
    try {
      if (user != 0 && source->Mark(user, &ticket).ok() && ticket != 0) {
        source->Await(ticket).Ignore();  // a stream that failed is done as well
      }
    } catch (const std::bad_alloc&) {  // the text of a failure
    }
    if (ticket != 0) source->Drop(ticket);
    if (page_bytes == 0) {
      source->DeleteSegment(area.address, area.bytes);
      Discharge(area.bytes);
      continue;
    }
    for (size_t i = 0; i < area.pages.size(); ++i) {
      source->Unmap(area.address + i * page_bytes, area.pages[i]).Ignore();  // nothing else could be done
      if (spare_.size() == spare_.capacity()) DeleteSparePage();             // ending a plan must not fail
      spare_.push_back(area.pages[i]);
    }
    source->Unreserve(area.address, area.bytes);
  }
  follower_.reset();
}

Status PoolState::Unfollow() {
  MutexLock grow(grow_);
  {
    MutexLock lock(plan_lock_);
    if (follower_ == nullptr) return Ok();
    MP_REQUIRE(follower_->blocks.count() == 0, "%zu blocks that the plan placed are still live; free them first",
               follower_->blocks.count());
    following_.store(false, std::memory_order_release);
    DropAreas();
  }
  EnableThreadCaches();
  return Ok();
}

Status PoolState::BeginRun() {
  MutexLock lock(plan_lock_);
  MP_REQUIRE(follower_ != nullptr, "no plan is being followed; load one first (millpondPoolFollow)");
  MP_REQUIRE(!follower_->running, "a run is already active; end it first");
  follower_->running = true;
  follower_->diverged = false;
  follower_->cursor = 0;
  follower_->blocks.BeginRun();
  for (Follower::Area& area : follower_->areas) {
    if (area.live != 0 || area.stream == 0) continue;
    area.last = std::exchange(area.stream, 0);  // this run binds it again
  }
  return Ok();
}

Status PoolState::EndRun() {
  MutexLock lock(plan_lock_);
  MP_REQUIRE(follower_ != nullptr && follower_->running, "no run is active; begin one first");
  follower_->running = false;
  return Ok();
}

bool PoolState::Planned(size_t bytes, StreamKey stream, Address* out_address) {
  MutexLock lock(plan_lock_);
  if (follower_ == nullptr || !follower_->running || follower_->diverged) return false;
  const auto diverge = [&] {
    plan_lock_.AssertHeld();
    follower_->diverged = true;
    counters_.diverged.fetch_add(1, std::memory_order_relaxed);
    return false;
  };
  if (follower_->cursor >= follower_->places) return diverge();
  const PlacedBlocks::Spot& spot = follower_->blocks.at(follower_->cursor);
  Follower::Area& area = follower_->areas[spot.area];
  if (spot.requested != bytes || !follower_->blocks.IsFree(follower_->cursor)) return diverge();
  if (area.stream != stream && !Bind(&area, stream)) return diverge();
  follower_->blocks.Insert(follower_->cursor++);
  ++area.live;
  counters_.planned.store(counters_.planned.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Count(&planned_, Allocated(bytes, spot.bytes));
  *out_address = spot.address;
  return true;
}

// The area's first allocation of a run. A stream has one area: sharing another stream's would need events.
bool PoolState::Bind(Follower::Area* area, StreamKey stream) {
  if (area->stream != 0) return false;
  for (const Follower::Area& other : follower_->areas) {
    if (other.stream == stream) return false;
  }
  if (area->last != 0 && area->last != stream) {
    Ticket ticket = 0;
    Status ordered = source->Mark(area->last, &ticket);
    if (ordered.ok() && ticket != 0) ordered = source->Order(stream, ticket);
    if (ticket != 0) source->Drop(ticket);
    if (!ordered.ok()) return false;
  }
  area->stream = stream;
  return true;
}

bool PoolState::FreePlanned(Address address, StreamKey stream, bool own_stream, Status* out_status) {
  MutexLock lock(plan_lock_);
  if (follower_ == nullptr) return false;
  const PlacedBlocks::Spot* const spot = follower_->blocks.Find(address);
  if (spot == nullptr) {
    for (const Follower::Area& area : follower_->areas) {
      if (address - area.address >= area.bytes) continue;
      *out_status = Status(Code::kMemoryFree,
                           Format("%p is in the planned area of stream %p, but no live block starts "
                                  "there: freed twice, or inside a block",
                                  reinterpret_cast<const void*>(address), reinterpret_cast<const void*>(area.stream)));
      return true;
    }
    return false;
  }
  Follower::Area& area = follower_->areas[spot->area];
  if (!own_stream && stream != area.stream) {
    // The area's stream reuses the memory at once, so its work must come after the other stream's.
    Ticket ticket = 0;
    *out_status = source->Mark(stream, &ticket);
    if (out_status->ok() && ticket != 0) *out_status = source->Order(area.stream, ticket);
    if (ticket != 0) source->Drop(ticket);
    if (!out_status->ok()) return true;
  }
  Count(&planned_, Freed(spot->requested, spot->bytes));
  follower_->blocks.Erase(*spot);
  --area.live;
  return true;
}

}  // namespace millpond::pool
