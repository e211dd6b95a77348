// SPDX-License-Identifier: Apache-2.0
// From rank to rank. A rank may send to itself only where the receive is known at the same time, in a batch or a group:
// alone, as in the reference, a send to oneself is refused, because it would wait for a receive behind it.
#include <functional>
#include <utility>
#include <vector>

#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"
#include "src/comm/messages.h"
#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using comm::Group;
using comm::Message;

namespace {

Status MessageFrom(const void* caller, bool sends, const char* buffer_name, void* buffer, uint64_t count,
                   HcclDataType type, uint32_t peer, Message* out_message) {
  size_t bytes = 0;
  MP_RETURN_IF_ERROR(SizeOf(count, type, &bytes));
  if (bytes > 0) MP_RETURN_IF_ERROR(CheckBuffer(buffer_name, buffer, bytes));
  *out_message = {sends, buffer, bytes, static_cast<comm::Element>(type), peer, count, caller};
  return Ok();
}

Status MessageFrom(const void* caller, const HcclSendRecvItem& item, const comm::Communicator& comm,
                   Message* out_message) {
  MP_RETURN_IF_ERROR(CheckRank("remoteRank", item.remoteRank, comm));
  if (item.sendRecvType != HCCL_SEND && item.sendRecvType != HCCL_RECV) {
    return InvalidValue("sendRecvType", std::to_string(item.sendRecvType), "it must be HCCL_SEND or HCCL_RECV");
  }
  return MessageFrom(caller, item.sendRecvType == HCCL_SEND, "buf", item.buf, item.count, item.dataType,
                     item.remoteRank, out_message);
}

Outcome LaunchBatch(const char* api, const Place& place, std::span<const Message> messages) {
  if (Outcome resumed = CheckResumed(*place.comm); !resumed.ok()) return resumed;
  if (place.comm->ranks > 1) return comm::LaunchMessages(api, place.comm, place.stream, messages);
  std::vector<Transfer> transfers;
  MP_RETURN_IF_ERROR(comm::PairMessages(messages, &transfers));
  return comm::LaunchTransfers(api, place.stream, transfers);
}

// The context of a call while the group is launched, then the thread's own again.
class InContext {
 public:
  InContext() : before_(CurrentContext()) {}
  ~InContext() { SetCurrentContextForThread(before_); }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  Status Enter(const void* handle) {
    Context* const context = Contexts().Find(handle);
    MP_CHECK(context != nullptr, kInvalidHandle, "the context of a call in this group was destroyed before its end");
    SetCurrentContextForThread(context);
    return Ok();
  }

 private:
  Context* const before_;
};

// Items of one communicator and stream are one batch.
Outcome LaunchGroup(const char* api, std::vector<Group::Item> items) {
  InContext in;
  while (!items.empty()) {
    const auto first = items.front();
    std::vector<Message> batch;
    std::vector<Group::Item> rest;
    for (const Group::Item& item : items) {
      if (item.communicator == first.communicator && item.stream == first.stream) {
        batch.push_back(item.message);
      } else {
        rest.push_back(item);
      }
    }
    Place place;
    MP_RETURN_IF_ERROR(in.Enter(first.context));
    MP_RETURN_IF_ERROR(FindPlace(const_cast<void*>(first.communicator), first.stream, &place));
    if (Outcome launched = LaunchBatch(api, place, batch); !launched.ok()) return launched;
    items = std::move(rest);
  }
  return Ok();
}

Outcome SendOrReceive(const char* api, const void* caller, bool sends, void* buffer, uint64_t count,
                      HcclDataType dataType, const char* peer_name, uint32_t peer, HcclComm comm, aclrtStream stream) {
  Place place;
  MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
  MP_RETURN_IF_ERROR(CheckRank(peer_name, peer, *place.comm));
  Message message;
  MP_RETURN_IF_ERROR(
      MessageFrom(caller, sends, sends ? "sendBuf" : "recvBuf", buffer, count, dataType, peer, &message));
  Group& group = Group::OfThread();
  if (group.depth > 0) {
    group.items.push_back({comm, stream, place.stream->context()->handle(), message});
    return Ok();
  }
  if (peer == place.comm->rank) {
    return InvalidValue(peer_name, std::to_string(peer),
                        "it is this rank itself; put the send and its receive into one HcclBatchSendRecv, or between "
                        "HcclGroupStart and HcclGroupEnd");
  }
  return LaunchBatch(api, place, std::span<const Message>(&message, 1));
}

// Communicators that were to be made: all are tried, and the first failure is told.
Status FinishCommunicators(const std::vector<std::function<Status()>>& pending) {
  Status first;
  for (const auto& finish : pending) {
    Status status = finish();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace

extern "C" HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                               aclrtStream stream) {
  static constexpr char kApi[] = "HcclSend";
  return GuardOperation(kApi, [&](const void* caller) {
    return SendOrReceive(kApi, caller, true, sendBuf, count, dataType, "destRank", destRank, comm, stream);
  });
}

extern "C" HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                               aclrtStream stream) {
  static constexpr char kApi[] = "HcclRecv";
  return GuardOperation(kApi, [&](const void* caller) {
    return SendOrReceive(kApi, caller, false, recvBuf, count, dataType, "srcRank", srcRank, comm, stream);
  });
}

extern "C" HcclResult HcclBatchSendRecv(HcclSendRecvItem* sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                        aclrtStream stream) {
  static constexpr char kApi[] = "HcclBatchSendRecv";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (itemNum == 0) return Ok();
    MP_NOT_NULL(sendRecvInfo);
    Place place;
    MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
    std::vector<Message> messages(itemNum);
    for (uint32_t i = 0; i < itemNum; ++i)
      MP_RETURN_IF_ERROR(MessageFrom(caller, sendRecvInfo[i], *place.comm, &messages[i]));
    return LaunchBatch(kApi, place, messages);
  });
}

extern "C" HcclResult HcclGroupStart(void) {
  return Guard("HcclGroupStart", []() -> Outcome {
    ++Group::OfThread().depth;
    return Ok();
  });
}

extern "C" HcclResult HcclGroupEnd(void) {
  static constexpr char kApi[] = "HcclGroupEnd";
  return Guard(kApi, [&]() -> Outcome {
    Group& group = Group::OfThread();
    MP_REQUIRE(group.depth > 0, "no HcclGroupStart of this thread is open");
    if (--group.depth > 0) return Ok();
    Status made = FinishCommunicators(std::exchange(group.at_end, {}));
    if (!made.ok()) {
      group.items.clear();
      return made;
    }
    return LaunchGroup(kApi, std::exchange(group.items, {}));
  });
}
