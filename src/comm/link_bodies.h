// SPDX-License-Identifier: Apache-2.0
// What frames between hosts carry, where it is not a structure of World itself.
#ifndef MILLPOND_SRC_COMM_LINK_BODIES_H_
#define MILLPOND_SRC_COMM_LINK_BODIES_H_

#include <cstdint>

#include "src/comm/place.h"
#include "src/comm/world.h"

namespace millpond::comm {

struct SeatBody {
  int32_t pid = 0;
  int32_t device = 0;
  uint32_t buffer_mib = 0;
  int32_t deterministic = 0;
  char name[kNameBytes] = {};
};

struct HostBody {
  char label[sizeof(HostNote::label)] = {};
  char address[kAddressBytes] = {};  // where it takes connections of hosts that came later; port 0: nowhere
  uint32_t port = 0;
};

struct InvitationBody {
  uint64_t id = 0, members = 0;
  uint32_t generation = 0;
  MeetingPlace place{};
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_LINK_BODIES_H_
