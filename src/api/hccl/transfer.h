// SPDX-License-Identifier: Apache-2.0
// What every operation comes down to with one rank: bytes move from where they are sent to where they are received, as
// one task of the stream that says what it touches.
#ifndef MILLPOND_SRC_API_HCCL_TRANSFER_H_
#define MILLPOND_SRC_API_HCCL_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "include/acl/acl_base_rt.h"
#include "include/hccl/hccl_types.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"

namespace millpond {
class Stream;
}

namespace millpond::hccl {

// Where an operation runs.
struct Place {
  std::shared_ptr<Comm> comm;
  Stream* stream = nullptr;
};
// Refuses null and dead handles, and a stream of another device than the communicator's.
Status FindPlace(HcclComm comm, aclrtStream stream, Place* out_place);

struct Transfer {
  void* to;
  const void* from;
  size_t bytes;
};

// 0 for a number that is no data type.
size_t BytesOf(HcclDataType type);
// count elements of `type` in bytes; refuses unknown types and counts beyond HCCL's limit.
Status SizeOf(uint64_t count, HcclDataType type, size_t* out_bytes);
// The documented types and operations of reductions on this device.
Status CheckReduction(HcclDataType type, HcclReduceOp op);
Status CheckRoot(uint32_t root);

// `name` shows in traces and lives for ever. Buffers are checked before anything is queued.
Outcome Launch(const char* name, const Place& place, std::span<const Transfer> transfers);
inline Outcome Launch(const char* name, const Place& place, const Transfer& transfer) {
  return Launch(name, place, std::span<const Transfer>(&transfer, 1));
}

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_TRANSFER_H_
