// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "src/comm/communicator.h"
#include "src/comm/expected.h"
#include "src/comm/host_meeting.h"

namespace millpond::comm {

namespace {

constexpr auto kRetry = std::chrono::microseconds(200);

uint64_t HashOf(const std::vector<uint32_t>& members) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint32_t member : members) hash = (hash ^ member) * 0x100000001b3;
  return hash;
}

struct Wanted {
  uint64_t id;
  uint64_t members;
  uint32_t generation;
};

Status Invite(RankCell* cell, const Wanted& wanted, const MeetingPlace& place, Invitation** out_posted) {
  for (Invitation& invitation : cell->invitations) {
    uint32_t expected = 0;
    if (!invitation.posted.compare_exchange_strong(expected, 1)) continue;  // 1: being written
    invitation.id = wanted.id;
    invitation.members = wanted.members;
    invitation.generation = wanted.generation;
    invitation.place = place;
    invitation.posted.store(2, std::memory_order_release);
    *out_posted = &invitation;
    return Ok();
  }
  return {Code::kOverLimit,
          Format("%zu sub-communicators of one parent are being made already; make fewer at a time", kInvitations)};
}

bool FindInvitation(const RankCell& cell, const Wanted& wanted, MeetingPlace* out_place) {
  for (const Invitation& invitation : cell.invitations) {
    if (invitation.posted.load(std::memory_order_acquire) != 2) continue;
    if (invitation.id == wanted.id && invitation.members == wanted.members &&
        invitation.generation == wanted.generation) {
      *out_place = invitation.place;
      return true;
    }
  }
  return false;
}

}  // namespace

Status MeetInside(Communicator* parent, const std::vector<uint32_t>& members, uint64_t id, uint32_t rank,
                  const RankSettings& settings, Clock::time_point deadline, std::shared_ptr<World>* out_world,
                  bool after_failure) {
  const auto ranks = static_cast<uint32_t>(members.size());
  const uint64_t hash = HashOf(members);
  const Wanted wanted{id, hash, parent->NextGeneration(id, hash)};
  const World& world = *parent->world;
  const std::string identity = TextOf(world.header().identity, sizeof(world.header().identity));
  MeetingPlace place;
  Invitation* posted = nullptr;
  if (rank == 0) {
    const bool spans = std::any_of(members.begin(), members.end(),
                                   [&](uint32_t member) { return world.cell(member).host.load() != 0; });
    MP_RETURN_IF_ERROR(OfferPlace(spans, TextOf(world.header().address, kAddressBytes), identity, &place));
    Status invited = Invite(&parent->own_cell(), wanted, place, &posted);
    if (!invited.ok()) {
      WithdrawWorld(place.key);
      return invited;
    }
    world.Ring();
  } else {
    while (!FindInvitation(world.cell(members[0]), wanted, &place)) {
      const std::string fate =
          after_failure ? parent->peers.End(world, members[0]) : parent->peers.Fate(world, members[0]);
      MP_CHECK(fate.empty(), kIpc, "[EI0015] rank %u of '%s', the first member of sub-communicator %llu, %s",
               members[0], parent->name.c_str(), static_cast<unsigned long long>(id), fate.c_str());
      MP_CHECK(Clock::now() < deadline, kTaskTimeout,
               "[EI0015] rank %u of '%s' did not come to sub-communicator %llu; every member calls "
               "HcclCreateSubCommConfig with the same list of ranks and the same subCommId",
               members[0], parent->name.c_str(), static_cast<unsigned long long>(id));
      MP_RETURN_IF_ERROR(Expected::Check());
      std::this_thread::sleep_for(kRetry);
    }
  }
  Status status = OpenPlace(place, identity, ranks, deadline, out_world);
  if (status.ok()) status = TakeSeat(out_world->get(), rank, parent->device, settings);
  if (status.ok()) status = AwaitAll(out_world->get(), rank, deadline);
  if (rank == 0) {
    posted->posted.store(0, std::memory_order_release);
    world.Ring();
    WithdrawWorld(place.key);
  }
  return status;
}

}  // namespace millpond::comm
