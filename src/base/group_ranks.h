// SPDX-License-Identifier: Apache-2.0
// How many ranks a communicator's group has, for those who know its name and not src/comm: graph collectives.
#ifndef MILLPOND_SRC_BASE_GROUP_RANKS_H_
#define MILLPOND_SRC_BASE_GROUP_RANKS_H_

#include <cstdint>
#include <string_view>

namespace millpond {

inline constexpr int64_t kUnknownGroup = -1;

// 1 for a name that nobody has in a process that has no other ranks; kUnknownGroup for one in a process that has.
int64_t RanksOfGroup(std::string_view name);
// Whoever keeps the communicators says how; called once there is one of several ranks.
void SetRanksOfGroup(int64_t (*ranks_of)(std::string_view name));

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_GROUP_RANKS_H_
