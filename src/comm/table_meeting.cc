// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <thread>

#include "src/base/format.h"
#include "src/comm/expected.h"
#include "src/comm/local_door.h"
#include "src/comm/meeting.h"

namespace millpond::comm {

namespace {

constexpr auto kRetry = std::chrono::milliseconds(2);

// FNV-1a.
uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

std::string DoorOf(const std::string& table) {
  return Format("millpond-table-%u-%016llx-%zu", static_cast<unsigned>(geteuid()),
                static_cast<unsigned long long>(HashOf(table)), table.size());
}

// Not of another version, or out of memory: the offer that the key was for has ended meanwhile.
bool NobodyWaits(const Status& opened) { return opened.message().starts_with("[EI0015]"); }

}  // namespace

Status AskForWorld(const std::string& door, uint32_t ranks, Clock::time_point deadline,
                   std::shared_ptr<World>* out_world, bool* out_found) {
  *out_found = false;
  const std::string key = AskForKey(door, deadline);
  if (key.empty()) return Ok();
  Status opened = OpenWorld(key, ranks, out_world);
  if (!opened.ok()) return NobodyWaits(opened) ? Ok() : std::move(opened);
  *out_found = (*out_world)->header().meeting.load(std::memory_order_acquire) != MeetingState::kComplete;
  if (!*out_found) out_world->reset();
  return Ok();
}

Status OpenWorldByDoor(const std::string& door, uint32_t ranks, Clock::time_point deadline,
                       std::shared_ptr<World>* out_world) {
  for (;;) {
    bool found = false;
    MP_RETURN_IF_ERROR(AskForWorld(door, ranks, deadline, out_world, &found));
    if (found) return Ok();
    MP_CHECK(Clock::now() < deadline, kTaskTimeout,
             "[EI0015] rank 0 did not come to the meeting place of the rank table; start all ranks with the same "
             "file, or raise HCCL_CONNECT_TIMEOUT");
    MP_RETURN_IF_ERROR(Expected::Check());
    std::this_thread::sleep_for(kRetry);
  }
}

Status MeetByTable(const std::string& table, uint32_t ranks, uint32_t rank, int32_t device,
                   const RankSettings& settings, Clock::time_point deadline, std::shared_ptr<World>* out_world) {
  std::string key;
  if (rank != 0) {
    MP_RETURN_IF_ERROR(OpenWorldByDoor(DoorOf(table), ranks, deadline, out_world));
    MP_RETURN_IF_ERROR(TakeSeat(out_world->get(), rank, device, settings));
    return AwaitAll(out_world->get(), rank, deadline);
  }
  UniqueFd listener;
  bool taken = false;
  MP_RETURN_IF_ERROR(OpenDoor(DoorOf(table), &listener, &taken));
  MP_CHECK(
      !taken, kIpc,
      "[EI0019] the meeting place of this rank table (the abstract socket '%s') is taken; another job of this user "
      "has the same table, end it or give this job a table of its own",
      DoorOf(table).c_str());
  MP_RETURN_IF_ERROR(OfferWorld(&key));
  Status status = OpenWorld(key, ranks, out_world);
  if (status.ok()) status = TakeSeat(out_world->get(), rank, device, settings);
  if (status.ok()) {
    status = AwaitAll(out_world->get(), rank, deadline, [&] { GiveKeyAt(listener.get(), key); });
  }
  WithdrawWorld(key);
  return status;
}

}  // namespace millpond::comm
