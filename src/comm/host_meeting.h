// SPDX-License-Identifier: Apache-2.0
// How ranks of several hosts find each other. On the host where the meeting place was made everything is as on one host
// (meeting.h). On every other host the first rank to come speaks for its host: it makes a world there, connects to the
// place's address, shows that it has the secret, and from then on a Link keeps the two worlds alike.
#ifndef MILLPOND_SRC_COMM_HOST_MEETING_H_
#define MILLPOND_SRC_COMM_HOST_MEETING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/comm/meeting.h"
#include "src/comm/place.h"
#include "src/comm/rank_table.h"
#include "src/comm/world.h"

namespace millpond::comm {

// Makes a world and offers it; with `listens`, to other hosts as well, at `address` or, if that is empty, at the one
// that HCCL's variables choose. `identity` is this host's. Until WithdrawWorld.
Status OfferPlace(bool listens, const std::string& address, const std::string& identity, MeetingPlace* out_place);
// This host's world of the place.
Status OpenPlace(const MeetingPlace& place, const std::string& identity, uint32_t ranks, Clock::time_point deadline,
                 std::shared_ptr<World>* out_world);

// Ranks of a table with several servers: rank 0 listens at the address that the table gives for its server. The table's
// text is the secret.
Status MeetByServers(const RankTable& table, uint32_t rank, int32_t device, const RankSettings& settings,
                     Clock::time_point deadline, std::shared_ptr<World>* out_world);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_HOST_MEETING_H_
