// SPDX-License-Identifier: Apache-2.0
// A communicator whose operations were aborted is made usable again: its ranks meet anew, in a memory of their own, and
// the handle stands for what they made.
#include <algorithm>
#include <numeric>

#include "src/comm/communicator.h"

namespace millpond::comm {

namespace {

// Of sub-communicators' numbers; a client that has one of its own with this id and all ranks meets by a generation of
// its own.
constexpr uint64_t kResumeId = 0x6d70726573756d65;

bool SomebodyFailed(const World& world) {
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
    if (world.cell(rank).state.load(std::memory_order_acquire) == RankState::kFailed) return true;
  }
  return false;
}

}  // namespace

Status Resume(void* handle, Clock::time_point deadline) {
  const CommunicatorPtr old = Communicators::Get().Find(handle);
  MP_REQUIRE(old != nullptr, "%p is not a communicator, or it was destroyed", handle);
  if (old->world == nullptr || !SomebodyFailed(*old->world)) {
    old->suspended.store(false);
    return Ok();
  }
  MP_CHECK(
      !old->world->spans(), kIpc,
      "[EI0002] the communicator '%s' spans several hosts, and the way between them ended with its failure; make a "
      "new one",
      old->name.c_str());
  for (uint32_t rank = 0; rank < old->ranks; ++rank) {
    const RankState state = old->world->cell(rank).state.load();
    const std::string fate =
        state == RankState::kFailed ? old->peers.End(*old->world, rank) : old->peers.Fate(*old->world, rank);
    MP_CHECK(fate.empty(), kIpc, "[EI0002] the communicator '%s' cannot be resumed: rank %u %s; make a new one",
             old->name.c_str(), rank, fate.c_str());
  }
  std::vector<uint32_t> all(old->ranks);
  std::iota(all.begin(), all.end(), 0);
  RankSettings settings = old->settings;
  settings.name = old->name;
  std::shared_ptr<World> world;
  MP_RETURN_IF_ERROR(
      MeetInside(old.get(), all, kResumeId, old->rank, settings, deadline, &world, /*after_failure=*/true));
  CommunicatorPtr made;
  MP_RETURN_IF_ERROR(MakeCommunicator(std::move(world), old->rank, old->device, settings, old->name, &made));
  made->is_sub = old->is_sub;
  made->members = old->members;
  made->memory.TakeFrom(&old->memory);
  MP_REQUIRE(Communicators::Get().Replace(handle, std::move(made)), "another thread destroyed '%s' meanwhile",
             old->name.c_str());
  return Ok();
}

}  // namespace millpond::comm
