// SPDX-License-Identifier: Apache-2.0
// Calls of the host in which ranks tell each other something: as operations of the communicator, so they are compared,
// bounded in time and carried between hosts like any other, and the calling thread waits for them.
#ifndef MILLPOND_SRC_COMM_HOST_EXCHANGE_H_
#define MILLPOND_SRC_COMM_HOST_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/comm/communicator.h"

namespace millpond::comm {

// Who asks, for messages to people. `api` lives for ever.
struct HostCall {
  const char* api;
  const void* caller;
};

// Every rank gives `bytes` bytes, and `all` has everybody's in the order of the ranks.
Status GatherOnHost(const CommunicatorPtr& comm, const HostCall& call, const void* mine, size_t bytes, void* all);

// Each of `peers`, which call this with this rank among theirs, is given the bytes; `theirs` has one part for each.
Status SwapOnHost(const CommunicatorPtr& comm, const HostCall& call, std::span<const uint32_t> peers, const void* mine,
                  size_t bytes, void* theirs);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_HOST_EXCHANGE_H_
