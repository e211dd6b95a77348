// SPDX-License-Identifier: Apache-2.0
// One-sided transfers. Memory is offered to the other ranks' processes and mapped there (src/comm/remote_memory.h), and
// a put or a get is a copy, as a task of the stream.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "include/hccl/hccl_one_sided_services.h"
#include "src/api/hccl/transfer.h"
#include "src/base/mutex.h"
#include "src/comm/host_exchange.h"
#include "src/comm/windows.h"
#include "src/device/memory/memory.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using comm::MemoryNote;

namespace {

using Bindings = std::vector<std::pair<const void*, MemoryNote>>;  // by communicator
struct Piece {
  void* address;
  size_t bytes;
  Bindings bound;
};
// Of the process, by handle; a handle is compared, never followed.
struct Pieces {
  Mutex mutex;
  std::map<const void*, std::unique_ptr<Piece>> all GUARDED_BY(mutex);
};
Pieces& ThePieces() {
  static auto& pieces = *new Pieces;  // leaked: process groups end in static destructors
  return pieces;
}

Status CheckPiece(int type, const void* address, uint64_t bytes) {
  if (type != COMM_MEM_TYPE_DEVICE && type != COMM_MEM_TYPE_HOST) {
    return InvalidValue("type", std::to_string(type), "it must be COMM_MEM_TYPE_DEVICE (0) or COMM_MEM_TYPE_HOST (1)");
  }
  if (address == nullptr) return acl::NullPointer("addr");
  if (bytes == 0) return InvalidValue("size", "0", "at least one byte");
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("addr", address, bytes, &info));
  if (info.on_device() == (type == COMM_MEM_TYPE_DEVICE)) return Ok();
  return InvalidValue("type", std::to_string(type), Format("%p is memory of the other kind", address));
}

Status UnknownHandle(const void* handle) {
  return InvalidValue("memHandle", Format("%p", handle),
                      "HcclRegisterGlobalMem did not give it, or it is deregistered");
}

// `change` is given the communicator, the piece and its binding to the communicator, or the end where there is none.
template <class Change>
HcclResult ChangeBinding(const char* api, HcclComm comm, void* handle, const Change& change) {
  return GuardComm(api, comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_RETURN_IF_ERROR(acl::CheckGiven("memHandle", handle));
    MutexLock lock(ThePieces().mutex);
    const auto piece = ThePieces().all.find(handle);
    if (piece == ThePieces().all.end()) return UnknownHandle(handle);
    Bindings& bound = piece->second->bound;
    return change(*found, *piece->second,
                  std::find_if(bound.begin(), bound.end(), [&](const auto& each) { return each.first == comm; }));
  });
}

// What the bytes of an HcclMemDesc are.
struct Described {
  char magic[16];
  MemoryNote note;
  uint32_t rank;
  int32_t type;
};
constexpr char kMagic[16] = {'M', 'i', 'l', 'l', 'p', 'o', 'n', 'd', ' ', 'm', 'e', 'm', 'o', 'r', 'y', '\0'};
static_assert(sizeof(Described) <= sizeof(HcclMemDesc));

Status ReadDescribed(const char* parameter, const HcclMemDesc* desc, Described* out) {
  if (desc == nullptr) return acl::NullPointer(parameter);
  std::memcpy(static_cast<void*>(out), desc, sizeof(*out));
  if (std::memcmp(out->magic, kMagic, sizeof(kMagic)) == 0) return Ok();
  return InvalidParameter(parameter, "HcclRegisterMem did not make it; hand its bytes over unchanged");
}

Status CheckOther(const comm::Communicator& comm, uint32_t rank) {
  MP_RETURN_IF_ERROR(CheckRank("remoteRank", rank, comm));
  if (rank != comm.rank) return Ok();
  return InvalidValue("remoteRank", std::to_string(rank), "it is this rank itself");
}

Outcome PutOrGet(const char* api, bool puts, HcclComm comm, uint32_t remote_rank, const HcclOneSideOpDesc* desc,
                 uint32_t count, aclrtStream stream) {
  Place place;
  MP_RETURN_IF_ERROR(FindPlace(comm, stream, &place));
  MP_RETURN_IF_ERROR(CheckOther(*place.comm, remote_rank));
  if (Outcome resumed = CheckResumed(*place.comm); !resumed.ok()) return resumed;
  if (count == 0) return Ok();
  MP_NOT_NULL(desc);
  std::vector<Transfer> transfers;
  for (uint32_t i = 0; i < count; ++i) {
    size_t bytes = 0;
    MP_RETURN_IF_ERROR(SizeOf(desc[i].count, desc[i].dataType, &bytes));
    if (bytes == 0) continue;
    MP_RETURN_IF_ERROR(CheckRange("localAddr", desc[i].localAddr, bytes));
    const auto there = reinterpret_cast<uintptr_t>(desc[i].remoteAddr);
    char* const here = place.comm->remote.Find(remote_rank, there, bytes);
    if (here == nullptr) {
      return InvalidValue(
          Format("desc[%u].remoteAddr", i).c_str(), Format("%p", desc[i].remoteAddr),
          Format("its %zu bytes lie in no memory of rank %u that this rank was told of (HcclCommPrepare, "
                 "HcclEnableMemAccess); there is: %s",
                 bytes, remote_rank, place.comm->remote.Name(remote_rank).c_str()));
    }
    transfers.push_back(puts ? Transfer{here, desc[i].localAddr, bytes, Transfer::Far::kTo}
                             : Transfer{desc[i].localAddr, here, bytes, Transfer::Far::kFrom});
  }
  return comm::LaunchTransfers(api, place.stream, transfers);
}

}  // namespace

extern "C" HcclResult HcclRegisterGlobalMem(const CommMem* mem, void** memHandle) {
  return Guard("HcclRegisterGlobalMem", [&]() -> Outcome {
    MP_NOT_NULL(mem);
    MP_NOT_NULL(memHandle);
    MP_RETURN_IF_ERROR(CheckPiece(mem->type, mem->addr, mem->size));
    auto piece = std::make_unique<Piece>(Piece{mem->addr, mem->size, {}});
    MutexLock lock(ThePieces().mutex);
    for (const auto& [handle, other] : ThePieces().all) {
      if (other->address == mem->addr && other->bytes == mem->size) {
        return InvalidValue("mem->addr", Format("%p", mem->addr), "it is registered already");
      }
    }
    *memHandle = piece.get();
    ThePieces().all[*memHandle] = std::move(piece);
    return Ok();
  });
}

extern "C" HcclResult HcclDeregisterGlobalMem(void* memHandle) {
  return Guard("HcclDeregisterGlobalMem", [&]() -> Outcome {
    MP_NOT_NULL(memHandle);
    MutexLock lock(ThePieces().mutex);
    const auto found = ThePieces().all.find(memHandle);
    if (found == ThePieces().all.end()) return UnknownHandle(memHandle);
    std::erase_if(found->second->bound, [](const auto& bound) {
      if (comm::Communicators::Get().Find(bound.first) != nullptr) return false;
      comm::EndOffer(bound.second);
      return true;
    });
    if (!found->second->bound.empty()) {
      return InvalidParameter("memHandle", "it is bound to a communicator; call HcclCommUnbindMem first");
    }
    ThePieces().all.erase(found);
    return Ok();
  });
}

extern "C" HcclResult HcclCommBindMem(HcclComm comm, void* memHandle) {
  return ChangeBinding("HcclCommBindMem", comm, memHandle,
                       [&](const comm::Communicator& found, Piece& piece, Bindings::iterator place) -> Status {
                         if (place != piece.bound.end()) {
                           return InvalidValue("memHandle", Format("%p", memHandle),
                                               "it is bound to this communicator already");
                         }
                         MemoryNote note;
                         MP_RETURN_IF_ERROR(comm::OfferMemory(found, piece.address, piece.bytes, &note));
                         piece.bound.emplace_back(comm, note);
                         return Ok();
                       });
}

extern "C" HcclResult HcclCommUnbindMem(HcclComm comm, void* memHandle) {
  return ChangeBinding("HcclCommUnbindMem", comm, memHandle,
                       [&](const comm::Communicator&, Piece& piece, Bindings::iterator place) -> Status {
                         if (place == piece.bound.end()) {
                           return InvalidValue("memHandle", Format("%p", memHandle),
                                               "it is not bound to this communicator");
                         }
                         comm::EndOffer(place->second);
                         piece.bound.erase(place);
                         return Ok();
                       });
}

extern "C" HcclResult HcclCommPrepare(HcclComm comm, const HcclPrepareConfig* prepareConfig, int timeout) {
  static constexpr char kApi[] = "HcclCommPrepare";
  return GuardCommOperation(kApi, comm, [&](const CommunicatorPtr& found, const void* caller) -> Outcome {
    static_cast<void>(timeout);  // HCCL_EXEC_TIMEOUT bounds every operation of a communicator
    MP_NOT_NULL(prepareConfig);
    if (prepareConfig->topoType != HCCL_TOPO_FULLMESH) {
      return InvalidValue("prepareConfig->topoType", std::to_string(prepareConfig->topoType),
                          "it must be HCCL_TOPO_FULLMESH (0)");
    }
    std::vector<MemoryNote> notes;
    {
      MutexLock lock(ThePieces().mutex);
      for (const auto& [handle, piece] : ThePieces().all) {
        for (const auto& [bound_to, note] : piece->bound) {
          if (bound_to == comm) notes.push_back(note);
        }
      }
    }
    return comm::ShareAll(found, {kApi, caller}, notes);
  });
}

extern "C" HcclResult HcclRegisterMem(HcclComm comm, uint32_t remoteRank, int type, void* addr, uint64_t size,
                                      HcclMemDesc* desc) {
  return GuardComm("HcclRegisterMem", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_RETURN_IF_ERROR(CheckOther(*found, remoteRank));
    MP_NOT_NULL(desc);
    MP_RETURN_IF_ERROR(CheckPiece(type, addr, size));
    Described described{};
    MP_RETURN_IF_ERROR(comm::OfferMemory(*found, addr, size, &described.note));
    found->windows.Keep(described.note);
    std::memcpy(described.magic, kMagic, sizeof(kMagic));
    described.rank = found->rank;
    described.type = type;
    std::memset(desc, 0, sizeof(*desc));
    std::memcpy(desc, &described, sizeof(described));
    return Ok();
  });
}

extern "C" HcclResult HcclDeregisterMem(HcclComm comm, HcclMemDesc* desc) {
  return GuardComm("HcclDeregisterMem", comm, [&](const CommunicatorPtr& found) -> Outcome {
    Described described;
    MP_RETURN_IF_ERROR(ReadDescribed("desc", desc, &described));
    if (described.rank != found->rank) return InvalidParameter("desc", "it is another rank's");
    found->windows.EndOffersOf(reinterpret_cast<void*>(described.note.address));  // NOLINT: compared, not followed
    return Ok();
  });
}

extern "C" HcclResult HcclExchangeMemDesc(HcclComm comm, uint32_t remoteRank, HcclMemDescs* local, int timeout,
                                          HcclMemDescs* remote, uint32_t* actualNum) {
  static constexpr char kApi[] = "HcclExchangeMemDesc";
  return GuardCommOperation(kApi, comm, [&](const CommunicatorPtr& found, const void* caller) -> Outcome {
    static_cast<void>(timeout);  // documented: not used
    MP_RETURN_IF_ERROR(CheckOther(*found, remoteRank));
    MP_NOT_NULL(local);
    MP_NOT_NULL(remote);
    MP_NOT_NULL(actualNum);
    const comm::HostCall call{kApi, caller};
    const uint32_t mine = local->arrayLength;
    uint32_t theirs = 0;
    MP_RETURN_IF_ERROR(comm::SwapOnHost(found, call, {&remoteRank, 1}, &mine, sizeof(mine), &theirs));
    const uint32_t most = std::max(mine, theirs);
    *actualNum = theirs;
    if (most == 0) return Ok();
    std::vector<HcclMemDesc> sent(most), came(most);
    std::copy_n(local->array, mine, sent.begin());
    MP_RETURN_IF_ERROR(
        comm::SwapOnHost(found, call, {&remoteRank, 1}, sent.data(), most * sizeof(HcclMemDesc), came.data()));
    if (theirs > remote->arrayLength) {
      return InvalidValue("remote->arrayLength", std::to_string(remote->arrayLength),
                          Format("rank %u has sent %u descriptions", remoteRank, theirs));
    }
    std::copy_n(came.begin(), theirs, remote->array);
    return Ok();
  });
}

extern "C" HcclResult HcclEnableMemAccess(HcclComm comm, HcclMemDesc* remoteMemDesc, CommMem* remoteMem) {
  return GuardComm("HcclEnableMemAccess", comm, [&](const CommunicatorPtr& found) -> Outcome {
    MP_NOT_NULL(remoteMem);
    Described described;
    MP_RETURN_IF_ERROR(ReadDescribed("remoteMemDesc", remoteMemDesc, &described));
    MP_RETURN_IF_ERROR(CheckOther(*found, described.rank));
    void* here = nullptr;
    MP_RETURN_IF_ERROR(found->remote.Add(*found, described.rank, described.note, &here));
    remoteMem->type = static_cast<CommMemType>(described.type);
    remoteMem->addr = reinterpret_cast<void*>(described.note.address);  // NOLINT: as the other rank knows it
    remoteMem->size = described.note.bytes;
    return Ok();
  });
}

extern "C" HcclResult HcclDisableMemAccess(HcclComm comm, HcclMemDesc* remoteMemDesc) {
  return GuardComm("HcclDisableMemAccess", comm, [&](const CommunicatorPtr& found) -> Outcome {
    Described described;
    MP_RETURN_IF_ERROR(ReadDescribed("remoteMemDesc", remoteMemDesc, &described));
    if (found->remote.Remove(described.rank, described.note.address)) return Ok();
    return InvalidParameter("remoteMemDesc", "HcclEnableMemAccess was not called for it");
  });
}

extern "C" HcclResult HcclBatchPut(HcclComm comm, uint32_t remoteRank, HcclOneSideOpDesc* desc, uint32_t descNum,
                                   aclrtStream stream) {
  static constexpr char kApi[] = "HcclBatchPut";
  return Guard(kApi, [&] { return PutOrGet(kApi, true, comm, remoteRank, desc, descNum, stream); });
}

extern "C" HcclResult HcclBatchGet(HcclComm comm, uint32_t remoteRank, HcclOneSideOpDesc* desc, uint32_t descNum,
                                   aclrtStream stream) {
  static constexpr char kApi[] = "HcclBatchGet";
  return Guard(kApi, [&] { return PutOrGet(kApi, false, comm, remoteRank, desc, descNum, stream); });
}
