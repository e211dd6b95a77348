// SPDX-License-Identifier: Apache-2.0
// From HCCL's handles and structures to src/comm's communicators.
#ifndef MILLPOND_SRC_API_HCCL_COMM_H_
#define MILLPOND_SRC_API_HCCL_COMM_H_

#include <cstdint>
#include <span>
#include <string>

#include "include/hccl/hccl_types.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/base/status.h"
#include "src/comm/communicator.h"
#include "src/comm/expected.h"

namespace millpond::hccl {

using comm::CommunicatorPtr;
using comm::RankSettings;

// Reads no more of the client's structure than its own header says there is.
Status ReadConfig(const HcclCommConfig* config, RankSettings* out_settings);

// A communicator of one rank. A name that is taken is refused.
Status CreateComm(const std::string& name, int32_t device, HcclComm* out_comm);
// The same over a world in which everybody has met.
Status CreateComm(std::shared_ptr<comm::World> world, uint32_t rank, int32_t device, const RankSettings& settings,
                  const std::string& default_name, bool is_sub, comm::Expected* expected, HcclComm* out_comm);
Status FindComm(HcclComm handle, CommunicatorPtr* out_comm);
Status DestroyComm(HcclComm handle);

// Guard for entry points whose first question is which communicator `comm` is; `body` is given it.
template <class Body>
inline HcclResult GuardComm(const char* api, HcclComm comm, Body&& body) {
  return Guard(api, [&]() -> Outcome {
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    return body(found);
  });
}
// The same for operations: see GuardOperation.
template <class Body>
inline HcclResult GuardCommOperation(const char* api, HcclComm comm, Body&& body,
                                     const void* caller = __builtin_return_address(0)) {
  return GuardComm(api, comm, [&](const CommunicatorPtr& found) -> Outcome { return body(found, caller); });
}

// Until when ranks are waited for that make a communicator, by the settings.
Status MeetingDeadline(Clock::time_point* out_deadline);
// The name of the communicator of a rank table, as documented.
inline constexpr char kWorldName[] = "hccl_world_group";
// By a rank table; blocks until all have come.
Status InitFromRankTable(const char* path, uint32_t rank, const RankSettings& settings, HcclComm* comm);
// The parent's ranks `members`, of which this one has the place `rank`.
Status MakeSub(const CommunicatorPtr& parent, std::span<const uint32_t> members, uint64_t id, uint32_t rank,
               const RankSettings& settings, HcclComm* out_sub);

// 0 < ranks, rank < ranks, and no more ranks than one host's communicator holds.
Status CheckRanks(uint32_t ranks, uint32_t rank);

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_COMM_H_
