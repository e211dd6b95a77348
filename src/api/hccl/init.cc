// SPDX-License-Identifier: Apache-2.0
// Making and ending communicators, and what they say about themselves.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "include/hccl/hccl.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/api/hccl/rank_table.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using acl::InvalidParameter;
using acl::InvalidValue;

namespace {

// What HcclRootInfo's bytes hold. Later releases put an address here; the length is the ABI's.
struct RootInfo {
  char magic[16];
  uint32_t version;
  uint32_t pid;
  uint64_t number;  // of this root info, never the same twice in a process
  int64_t made_ns;
};
constexpr char kRootMagic[16] = {'M', 'i', 'l', 'l', 'p', 'o', 'n', 'd', ' ', 'H', 'C', 'C', 'L', ' ', '1', '\0'};
static_assert(sizeof(RootInfo) <= HCCL_ROOT_INFO_BYTES);

std::atomic<uint64_t> g_root_infos{0};

Status CheckRootInfo(const HcclRootInfo* rootInfo) {
  MP_NOT_NULL(rootInfo);
  if (std::memcmp(rootInfo->internal, kRootMagic, sizeof(kRootMagic)) != 0) {
    return InvalidParameter("rootInfo", "HcclGetRootInfo did not make it; hand its bytes over unchanged");
  }
  return Ok();
}

// The calling thread's device is the communicator's.
Status CreateHere(const CommSettings& settings, HcclComm* comm) {
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  return CreateComm(settings, device->id(), comm);
}

Status InitFromRootInfo(uint32_t ranks, const HcclRootInfo* rootInfo, uint32_t rank, const CommSettings& settings,
                        HcclComm* comm) {
  MP_RETURN_IF_ERROR(CheckRootInfo(rootInfo));
  MP_RETURN_IF_ERROR(CheckRanks(ranks, rank));
  return CreateHere(settings, comm);
}

Status InitFromRankTable(const char* path, uint32_t rank, const CommSettings& settings, HcclComm* comm) {
  if (path == nullptr) return acl::NullPointer("clusterInfo");
  uint32_t ranks = 0;
  MP_RETURN_IF_ERROR(CountRanks(path, &ranks));
  MP_RETURN_IF_ERROR(CheckRanks(ranks, rank));
  return CreateHere(settings, comm);
}

}  // namespace

extern "C" HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return Guard("HcclGetRootInfo", [&]() -> Outcome {
    MP_NOT_NULL(rootInfo);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    RootInfo info{};
    std::memcpy(info.magic, kRootMagic, sizeof(kRootMagic));
    info.version = 1;
    info.pid = static_cast<uint32_t>(getpid());
    info.number = g_root_infos.fetch_add(1) + 1;
    info.made_ns = std::chrono::system_clock::now().time_since_epoch().count();
    std::memset(rootInfo->internal, 0, sizeof(rootInfo->internal));
    std::memcpy(rootInfo->internal, &info, sizeof(info));
    return Ok();
  });
}

extern "C" HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                           HcclComm* comm) {
  return Guard("HcclCommInitRootInfo", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    return InitFromRootInfo(nRanks, rootInfo, rank, {}, comm);
  });
}

extern "C" HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                                 const HcclCommConfig* config, HcclComm* comm) {
  return Guard("HcclCommInitRootInfoConfig", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    CommSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return InitFromRootInfo(nRanks, rootInfo, rank, settings, comm);
  });
}

extern "C" HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank, HcclComm* comm) {
  return Guard("HcclCommInitClusterInfo", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    return InitFromRankTable(clusterInfo, rank, {}, comm);
  });
}

extern "C" HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank, HcclCommConfig* config,
                                                    HcclComm* comm) {
  return Guard("HcclCommInitClusterInfoConfig", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    CommSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return InitFromRankTable(clusterInfo, rank, settings, comm);
  });
}

extern "C" HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return Guard("HcclCommInitAll", [&]() -> Outcome {
    MP_NOT_NULL(devices);
    MP_NOT_NULL(comms);
    MP_RETURN_IF_ERROR(CheckRanks(ndev, 0));
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(runtime->FindDevice(devices[0], &device));
    return CreateComm({}, device->id(), &comms[0]);
  });
}

extern "C" HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                              uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
  constexpr uint64_t kNotMember = 0xffffffff;  // documented: with null rankIds, this rank is not in the new one
  return Guard("HcclCreateSubCommConfig", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    MP_NOT_NULL(subComm);
    std::shared_ptr<Comm> parent;
    MP_RETURN_IF_ERROR(FindComm(*comm, &parent));
    *subComm = nullptr;
    if (rankIds == nullptr && subCommId == kNotMember) return Ok();
    MP_NOT_NULL(rankIds);
    if (rankNum == 0 || rankNum > kRankSize) {
      return InvalidValue("rankNum", std::to_string(rankNum), Format("the parent has %u rank", kRankSize));
    }
    if (rankIds[0] != kRank) {
      return InvalidValue("rankIds[0]", std::to_string(rankIds[0]), "the parent's only rank is 0");
    }
    if (subCommRankId != kRank) {
      return InvalidValue("subCommRankId", std::to_string(subCommRankId), "the new communicator's only rank is 0");
    }
    CommSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return CreateComm(settings, parent->device, subComm);
  });
}

extern "C" HcclResult HcclCommDestroy(HcclComm comm) {
  return Guard("HcclCommDestroy", [&]() -> Outcome { return DestroyComm(comm); });
}

extern "C" HcclResult HcclCommSuspend(HcclComm comm) {
  return Guard("HcclCommSuspend", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    found->suspended.store(true);
    return Ok();
  });
}

extern "C" HcclResult HcclCommResume(HcclComm comm) {
  return Guard("HcclCommResume", [&]() -> Outcome {
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    found->suspended.store(false);
    return Ok();
  });
}

extern "C" HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return Guard("HcclGetRankSize", [&]() -> Outcome {
    MP_NOT_NULL(rankSize);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    *rankSize = kRankSize;
    return Ok();
  });
}

extern "C" HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return Guard("HcclGetRankId", [&]() -> Outcome {
    MP_NOT_NULL(rank);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    *rank = kRank;
    return Ok();
  });
}

extern "C" HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return Guard("HcclGetCommName", [&]() -> Outcome {
    MP_NOT_NULL(commName);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    std::memcpy(commName, found->name.c_str(), found->name.size() + 1);  // at most 128 bytes: ReadConfig saw to it
    return Ok();
  });
}

// What fails asynchronously fails on its stream, and the next synchronisation says so; a communicator of one rank has
// no link that could break.
extern "C" HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return Guard("HcclGetCommAsyncError", [&]() -> Outcome {
    MP_NOT_NULL(asyncError);
    std::shared_ptr<Comm> found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    *asyncError = found->suspended.load() ? HCCL_E_SUSPENDING : HCCL_SUCCESS;
    return Ok();
  });
}
