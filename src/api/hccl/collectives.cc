// SPDX-License-Identifier: Apache-2.0
// Reductions, gathers, broadcasts and barriers.
#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using comm::Operation;
using comm::Part;

namespace {

Status CheckOwnCount(const char* what, size_t listed, size_t passed, size_t element, uint32_t rank) {
  if (listed == passed) return Ok();
  return InvalidParameter(what, Format("its entry %u, this rank's, is %zu, and %zu elements were passed", rank,
                                       listed / element, passed / element));
}

Status CheckApart(const void* sendBuf, const void* recvBuf) {
  if (sendBuf != recvBuf) return Ok();
  return InvalidParameter("recvBuf", "it is the same as sendBuf, which this operation does not allow");
}

Status SetReduction(HcclDataType type, HcclReduceOp op, const void* sendBuf, const void* recvBuf, Prepared* prepared) {
  for (const auto& [what, buffer] : {std::pair<const char*, const void*>{"sendBuf", sendBuf}, {"recvBuf", recvBuf}}) {
    if (reinterpret_cast<uintptr_t>(buffer) % BytesOf(type) != 0) {
      return InvalidValue(what, Format("%p", buffer), Format("it must be aligned to %zu bytes", BytesOf(type)));
    }
  }
  prepared->spec.reduction = static_cast<comm::Reduction>(op);
  prepared->spec.send = static_cast<const char*>(sendBuf);
  prepared->spec.receive = static_cast<char*>(const_cast<void*>(recvBuf));
  return Ok();
}

void SetBuffers(const void* sendBuf, void* recvBuf, Prepared* prepared) {
  prepared->spec.send = static_cast<const char*>(sendBuf);
  prepared->spec.receive = static_cast<char*>(recvBuf);
}

Status SetRoot(uint32_t root, Prepared* prepared) {
  MP_RETURN_IF_ERROR(CheckRank("root", root, *prepared->place.comm));
  prepared->spec.root = root;
  prepared->spec.bytes = prepared->bytes;
  return Ok();
}

// What is asked of all ranks alike.
struct Asked {
  const char* api;
  Operation operation;
  uint64_t count;
  HcclDataType type;
  HcclComm comm;
  aclrtStream stream;
};
Status NothingToCheck() { return Ok(); }

// A collective of elements whose arguments `check` accepts and whose particulars `fill` adds. Without elements nothing
// is looked at, as in the reference. `caller`: as for GuardOperation.
template <class Check, class Fill>
HcclResult Collective(const Asked& asked, Check&& check, Fill&& fill,
                      const void* caller = __builtin_return_address(0)) {
  const auto body = [&](const void*) -> Outcome {
    const Request request{asked.api, caller, asked.comm, asked.stream};
    if (asked.count == 0) {
      NoteEmptyCall(request, asked.operation, asked.type);
      return Ok();
    }
    MP_RETURN_IF_ERROR(check());
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare(request, asked.operation, asked.count, asked.type, &prepared));
    MP_RETURN_IF_ERROR(fill(&prepared));
    return Launch(prepared);
  };
  return GuardOperation(asked.api, body, caller);
}

template <class Fill>
HcclResult Reduced(const Asked& asked, HcclReduceOp op, const void* sendBuf, const void* recvBuf, Fill&& fill,
                   const void* caller = __builtin_return_address(0)) {
  const auto check = [&] { return CheckReduction(asked.operation, asked.type, op); };
  const auto fill_all = [&](Prepared* prepared) -> Status {
    MP_RETURN_IF_ERROR(fill(prepared));
    return SetReduction(asked.type, op, sendBuf, recvBuf, prepared);
  };
  return Collective(asked, check, fill_all, caller);
}

}  // namespace

extern "C" HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                    HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return Reduced({"HcclAllReduce", Operation::kAllReduce, count, dataType, comm, stream}, op, sendBuf, recvBuf,
                 [](Prepared* prepared) {
                   prepared->spec.bytes = prepared->bytes;
                   return Ok();
                 });
}

extern "C" HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                 uint32_t root, HcclComm comm, aclrtStream stream) {
  return Reduced({"HcclReduce", Operation::kReduce, count, dataType, comm, stream}, op, sendBuf, recvBuf,
                 [&](Prepared* prepared) { return SetRoot(root, prepared); });
}

extern "C" HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                        HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  return Reduced({"HcclReduceScatter", Operation::kReduceScatter, recvCount, dataType, comm, stream}, op, sendBuf,
                 recvBuf, [](Prepared* prepared) {
                   prepared->spec.send_parts = EqualParts(prepared->place.comm->ranks, prepared->bytes);
                   return Ok();
                 });
}

extern "C" HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                                         uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                         aclrtStream stream) {
  static constexpr char kApi[] = "HcclReduceScatterV";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    MP_RETURN_IF_ERROR(CheckReduction(Operation::kReduceScatterV, dataType, op));
    Prepared prepared;
    MP_RETURN_IF_ERROR(
        Prepare({kApi, caller, comm, stream}, Operation::kReduceScatterV, recvCount, dataType, &prepared));
    const comm::Communicator& found = *prepared.place.comm;
    std::vector<Part>& parts = prepared.spec.send_parts;
    MP_RETURN_IF_ERROR(ReadParts("sendCounts", sendCounts, "sendDispls", sendDispls, found.ranks, dataType, &parts));
    MP_RETURN_IF_ERROR(
        CheckOwnCount("sendCounts", parts[found.rank].bytes, prepared.bytes, BytesOf(dataType), found.rank));
    if (found.ranks > 1) MP_RETURN_IF_ERROR(CheckApart(sendBuf, recvBuf));
    MP_RETURN_IF_ERROR(SetReduction(dataType, op, sendBuf, recvBuf, &prepared));
    prepared.spec.count = 0;
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                                    aclrtStream stream) {
  return Collective({"HcclBroadcast", Operation::kBroadcast, count, dataType, comm, stream}, NothingToCheck,
                    [&](Prepared* prepared) {
                      SetBuffers(buf, buf, prepared);
                      return SetRoot(root, prepared);
                    });
}

extern "C" HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                  uint32_t root, HcclComm comm, aclrtStream stream) {
  return Collective({"HcclScatter", Operation::kScatter, recvCount, dataType, comm, stream}, NothingToCheck,
                    [&](Prepared* prepared) {
                      const comm::Communicator& found = *prepared->place.comm;
                      SetBuffers(sendBuf, recvBuf, prepared);
                      if (found.rank == root) prepared->spec.send_parts = EqualParts(found.ranks, prepared->bytes);
                      return SetRoot(root, prepared);
                    });
}

extern "C" HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                                    HcclComm comm, aclrtStream stream) {
  return Collective({"HcclAllGather", Operation::kAllGather, sendCount, dataType, comm, stream}, NothingToCheck,
                    [&](Prepared* prepared) {
                      SetBuffers(sendBuf, recvBuf, prepared);
                      prepared->spec.receive_parts = EqualParts(prepared->place.comm->ranks, prepared->bytes);
                      return Ok();
                    });
}

extern "C" HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                                     const void* recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAllGatherV";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kAllGatherV, sendCount, dataType, &prepared));
    const comm::Communicator& found = *prepared.place.comm;
    std::vector<Part>& parts = prepared.spec.receive_parts;
    MP_RETURN_IF_ERROR(ReadParts("recvCounts", recvCounts, "recvDispls", recvDispls, found.ranks, dataType, &parts));
    MP_RETURN_IF_ERROR(
        CheckOwnCount("recvCounts", parts[found.rank].bytes, prepared.bytes, BytesOf(dataType), found.rank));
    if (sendCount != 0) MP_RETURN_IF_ERROR(CheckApart(sendBuf, recvBuf));
    SetBuffers(sendBuf, recvBuf, &prepared);
    prepared.spec.count = 0;
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclBarrier";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kBarrier, 0, HCCL_DATA_TYPE_INT8, &prepared));
    return Launch(prepared);
  });
}
