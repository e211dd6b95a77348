// SPDX-License-Identifier: Apache-2.0
// The checks that HCCL's operations share, and the way down to src/comm.
#ifndef MILLPOND_SRC_API_HCCL_TRANSFER_H_
#define MILLPOND_SRC_API_HCCL_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "include/acl/acl_base_rt.h"
#include "include/hccl/hccl_types.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/comm/collective.h"
#include "src/comm/transfer.h"

namespace millpond {
class Stream;
}

namespace millpond::hccl {

// Where an operation runs.
struct Place {
  CommunicatorPtr comm;
  Stream* stream = nullptr;
};
// Refuses null and dead handles, and a stream of another device than the communicator's.
Status FindPlace(HcclComm comm, aclrtStream stream, Place* out_place);

using comm::Transfer;

// 0 for a number that is not a data type.
size_t BytesOf(HcclDataType type);
// count elements of `type` in bytes; refuses unknown types and counts beyond HCCL's limit.
Status SizeOf(uint64_t count, HcclDataType type, size_t* out_bytes);
// The documented types and reductions of an operation on this device.
Status CheckReduction(comm::Operation operation, HcclDataType type, HcclReduceOp op);
// `parameter` names a rank of the communicator.
Status CheckRank(const char* parameter, uint32_t rank, const comm::Communicator& comm);

// Refuses what is no memory of the device or of its kind. `what` is the parameter's name.
Status CheckBuffer(const char* what, const void* address, size_t bytes);
// HCCL_E_SUSPENDING while the communicator is suspended.
Outcome CheckResumed(const comm::Communicator& comm);

// As many parts as ranks, of the same size, one after the other.
std::vector<comm::Part> EqualParts(uint32_t ranks, size_t bytes);
// The client's arrays of counts and displacements, in elements, as parts of a buffer.
Status ReadParts(const char* counts_name, const void* counts, const char* offsets_name, const void* offsets,
                 uint32_t ranks, HcclDataType type, std::vector<comm::Part>* out_parts);

// A collective that is about to be launched.
struct Request {
  const char* api;
  const void* caller;
  HcclComm comm;
  aclrtStream stream;
};
struct Prepared {
  Place place;
  comm::CollectiveSpec spec;
  size_t bytes = 0;  // of `count` elements
};
// Finds the place and fills in what every collective has.
Status Prepare(const Request& request, comm::Operation operation, uint64_t count, HcclDataType type,
               Prepared* out_prepared);
// A collective without elements: it succeeds before anything is looked at, as in the reference, and is none. Ranks that
// wait for this one meanwhile say that it made the call.
void NoteEmptyCall(const Request& request, comm::Operation operation, HcclDataType type);
// Checks the buffers and queues it; with one rank as a copy.
Outcome Launch(const Prepared& prepared);

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_TRANSFER_H_
