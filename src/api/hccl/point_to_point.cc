// SPDX-License-Identifier: Apache-2.0
// From rank to rank. A rank may send to itself only where the receive is known at the same time, in a batch or a group:
// alone, as in the reference, a send to oneself is refused, because it would wait for a receive behind it.
#include <utility>
#include <vector>

#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using acl::InvalidParameter;
using acl::InvalidValue;

namespace {

Status CheckPeer(const char* what, uint32_t peer) {
  if (peer < kRankSize) return Ok();
  return InvalidValue(what, std::to_string(peer), "the communicator's only rank is 0");
}

// The n-th send goes to the n-th receive: both are this rank's.
Outcome LaunchBatch(const char* api, const Place& place, std::span<const HcclSendRecvItem> items) {
  std::vector<Transfer> transfers;
  size_t sends = 0, receives = 0;
  for (const HcclSendRecvItem& item : items) {
    MP_RETURN_IF_ERROR(CheckPeer("remoteRank", item.remoteRank));
    if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV) {
      return InvalidValue("sendRecvType", std::to_string(item.sendRecvType), "it must be HCCL_SEND or HCCL_RECV");
    }
    size_t bytes = 0;
    MP_RETURN_IF_ERROR(SizeOf(item.count, item.dataType, &bytes));
    if (bytes > 0 && item.buf == nullptr) return acl::NullPointer("buf");
    const bool sending = item.sendRecvType == HCCL_SEND;
    const size_t index = sending ? sends++ : receives++;
    if (index == transfers.size()) transfers.push_back({nullptr, nullptr, bytes});
    Transfer& transfer = transfers[index];
    if (transfer.bytes != bytes) {
      return InvalidParameter("count", Format("send and receive number %zu of the batch differ: %zu and %zu bytes",
                                              index, transfer.bytes, bytes));
    }
    if (sending) {
      transfer.from = item.buf;
    } else {
      transfer.to = item.buf;
    }
  }
  if (sends != receives) {
    return InvalidParameter("itemNum",
                            Format("%zu sends and %zu receives: with one rank each send needs its receive in "
                                   "the same batch or group",
                                   sends, receives));
  }
  return Launch(api, place, transfers);
}

// Sends and receives between HcclGroupStart and HcclGroupEnd, per thread.
struct Group {
  struct Item {
    HcclComm comm;
    aclrtStream stream;
    HcclSendRecvItem item;
  };
  int depth = 0;
  std::vector<Item> items;
};
Group& ThreadGroup() {
  static thread_local Group group;
  return group;
}

Outcome LaunchGroup(const char* api, std::vector<Group::Item> items) {
  while (!items.empty()) {
    const HcclComm comm = items.front().comm;
    const aclrtStream stream = items.front().stream;
    std::vector<HcclSendRecvItem> batch;
    std::vector<Group::Item> rest;
    for (const Group::Item& item : items) {
      if (item.comm == comm && item.stream == stream) {
        batch.push_back(item.item);
      } else {
        rest.push_back(item);
      }
    }
    Place place;
    MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
    Outcome outcome = LaunchBatch(api, place, batch);
    if (!outcome.status.ok()) return outcome;
    items = std::move(rest);
  }
  return Ok();
}

Outcome SendOrReceive(HcclSendRecvType type, void* buffer, uint64_t count, HcclDataType dataType, const char* peer_name,
                      uint32_t peer, HcclComm comm, aclrtStream stream) {
  Place place;
  MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
  MP_RETURN_IF_ERROR(CheckPeer(peer_name, peer));
  size_t bytes = 0;
  MP_RETURN_IF_ERROR(SizeOf(count, dataType, &bytes));
  if (bytes > 0 && buffer == nullptr) return acl::NullPointer(type == HCCL_SEND ? "sendBuf" : "recvBuf");
  Group& group = ThreadGroup();
  if (group.depth > 0) {
    group.items.push_back({comm, stream, {type, buffer, count, dataType, peer}});
    return Ok();
  }
  return InvalidValue(peer_name, std::to_string(peer),
                      "it is this rank itself; put the send and its receive into one HcclBatchSendRecv, or between "
                      "HcclGroupStart and HcclGroupEnd");
}

}  // namespace

extern "C" HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                               aclrtStream stream) {
  return Guard("HcclSend",
               [&] { return SendOrReceive(HCCL_SEND, sendBuf, count, dataType, "destRank", destRank, comm, stream); });
}

extern "C" HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                               aclrtStream stream) {
  return Guard("HcclRecv",
               [&] { return SendOrReceive(HCCL_RECV, recvBuf, count, dataType, "srcRank", srcRank, comm, stream); });
}

extern "C" HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                        aclrtStream stream) {
  constexpr char kApi[] = "HcclBatchSendRecv";
  return Guard(kApi, [&]() -> Outcome {
    if (itemNum == 0) return Ok();
    MP_NOT_NULL(sendRecvInfo);
    Place place;
    MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
    return LaunchBatch(kApi, place, std::span<const HcclSendRecvItem>(sendRecvInfo, itemNum));
  });
}

extern "C" HcclResult HcclGroupStart(void) {
  return Guard("HcclGroupStart", []() -> Outcome {
    ++ThreadGroup().depth;
    return Ok();
  });
}

extern "C" HcclResult HcclGroupEnd(void) {
  constexpr char kApi[] = "HcclGroupEnd";
  return Guard(kApi, [&]() -> Outcome {
    Group& group = ThreadGroup();
    MP_REQUIRE(group.depth > 0, "no HcclGroupStart of this thread is open");
    if (--group.depth > 0) return Ok();
    return LaunchGroup(kApi, std::exchange(group.items, {}));
  });
}
