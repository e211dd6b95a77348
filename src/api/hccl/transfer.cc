// SPDX-License-Identifier: Apache-2.0
#include "src/api/hccl/transfer.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"

namespace millpond::hccl {

namespace {

constexpr uint64_t kMaxElements = 0x7fffffffff;  // the reference's limit

}  // namespace

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

size_t BytesOf(HcclDataType type) { return comm::ElementBytes(static_cast<uint32_t>(type)); }

Status SizeOf(uint64_t count, HcclDataType type, size_t* out_bytes) {
  const size_t each = BytesOf(type);
  if (each == 0) {
    return Unsupported(
        Format("[EI0003] {api} failed. Value %d for parameter dataType is invalid. Reason: it is no data type of HCCL.",
               static_cast<int>(type)));
  }
  if (count > kMaxElements) {
    return InvalidValue("count", std::to_string(count),
                        Format("at most %llu elements", static_cast<unsigned long long>(kMaxElements)));
  }
  *out_bytes = count * each;
  return Ok();
}

std::vector<comm::Part> EqualParts(uint32_t ranks, size_t bytes) {
  std::vector<comm::Part> parts(ranks);
  for (uint32_t i = 0; i < ranks; ++i) parts[i] = {i * bytes, bytes};
  return parts;
}

Status ReadParts(const char* counts_name, const void* counts, const char* offsets_name, const void* offsets,
                 uint32_t ranks, HcclDataType type, std::vector<comm::Part>* out_parts) {
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

Status CheckRank(const char* parameter, uint32_t rank, const comm::Communicator& comm) {
  if (rank < comm.ranks) return Ok();
  return InvalidValue(parameter, std::to_string(rank),
                      comm.ranks == 1 ? std::string("the communicator's only rank is 0")
                                      : Format("the communicator's ranks go from 0 to %u", comm.ranks - 1));
}

Outcome CheckResumed(const comm::Communicator& comm) {
  if (!comm.suspended.load()) return Ok();
  return {HCCL_E_SUSPENDING, Status(Code::kStreamAborted, Format("the communicator '%s' is suspended; call "
                                                                 "HcclCommResume first",
                                                                 comm.name.c_str()))};
}

Status Prepare(const Request& request, comm::Operation operation, uint64_t count, HcclDataType type,
               Prepared* out_prepared) {
  MP_RETURN_IF_ERROR(FindPlace(request.comm, request.stream, &out_prepared->place));
  MP_RETURN_IF_ERROR(SizeOf(count, type, &out_prepared->bytes));
  comm::CollectiveSpec& spec = out_prepared->spec;
  spec.api = request.api;
  spec.caller = request.caller;
  spec.operation = operation;
  spec.type = static_cast<comm::Element>(type);
  spec.element_bytes = BytesOf(type);
  spec.count = count;
  return Ok();
}

void NoteEmptyCall(const Request& request, comm::Operation operation, HcclDataType type) {
  const comm::CommunicatorPtr found = comm::Communicators::Get().Find(request.comm);
  if (found == nullptr || found->world == nullptr) return;
  comm::RankCell& cell = found->own_cell();
  comm::Descriptor what;
  what.operation = static_cast<uint32_t>(operation);
  what.type = static_cast<uint32_t>(type);
  what.site = found->sites.NumberOf(&cell, {request.caller});
  found->sites.NoteEmpty(&cell, what);
  found->world->Ring();
}

namespace {

struct Touched {
  const char* what;
  const char* address;
  size_t bytes;
  trace::Mode mode;
};

// What the operation reads and writes of this rank's buffers.
std::vector<Touched> TouchedBy(const comm::CollectiveSpec& spec, uint32_t rank) {
  using comm::Operation;
  std::vector<Touched> touched;
  const auto add = [&](bool sends, const char* buffer, size_t offset, size_t bytes) {
    if (bytes == 0) return;
    const char* address = buffer != nullptr ? buffer + offset : nullptr;
    touched.push_back(
        {sends ? "sendBuf" : "recvBuf", address, bytes, sends ? trace::Mode::kRead : trace::Mode::kWrite});
  };
  const bool at_root = rank == spec.root;
  const bool receives = spec.operation != Operation::kReduce || at_root;
  size_t gives = spec.bytes, gets = receives ? spec.bytes : 0;
  switch (spec.operation) {
    case Operation::kBroadcast:
      if (spec.bytes != 0) touched.push_back({"buf", spec.receive, spec.bytes, trace::Mode::kReadWrite});
      return touched;
    case Operation::kScatter:
      gives = 0;
      break;
    case Operation::kReduceScatter:
    case Operation::kReduceScatterV:
      gets = spec.send_parts[rank].bytes;
      break;
    case Operation::kAllGather:
    case Operation::kAllGatherV:
      gives = spec.receive_parts[rank].bytes;
      break;
    default:
      break;
  }
  add(true, spec.send, 0, gives);
  for (const comm::Part& part : spec.send_parts) add(true, spec.send, part.offset, part.bytes);
  add(false, spec.receive, 0, gets);
  for (const comm::Part& part : spec.receive_parts) add(false, spec.receive, part.offset, part.bytes);
  return touched;
}

bool Overlap(const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  return std::less<>()(a, b + b_bytes) && std::less<>()(b, a + a_bytes);
}

// Where a part is written before another part of the same bytes was sent, the result would depend on how the operation
// is cut into pieces. In place, each part is sent from where it is written.
Status CheckInPlaceOrApart(const std::vector<Touched>& touched) {
  const char *first[2] = {}, *end[2] = {};  // of what is sent, of what is written
  for (const Touched& range : touched) {
    const size_t side = range.mode == trace::Mode::kRead ? 0 : 1;
    if (first[side] == nullptr || range.address < first[side]) first[side] = range.address;
    end[side] = std::max(end[side], range.address + range.bytes);
  }
  if (first[0] == nullptr || first[1] == nullptr || first[0] >= end[1] || first[1] >= end[0]) return Ok();
  for (const Touched& sent : touched) {
    if (sent.mode != trace::Mode::kRead) continue;
    for (const Touched& written : touched) {
      if (written.mode != trace::Mode::kWrite || !Overlap(sent.address, sent.bytes, written.address, written.bytes) ||
          (sent.address == written.address && sent.bytes == written.bytes)) {
        continue;
      }
      return InvalidParameter("recvBuf",
                              Format("%zu bytes from %p, which are written, overlap %zu bytes from %p, which are "
                                     "sent; pass buffers that lie apart, or the same place for both",
                                     written.bytes, static_cast<const void*>(written.address), sent.bytes,
                                     static_cast<const void*>(sent.address)));
    }
  }
  return Ok();
}

// One rank: a reduction of one value is that value, a gather of one part is that part.
Transfer WithinOneRank(const comm::CollectiveSpec& spec) {
  const comm::Part from = spec.send_parts.empty() ? comm::Part{0, spec.bytes} : spec.send_parts[0];
  const comm::Part to = spec.receive_parts.empty() ? comm::Part{0, from.bytes} : spec.receive_parts[0];
  return {spec.receive + to.offset, spec.send + from.offset, std::max(from.bytes, to.bytes)};
}

}  // namespace

Outcome Launch(const Prepared& prepared) {
  const comm::Communicator& comm = *prepared.place.comm;
  if (Outcome resumed = CheckResumed(comm); !resumed.ok()) return resumed;
  const std::vector<Touched> touched = TouchedBy(prepared.spec, comm.rank);
  std::vector<trace::Access> accesses;
  for (const Touched& range : touched) {
    MP_RETURN_IF_ERROR(CheckBuffer(range.what, range.address, range.bytes));
    accesses.push_back({range.address, range.bytes, range.mode});
  }
  if (comm.ranks > 1) {
    MP_RETURN_IF_ERROR(CheckInPlaceOrApart(touched));
    return comm::LaunchCollective(prepared.place.comm, prepared.place.stream, prepared.spec, accesses);
  }
  if (touched.empty()) return comm::LaunchTransfers(prepared.spec.api, prepared.place.stream, {});
  const Transfer transfer = WithinOneRank(prepared.spec);
  return comm::LaunchTransfers(prepared.spec.api, prepared.place.stream, std::span<const Transfer>(&transfer, 1));
}

}  // namespace millpond::hccl
