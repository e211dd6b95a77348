// SPDX-License-Identifier: Apache-2.0
#include "src/api/hccl/transfer.h"

#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/soc.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/device/stream.h"

namespace millpond::hccl {

using acl::InvalidValue;
using trace::Mode;

namespace {

constexpr uint64_t kMostElements = 0x7fffffffff;  // the reference's limit

Status CheckBuffer(const char* what, const void* address, size_t bytes) {
  if (address == nullptr) return acl::NullPointer(what);
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange(what, address, bytes, &info));
  if (info.kind == PointerKind::kPageable) {
    return InvalidValue(what, Format("%p", address),
                        "it is plain host memory; collectives work on device memory (aclrtMalloc)");
  }
  return Ok();
}

Status CheckTransfer(const Transfer& transfer) {
  MP_RETURN_IF_ERROR(CheckBuffer("sendBuf", transfer.from, transfer.bytes));
  return transfer.to == transfer.from ? Ok() : CheckBuffer("recvBuf", transfer.to, transfer.bytes);
}

void AddAccesses(const Transfer& transfer, std::vector<trace::Access>* accesses) {
  if (transfer.to == transfer.from) {
    accesses->push_back({transfer.to, transfer.bytes, Mode::kReadWrite});
  } else {
    accesses->push_back({transfer.from, transfer.bytes, Mode::kRead});
    accesses->push_back({transfer.to, transfer.bytes, Mode::kWrite});
  }
}

}  // namespace

Status FindPlace(HcclComm comm, aclrtStream stream, Place* out_place) {
  MP_RETURN_IF_ERROR(FindComm(comm, &out_place->comm));
  MP_NOT_NULL(stream);
  MP_RETURN_IF_ERROR(ResolveStream(stream, &out_place->stream));
  const int32_t device = out_place->stream->device()->id();
  if (device != out_place->comm->device) {
    return InvalidValue("stream", Format("%p", stream),
                        Format("it is a stream of device %d and the communicator '%s' is device %d's", device,
                               out_place->comm->name.c_str(), out_place->comm->device));
  }
  return Ok();
}

size_t BytesOf(HcclDataType type) {
  switch (type) {
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_UINT8:
    case HCCL_DATA_TYPE_HIF8:
    case HCCL_DATA_TYPE_FP8E4M3:
    case HCCL_DATA_TYPE_FP8E5M2:
    case HCCL_DATA_TYPE_FP8E8M0:
      return 1;
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_UINT16:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_BFP16:
      return 2;
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_UINT32:
    case HCCL_DATA_TYPE_FP32:
      return 4;
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64:
      return 8;
    case HCCL_DATA_TYPE_INT128:
      return 16;
    case HCCL_DATA_TYPE_RESERVED:
      return 0;
  }
  return 0;
}

Status SizeOf(uint64_t count, HcclDataType type, size_t* out_bytes) {
  const size_t each = BytesOf(type);
  if (each == 0) return Unsupported(Format("%d is not a data type of HCCL", static_cast<int>(type)));
  if (count > kMostElements) {
    return InvalidValue("count", std::to_string(count),
                        Format("at most %llu elements", static_cast<unsigned long long>(kMostElements)));
  }
  *out_bytes = count * each;
  return Ok();
}

Status CheckReduction(HcclDataType type, HcclReduceOp op) {
  if (op != HCCL_REDUCE_SUM && op != HCCL_REDUCE_PROD && op != HCCL_REDUCE_MAX && op != HCCL_REDUCE_MIN) {
    return Unsupported(Format("reduction %d is none of sum, prod, max, min (0 to 3)", static_cast<int>(op)));
  }
  switch (type) {
    case HCCL_DATA_TYPE_INT16:
    case HCCL_DATA_TYPE_BFP16:
      if (op != HCCL_REDUCE_PROD) return Ok();
      return Unsupported("prod is documented for neither int16 nor bfp16; use another type or sum, max, min");
    case HCCL_DATA_TYPE_INT8:
    case HCCL_DATA_TYPE_INT32:
    case HCCL_DATA_TYPE_INT64:
    case HCCL_DATA_TYPE_FP16:
    case HCCL_DATA_TYPE_FP32:
      return Ok();
    case HCCL_DATA_TYPE_UINT64:
    case HCCL_DATA_TYPE_FP64: {
      const char* soc = aclrtGetSocName();
      if (acl::SeriesOf(soc != nullptr ? soc : "") == acl::Series::k950) return Ok();
      break;
    }
    default:
      break;
  }
  return Unsupported(
      Format("data type %d has no reduction on this device; int8, int16, int32, int64, fp16, fp32 and "
             "bfp16 have (uint64 and fp64 on the 950)",
             static_cast<int>(type)));
}

Status CheckRoot(uint32_t root) {
  if (root < kRankSize) return Ok();
  return InvalidValue("root", std::to_string(root), "the communicator's only rank is 0");
}

Outcome Launch(const char* name, const Place& place, std::span<const Transfer> transfers) {
  if (place.comm->suspended.load()) {
    return {HCCL_E_SUSPENDING, Status(Code::kStreamAborted, Format("the communicator '%s' is suspended; call "
                                                                   "HcclCommResume first",
                                                                   place.comm->name.c_str()))};
  }
  std::vector<trace::Access> accesses;
  std::vector<Transfer> moves;
  for (const Transfer& transfer : transfers) {
    if (transfer.bytes == 0) continue;
    MP_RETURN_IF_ERROR(CheckTransfer(transfer));
    AddAccesses(transfer, &accesses);
    if (transfer.to != transfer.from) moves.push_back(transfer);
  }
  return place.stream->Launch<TaskKind::kCopy>(name, accesses, [moves = std::move(moves)]() -> Status {
    for (const Transfer& move : moves) CopyBytes(move.to, move.from, move.bytes);
    return Ok();
  });
}

}  // namespace millpond::hccl
