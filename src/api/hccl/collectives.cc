// SPDX-License-Identifier: Apache-2.0
// Collectives within one rank: a reduction of one value is that value, a gather of one part is that part.
#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using acl::InvalidParameter;
using acl::InvalidValue;

namespace {

// The one rank's entry of an array of counts or displacements.
Status EntryOf(const char* what, const void* array, uint64_t* out_entry) {
  if (array == nullptr) return acl::NullPointer(what);
  *out_entry = static_cast<const uint64_t*>(array)[kRank];
  return Ok();
}

// A buffer from element `displacement` on.
template <class Pointer>
Pointer At(Pointer buffer, uint64_t displacement, HcclDataType type) {
  if (buffer == nullptr) return buffer;
  return reinterpret_cast<Pointer>(reinterpret_cast<uintptr_t>(buffer) + displacement * BytesOf(type));
}

Status CheckSame(const char* what, uint64_t sent, uint64_t received) {
  if (sent == received) return Ok();
  return InvalidParameter(
      what, Format("the only rank sends %llu to itself and expects %llu", static_cast<unsigned long long>(sent),
                   static_cast<unsigned long long>(received)));
}

Status CheckApart(const void* sendBuf, const void* recvBuf) {
  if (sendBuf != recvBuf) return Ok();
  return InvalidParameter("recvBuf", "it is the same as sendBuf, which this operation does not allow");
}

Outcome Move(const char* api, HcclComm comm, aclrtStream stream, void* to, const void* from, uint64_t count,
             HcclDataType type) {
  if (count == 0) return Ok();  // as in the reference: nothing is looked at
  Place place;
  MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
  size_t bytes = 0;
  MP_RETURN_IF_ERROR(SizeOf(count, type, &bytes));
  if (from == nullptr) return acl::NullPointer("sendBuf");
  if (to == nullptr) return acl::NullPointer("recvBuf");
  return Launch(api, place, {to, from, bytes});
}

Outcome Reduce(const char* api, HcclComm comm, aclrtStream stream, void* to, const void* from, uint64_t count,
               HcclDataType type, HcclReduceOp op) {
  if (count == 0) return Ok();
  MP_RETURN_IF_ERROR(CheckReduction(type, op));
  for (const auto& [what, buffer] : {std::pair<const char*, const void*>{"sendBuf", from}, {"recvBuf", to}}) {
    if (reinterpret_cast<uintptr_t>(buffer) % BytesOf(type) != 0) {
      return InvalidValue(what, Format("%p", buffer), Format("it must be aligned to %zu bytes", BytesOf(type)));
    }
  }
  return Move(api, comm, stream, to, from, count, type);
}

Outcome Exchange(const char* api, HcclComm comm, aclrtStream stream, const void* recvBuf, uint64_t recvCount,
                 HcclDataType recvType, const void* sendBuf, uint64_t sendCount, HcclDataType sendType) {
  if (sendCount == 0 && recvCount == 0) return Ok();
  MP_RETURN_IF_ERROR(CheckSame("recvCounts", sendCount, recvCount));
  MP_RETURN_IF_ERROR(CheckSame("recvType", sendType, recvType));
  MP_RETURN_IF_ERROR(CheckApart(sendBuf, recvBuf));
  return Move(api, comm, stream, const_cast<void*>(recvBuf), sendBuf, sendCount, sendType);
}

}  // namespace

extern "C" HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                    HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAllReduce";
  return Guard(kApi, [&] { return Reduce(kApi, comm, stream, recvBuf, sendBuf, count, dataType, op); });
}

extern "C" HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                 uint32_t root, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclReduce";
  return Guard(kApi, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckRoot(root));
    return Reduce(kApi, comm, stream, recvBuf, sendBuf, count, dataType, op);
  });
}

extern "C" HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                        HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclReduceScatter";
  return Guard(kApi, [&] { return Reduce(kApi, comm, stream, recvBuf, sendBuf, recvCount, dataType, op); });
}

extern "C" HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                                         uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                         aclrtStream stream) {
  constexpr char kApi[] = "HcclReduceScatterV";
  return Guard(kApi, [&]() -> Outcome {
    uint64_t count = 0, displacement = 0;
    MP_RETURN_IF_ERROR(EntryOf("sendCounts", sendCounts, &count));
    MP_RETURN_IF_ERROR(EntryOf("sendDispls", sendDispls, &displacement));
    MP_RETURN_IF_ERROR(CheckSame("sendCounts", count, recvCount));
    return Reduce(kApi, comm, stream, recvBuf, At<const void*>(sendBuf, displacement, dataType), recvCount, dataType,
                  op);
  });
}

extern "C" HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                                    aclrtStream stream) {
  constexpr char kApi[] = "HcclBroadcast";
  return Guard(kApi, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckRoot(root));
    return Move(kApi, comm, stream, buf, buf, count, dataType);
  });
}

extern "C" HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                  uint32_t root, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclScatter";
  return Guard(kApi, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(CheckRoot(root));
    return Move(kApi, comm, stream, recvBuf, sendBuf, recvCount, dataType);
  });
}

extern "C" HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                                    HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAllGather";
  return Guard(kApi, [&] { return Move(kApi, comm, stream, recvBuf, sendBuf, sendCount, dataType); });
}

extern "C" HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                                     const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAllGatherV";
  return Guard(kApi, [&]() -> Outcome {
    uint64_t count = 0, displacement = 0;
    MP_RETURN_IF_ERROR(EntryOf("recvCounts", recvCounts, &count));
    MP_RETURN_IF_ERROR(EntryOf("recvDispls", recvDispls, &displacement));
    MP_RETURN_IF_ERROR(CheckSame("recvCounts", sendCount, count));
    MP_RETURN_IF_ERROR(CheckApart(sendBuf, recvBuf));
    return Move(kApi, comm, stream, At(recvBuf, displacement, dataType), sendBuf, sendCount, dataType);
  });
}

extern "C" HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType, const void* recvBuf,
                                   uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAlltoAll";
  return Guard(
      kApi, [&] { return Exchange(kApi, comm, stream, recvBuf, recvCount, recvType, sendBuf, sendCount, sendType); });
}

extern "C" HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sdispls,
                                    HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                    const void* rdispls, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAlltoAllV";
  return Guard(kApi, [&]() -> Outcome {
    uint64_t sent = 0, from = 0, received = 0, to = 0;
    MP_RETURN_IF_ERROR(EntryOf("sendCounts", sendCounts, &sent));
    MP_RETURN_IF_ERROR(EntryOf("sdispls", sdispls, &from));
    MP_RETURN_IF_ERROR(EntryOf("recvCounts", recvCounts, &received));
    MP_RETURN_IF_ERROR(EntryOf("rdispls", rdispls, &to));
    return Exchange(kApi, comm, stream, At(recvBuf, to, recvType), received, recvType, At(sendBuf, from, sendType),
                    sent, sendType);
  });
}

extern "C" HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                                     const void* recvBuf, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclAlltoAllVC";
  return Guard(kApi, [&]() -> Outcome {
    uint64_t count = 0;
    MP_RETURN_IF_ERROR(EntryOf("sendCountMatrix", sendCountMatrix, &count));
    return Exchange(kApi, comm, stream, recvBuf, count, recvType, sendBuf, count, sendType);
  });
}

extern "C" HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  constexpr char kApi[] = "HcclBarrier";
  return Guard(kApi, [&]() -> Outcome {
    Place place;
    MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
    return Launch(kApi, place, std::span<const Transfer>());
  });
}
