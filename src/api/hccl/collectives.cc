// SPDX-License-Identifier: Apache-2.0
// Reductions, gathers, broadcasts and barriers.
#include "include/hccl/hccl.h"
#include "src/api/hccl/transfer.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using acl::InvalidParameter;
using acl::InvalidValue;
using comm::Operation;
using comm::Part;

namespace {

// As many parts as ranks, of the same size, one after the other.
std::vector<Part> EqualParts(uint32_t ranks, size_t bytes) {
  std::vector<Part> parts(ranks);
  for (uint32_t i = 0; i < ranks; ++i) parts[i] = {i * bytes, bytes};
  return parts;
}

// The client's arrays of counts and displacements, in elements, as parts of a buffer.
Status ReadParts(const char* counts_name, const void* counts, const char* offsets_name, const void* offsets,
                 uint32_t ranks, HcclDataType type, std::vector<Part>* out_parts) {
  if (counts == nullptr) return acl::NullPointer(counts_name);
  if (offsets == nullptr) return acl::NullPointer(offsets_name);
  // Looked at as far as they are read: first and last entry.
  const size_t last = ranks > 0 ? ranks - 1 : 0;
  for (const auto& [name, array] : {std::pair{counts_name, counts}, std::pair{offsets_name, offsets}}) {
    const auto* const entries = static_cast<const uint64_t*>(array);
    if (!HostCanRead({entries, entries + last})) return acl::WildPointer(name, array);
  }
  out_parts->resize(ranks);
  for (uint32_t i = 0; i < ranks; ++i) {
    MP_RETURN_IF_ERROR(SizeOf(static_cast<const uint64_t*>(counts)[i], type, &(*out_parts)[i].bytes));
    MP_RETURN_IF_ERROR(SizeOf(static_cast<const uint64_t*>(offsets)[i], type, &(*out_parts)[i].offset));
  }
  return Ok();
}

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

}  // namespace

extern "C" HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                    HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAllReduce";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (count == 0) return Ok();  // as in the reference: nothing is looked at
    MP_RETURN_IF_ERROR(CheckReduction(dataType, op));
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kAllReduce, count, dataType, &prepared));
    MP_RETURN_IF_ERROR(SetReduction(dataType, op, sendBuf, recvBuf, &prepared));
    prepared.spec.bytes = prepared.bytes;
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                                 uint32_t root, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclReduce";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (count == 0) return Ok();
    MP_RETURN_IF_ERROR(CheckReduction(dataType, op));
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kReduce, count, dataType, &prepared));
    MP_RETURN_IF_ERROR(CheckRank("root", root, *prepared.place.comm));
    MP_RETURN_IF_ERROR(SetReduction(dataType, op, sendBuf, recvBuf, &prepared));
    prepared.spec.root = root;
    prepared.spec.bytes = prepared.bytes;
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                        HcclReduceOp op, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclReduceScatter";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (recvCount == 0) return Ok();
    MP_RETURN_IF_ERROR(CheckReduction(dataType, op));
    Prepared prepared;
    MP_RETURN_IF_ERROR(
        Prepare({kApi, caller, comm, stream}, Operation::kReduceScatter, recvCount, dataType, &prepared));
    MP_RETURN_IF_ERROR(SetReduction(dataType, op, sendBuf, recvBuf, &prepared));
    prepared.spec.send_parts = EqualParts(prepared.place.comm->ranks, prepared.bytes);
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls, void* recvBuf,
                                         uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                         aclrtStream stream) {
  static constexpr char kApi[] = "HcclReduceScatterV";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    MP_RETURN_IF_ERROR(CheckReduction(dataType, op));
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
  static constexpr char kApi[] = "HcclBroadcast";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (count == 0) return Ok();
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kBroadcast, count, dataType, &prepared));
    MP_RETURN_IF_ERROR(CheckRank("root", root, *prepared.place.comm));
    SetBuffers(buf, buf, &prepared);
    prepared.spec.root = root;
    prepared.spec.bytes = prepared.bytes;
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                  uint32_t root, HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclScatter";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (recvCount == 0) return Ok();
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kScatter, recvCount, dataType, &prepared));
    const comm::Communicator& found = *prepared.place.comm;
    MP_RETURN_IF_ERROR(CheckRank("root", root, found));
    SetBuffers(sendBuf, recvBuf, &prepared);
    prepared.spec.root = root;
    prepared.spec.bytes = prepared.bytes;
    if (found.rank == root) prepared.spec.send_parts = EqualParts(found.ranks, prepared.bytes);
    return Launch(prepared);
  });
}

extern "C" HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                                    HcclComm comm, aclrtStream stream) {
  static constexpr char kApi[] = "HcclAllGather";
  return GuardOperation(kApi, [&](const void* caller) -> Outcome {
    if (sendCount == 0) return Ok();
    Prepared prepared;
    MP_RETURN_IF_ERROR(Prepare({kApi, caller, comm, stream}, Operation::kAllGather, sendCount, dataType, &prepared));
    SetBuffers(sendBuf, recvBuf, &prepared);
    prepared.spec.receive_parts = EqualParts(prepared.place.comm->ranks, prepared.bytes);
    return Launch(prepared);
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
