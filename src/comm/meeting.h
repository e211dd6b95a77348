// SPDX-License-Identifier: Apache-2.0
// How ranks find each other on one host; host_meeting.h has what comes on top with several.
//
// One process makes the memory of the world to be and offers it at its broker (src/device/share/broker.h); the key is
// what HcclRootInfo carries. Whoever has the key and is this user gets the file, takes the seat of its rank and waits
// until every seat is taken. The memory decides by one word whether the meeting came about, so no rank goes on alone.
#ifndef MILLPOND_SRC_COMM_MEETING_H_
#define MILLPOND_SRC_COMM_MEETING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/comm/timeouts.h"
#include "src/comm/world.h"

namespace millpond::comm {

// What a rank is told when it joins; name, buffer and determinism must be equal on all ranks.
struct RankSettings {
  std::string name;
  uint32_t buffer_mib = 0;
  int32_t deterministic = -1;
  int32_t timeout_s = kNotConfigured;
  uint64_t window_gib = 16;  // at most in symmetric windows
};

// Makes a world and offers it under the key until Withdraw. One that is never withdrawn costs a descriptor and a page.
Status OfferWorld(std::string* out_key);
void WithdrawWorld(const std::string& key);
// The file of a world that this process offers.
SharedFd FileOfOffer(const std::string& key);
// The world of the key, from this process or another. EI0015 when there is none any more.
Status OpenWorld(const std::string& key, uint32_t ranks, std::shared_ptr<World>* out_world);

// The meeting is off, for the reason of whoever said so first; the answer is the reason given here.
Status CallOff(World* world, Code code, const std::string& reason);

// Takes the seat. EI0015 when somebody has it, or expects another number of ranks; the meeting is off then.
Status TakeSeat(World* world, uint32_t rank, int32_t device, const RankSettings& settings);
// Waits for the others; `idle` is called now and then. EI0015 naming who did not come, EI0016 naming settings that
// differ.
Status AwaitAll(World* world, uint32_t rank, Clock::time_point deadline, const std::function<void()>& idle = {});

// For a rank of a rank table: the world that the door of this name gives the key to, which stands for rank 0. A table
// serves one communicator after the other, so a world whose ranks have met is not the one that is looked for, and the
// door is asked again.
Status OpenWorldByDoor(const std::string& door, uint32_t ranks, Clock::time_point deadline,
                       std::shared_ptr<World>* out_world);
// One question: false when nobody is there yet, or somebody of an earlier communicator still.
Status AskForWorld(const std::string& door, uint32_t ranks, Clock::time_point deadline,
                   std::shared_ptr<World>* out_world, bool* out_found);

// Ranks of a rank table have no key to begin with: rank 0 gives it out at a socket whose name follows from the table's
// text and the user, to processes of this user only.
Status MeetByTable(const std::string& table, uint32_t ranks, uint32_t rank, int32_t device,
                   const RankSettings& settings, Clock::time_point deadline, std::shared_ptr<World>* out_world);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_MEETING_H_
