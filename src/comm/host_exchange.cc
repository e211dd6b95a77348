// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host_exchange.h"

#include <cstring>
#include <memory>
#include <utility>

#include "src/comm/collective.h"
#include "src/comm/messages.h"

namespace millpond::comm {

Status GatherOnHost(const CommunicatorPtr& comm, const HostCall& call, const void* mine, size_t bytes, void* all) {
  if (comm->ranks == 1) {
    std::memcpy(all, mine, bytes);
    return Ok();
  }
  CollectiveSpec spec;
  spec.api = spec.whole = call.api;
  spec.caller = call.caller;
  spec.operation = Operation::kAllGather;
  spec.type = Element::kUint8;
  spec.count = bytes;
  spec.send = static_cast<const char*>(mine);
  spec.receive = static_cast<char*>(all);
  for (uint32_t i = 0; i < comm->ranks; ++i) spec.receive_parts.push_back({i * bytes, bytes});
  return CollectiveRun(comm, std::make_shared<const CollectiveSpec>(std::move(spec)), /*replay=*/false).RunHere();
}

Status SwapOnHost(const CommunicatorPtr& comm, const HostCall& call, std::span<const uint32_t> peers, const void* mine,
                  size_t bytes, void* theirs) {
  BatchSpec spec;
  spec.api = call.api;
  for (size_t i = 0; i < peers.size(); ++i) {
    char* const place = static_cast<char*>(theirs) + i * bytes;
    spec.messages.push_back(
        {true, const_cast<void*>(mine), bytes, Element::kUint8, peers[i], bytes, call.caller, 0, call.api});
    spec.messages.push_back({false, place, bytes, Element::kUint8, peers[i], bytes, call.caller, 0, call.api});
  }
  return BatchRun(comm, std::make_shared<const BatchSpec>(std::move(spec)), /*replay=*/false).RunHere();
}

}  // namespace millpond::comm
