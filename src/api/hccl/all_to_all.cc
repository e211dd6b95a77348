// SPDX-License-Identifier: Apache-2.0
// From every rank to every rank. What one sends to another must be what that one expects; the ranks compare it
// themselves.
#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"
#include "src/device/memory/memory.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using comm::Operation;
using comm::Part;

namespace {

// One side of an exchange: what goes to, or comes from, each rank.
struct Side {
  const void* buffer;
  std::vector<Part> parts;
};

bool Moves(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (part.bytes != 0) return true;
  }
  return false;
}

Outcome Exchange(Prepared prepared, Side send, HcclDataType sendType, Side receive, HcclDataType recvType) {
  const comm::Communicator& comm = *prepared.place.comm;
  const size_t sent = send.parts[comm.rank].bytes, received = receive.parts[comm.rank].bytes;
  const bool moves = Moves(send.parts) || Moves(receive.parts);
  if (comm.ranks == 1 && !moves) return Ok();
  if (sendType != recvType) {
    return InvalidParameter("recvType", Format("it is %d and sendType is %d; they must be equal",
                                               static_cast<int>(recvType), static_cast<int>(sendType)));
  }
  if (sent != received) {
    return InvalidParameter("recvCounts", Format("rank %u sends %zu elements to itself and expects %zu", comm.rank,
                                                 sent / BytesOf(sendType), received / BytesOf(sendType)));
  }
  if (moves && send.buffer == receive.buffer) {
    return InvalidParameter("recvBuf", "it is the same as sendBuf, which this operation does not allow");
  }
  prepared.spec.send = static_cast<const char*>(send.buffer);
  prepared.spec.receive = static_cast<char*>(const_cast<void*>(receive.buffer));
  prepared.spec.send_parts = std::move(send.parts);
  prepared.spec.receive_parts = std::move(receive.parts);
  return Launch(prepared);
}

}  // namespace

extern "C" HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                                   uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAlltoAll";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    const Request request{kApi, caller, comm, stream};
    if (sendCount == 0 && recvCount == 0) {
      NoteEmptyCall(request, Operation::kAlltoAll, sendType);
      return Ok();
    }
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare(request, Operation::kAlltoAll, sendCount, sendType, &prepared));
    const uint32_t ranks = prepared.place.comm->ranks;
    size_t received = 0;
    MP_RETURN_IF_ERROR(SizeOf(recvCount, recvType, &received));
    const size_t sent = prepared.bytes;
    return Exchange(std::move(prepared), {sendBuf, EqualParts(ranks, sent)}, sendType,
                    {recvBuf, EqualParts(ranks, received)}, recvType);
  });
}

extern "C" HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                    HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                    const void* rdispls, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAlltoAllV";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kAlltoAllV, 0, sendType, &prepared));
    const uint32_t ranks = prepared.place.comm->ranks;
    Side send{sendBuf, {}}, receive{recvBuf, {}};
    MP_RETURN_IF_ERROR(ReadParts("sendCounts", sendCounts, "sdispls", sdispls, ranks, sendType, &send.parts));
    MP_RETURN_IF_ERROR(ReadParts("recvCounts", recvCounts, "rdispls", rdispls, ranks, recvType, &receive.parts));
    return Exchange(std::move(prepared), std::move(send), sendType, std::move(receive), recvType);
  });
}

extern "C" HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                                     const void* recvBuf, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAlltoAllVC";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    MP_NOT_NULL(sendCountMatrix);
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kAlltoAllVC, 0, sendType, &prepared));
    const comm::Communicator& found = *prepared.place.comm;
    const auto* matrix = static_cast<const uint64_t*>(sendCountMatrix);
    const size_t last = size_t{found.ranks} * found.ranks - 1;
    if (!HostCanRead({matrix, matrix + last})) return acl::WildPointer("sendCountMatrix", matrix);
    Side send{sendBuf, std::vector<Part>(found.ranks)}, receive{recvBuf, std::vector<Part>(found.ranks)};
    size_t send_offset = 0, receive_offset = 0;  // the parts lie one after the other
    for (uint32_t i = 0; i < found.ranks; ++i) {
      send.parts[i].offset = send_offset;
      receive.parts[i].offset = receive_offset;
      MP_RETURN_IF_ERROR(SizeOf(matrix[found.rank * found.ranks + i], sendType, &send.parts[i].bytes));
      MP_RETURN_IF_ERROR(SizeOf(matrix[i * found.ranks + found.rank], recvType, &receive.parts[i].bytes));
      send_offset += send.parts[i].bytes;
      receive_offset += receive.parts[i].bytes;
    }
    return Exchange(std::move(prepared), std::move(send), sendType, std::move(receive), recvType);
  });
}
