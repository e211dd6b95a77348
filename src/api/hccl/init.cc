// SPDX-License-Identifier: Apache-2.0
// Making and ending communicators, and what they say about themselves.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "include/hccl/hccl.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/comm/host_meeting.h"
#include "src/comm/meeting.h"
#include "src/comm/network.h"
#include "src/comm/rank_table.h"
#include "src/comm/transfer.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT

namespace {

// What HcclRootInfo's bytes hold: where the ranks meet. The length is the ABI's.
struct RootInfo {
  char magic[16];
  uint32_t version;
  comm::MeetingPlace place;
  char name[comm::kNameBytes];
};
constexpr char kRootMagic[16] = {'M', 'i', 'l', 'l', 'p', 'o', 'n', 'd', ' ', 'H', 'C', 'C', 'L', ' ', '3', '\0'};
constexpr uint32_t kRootVersion = 3;
static_assert(sizeof(RootInfo) <= HCCL_ROOT_INFO_BYTES);

Status ReadRootInfo(const HcclRootInfo* rootInfo, RootInfo* out_info) {
  MP_NOT_NULL(rootInfo);
  std::memcpy(out_info, rootInfo->internal, sizeof(*out_info));
  if (std::memcmp(out_info->magic, kRootMagic, sizeof(kRootMagic)) != 0) {
    return InvalidParameter("rootInfo", "HcclGetRootInfo did not make it; hand its bytes over unchanged");
  }
  out_info->place.key[sizeof(out_info->place.key) - 1] = '\0';
  out_info->place.address[sizeof(out_info->place.address) - 1] = '\0';
  out_info->name[sizeof(out_info->name) - 1] = '\0';
  return Ok();
}

// A communicator whose seat is taken, and which is made when the others have come.
struct Pending {
  std::shared_ptr<comm::World> world;
  uint32_t rank = 0;
  int32_t device = 0;
  RankSettings settings;
  std::string name;
  std::string key;
  HcclComm* comm = nullptr;

  Status Finish(Clock::time_point deadline) const {
    comm::Expected expected(comm);
    Status met = comm::AwaitAll(world.get(), rank, deadline);
    comm::WithdrawWorld(key);  // everybody has it, or the meeting is off
    if (!met.ok()) return met;
    return CreateComm(world, rank, device, settings, name, /*is_sub=*/false, &expected, comm);
  }
};

// The calling thread's device is the communicator's. In a group the ranks of several devices of one thread take their
// seats one after the other, and are waited for together at its end.
Status InitFromRootInfo(uint32_t ranks, const HcclRootInfo* rootInfo, uint32_t rank, const RankSettings& settings,
                        HcclComm* comm) {
  RootInfo info;
  MP_RETURN_IF_ERROR(ReadRootInfo(rootInfo, &info));
  MP_RETURN_IF_ERROR(CheckRanks(ranks, rank));
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  if (ranks == 1) return CreateComm(settings.name, device->id(), comm);
  Clock::time_point deadline;
  MP_RETURN_IF_ERROR(MeetingDeadline(&deadline));
  Pending pending;
  pending.rank = rank;
  pending.device = device->id();
  pending.settings = settings;
  pending.name = info.name;
  pending.key = info.place.key;
  pending.comm = comm;
  MP_RETURN_IF_ERROR(comm::OpenPlace(info.place, comm::HostIdentity(), ranks, deadline, &pending.world));
  MP_RETURN_IF_ERROR(comm::TakeSeat(pending.world.get(), rank, device->id(), settings));
  comm::Group& group = comm::Group::OfThread();
  if (group.depth == 0) return pending.Finish(deadline);
  group.at_end.emplace_back([pending, deadline] { return pending.Finish(deadline); });
  return Ok();
}

// Meets the ranks of a table that was read.
Status InitFromTable(const comm::RankTable& table, uint32_t rank, RankSettings settings, HcclComm* comm) {
  MP_RETURN_IF_ERROR(CheckRanks(table.ranks, rank));
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  if (settings.name.empty()) settings.name = kWorldName;
  if (table.ranks == 1) return CreateComm(settings.name, device->id(), comm);
  Clock::time_point deadline;
  MP_RETURN_IF_ERROR(MeetingDeadline(&deadline));
  std::shared_ptr<comm::World> world;
  comm::Expected expected(comm);
  if (table.servers > 1) {
    MP_RETURN_IF_ERROR(comm::MeetByServers(table, rank, device->id(), settings, deadline, &world));
  } else {
    MP_RETURN_IF_ERROR(comm::MeetByTable(table.text, table.ranks, rank, device->id(), settings, deadline, &world));
  }
  return CreateComm(std::move(world), rank, device->id(), settings, kWorldName, /*is_sub=*/false, &expected, comm);
}

// One process, a rank on each device: nobody else has to come.
Status InitAll(std::span<const int32_t> devices, HcclComm* comms) {
  const auto ranks = static_cast<uint32_t>(devices.size());
  std::string key;
  MP_RETURN_IF_ERROR(comm::OfferWorld(&key));
  const std::string name = Format("millpond_all_%d_%llu", static_cast<int>(getpid()),
                                  static_cast<unsigned long long>(comm::NextRootNumber()));
  std::vector<std::shared_ptr<comm::World>> worlds(ranks);
  Status status;
  for (uint32_t rank = 0; rank < ranks && status.ok(); ++rank) {
    status = comm::OpenWorld(key, ranks, &worlds[rank]);
    if (status.ok()) status = comm::TakeSeat(worlds[rank].get(), rank, devices[rank], {});
  }
  std::vector<HcclComm> made;
  for (uint32_t rank = 0; rank < ranks && status.ok(); ++rank) {
    status = comm::AwaitAll(worlds[rank].get(), rank, Clock::now());
    HcclComm handle = nullptr;
    if (status.ok())
      status = CreateComm(worlds[rank], rank, devices[rank], {}, name, /*is_sub=*/false, nullptr, &handle);
    if (status.ok()) made.push_back(handle);
  }
  comm::WithdrawWorld(key);
  if (status.ok()) {
    std::copy(made.begin(), made.end(), comms);
  } else {
    for (HcclComm handle : made) DestroyComm(handle).Ignore();  // it was made a moment ago
  }
  return status;
}

Status CheckMembers(const comm::Communicator& parent, uint32_t count, const uint32_t* ids, uint32_t rank) {
  if (count == 0 || count > parent.ranks) {
    return InvalidValue("rankNum", std::to_string(count), Format("the parent has %u ranks", parent.ranks));
  }
  for (uint32_t i = 0; i < count; ++i) {
    const std::string parameter = Format("rankIds[%u]", i);
    if (ids[i] >= parent.ranks) {
      return InvalidValue(parameter.c_str(), std::to_string(ids[i]),
                          Format("the parent's ranks go from 0 to %u", parent.ranks - 1));
    }
    if (std::find(ids, ids + i, ids[i]) != ids + i) {
      return InvalidValue(parameter.c_str(), std::to_string(ids[i]), "it is in the list already");
    }
  }
  if (rank >= count) {
    return InvalidValue("subCommRankId", std::to_string(rank), Format("the new communicator has %u ranks", count));
  }
  if (ids[rank] != parent.rank) {
    return InvalidValue("subCommRankId", std::to_string(rank),
                        Format("the list has rank %u there, and this is rank %u", ids[rank], parent.rank));
  }
  return Ok();
}

Status InitSub(const CommunicatorPtr& parent, const std::vector<uint32_t>& members, uint64_t id, uint32_t rank,
               const RankSettings& settings, HcclComm* out_sub) {
  const std::string name = Format("%s_sub_%llu", parent->name.c_str(), static_cast<unsigned long long>(id));
  if (members.size() == 1) return CreateComm(settings.name, parent->device, out_sub);
  Clock::time_point deadline;
  MP_RETURN_IF_ERROR(MeetingDeadline(&deadline));
  std::shared_ptr<comm::World> world;
  comm::Expected expected(out_sub);
  MP_RETURN_IF_ERROR(comm::MeetInside(parent.get(), members, id, rank, settings, deadline, &world));
  MP_RETURN_IF_ERROR(
      CreateComm(std::move(world), rank, parent->device, settings, name, /*is_sub=*/true, &expected, out_sub));
  CommunicatorPtr made;
  MP_RETURN_IF_ERROR(FindComm(*out_sub, &made));
  made->members = members;
  return Ok();
}

Status MakeRootInfo(HcclRootInfo* rootInfo) {
  MP_NOT_NULL(rootInfo);
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  RootInfo info{};
  MP_RETURN_IF_ERROR(comm::OfferPlace(comm::NetworkIsWanted(), "", comm::HostIdentity(), &info.place));
  std::memcpy(info.magic, kRootMagic, sizeof(kRootMagic));
  info.version = kRootVersion;
  comm::SetText(info.name, sizeof(info.name),
                Format("millpond_root_%d_%llu", static_cast<int>(getpid()),
                       static_cast<unsigned long long>(comm::NextRootNumber())));
  std::memset(rootInfo->internal, 0, sizeof(rootInfo->internal));
  std::memcpy(rootInfo->internal, &info, sizeof(info));
  return Ok();
}

// All ranks meet at the first root, however many there are; the others' offers end.
Status InitFromRoots(uint32_t ranks, std::span<const HcclRootInfo> roots, uint32_t rank, const RankSettings& settings,
                     HcclComm* comm) {
  std::vector<RootInfo> others(roots.size());
  for (size_t i = 0; i < roots.size(); ++i) MP_RETURN_IF_ERROR(ReadRootInfo(&roots[i], &others[i]));
  MP_RETURN_IF_ERROR(InitFromRootInfo(ranks, roots.data(), rank, settings, comm));
  for (size_t i = 1; i < roots.size(); ++i) comm::WithdrawWorld(others[i].place.key);
  return Ok();
}

}  // namespace

namespace millpond::hccl {

Status InitFromRankTable(const char* path, uint32_t rank, const RankSettings& settings, HcclComm* comm) {
  if (path == nullptr) return acl::NullPointer("clusterInfo");
  comm::RankTable table;
  MP_RETURN_IF_ERROR(comm::ReadRankTable(path, &table));
  return InitFromTable(table, rank, settings, comm);
}

Status MakeSub(const CommunicatorPtr& parent, std::span<const uint32_t> members, uint64_t id, uint32_t rank,
               const RankSettings& settings, HcclComm* out_sub) {
  MP_RETURN_IF_ERROR(CheckMembers(*parent, static_cast<uint32_t>(members.size()), members.data(), rank));
  return InitSub(parent, {members.begin(), members.end()}, id, rank, settings, out_sub);
}

}  // namespace millpond::hccl

extern "C" HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return Guard("HcclGetRootInfo", [&]() -> Outcome { return MakeRootInfo(rootInfo); });
}

extern "C" HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo) {
  return Guard("HcclGetRootInfoScalable", [&]() -> Outcome { return MakeRootInfo(rootInfo); });
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
    RankSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return InitFromRootInfo(nRanks, rootInfo, rank, settings, comm);
  });
}

extern "C" HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo* rootInfoList,
                                                   uint32_t rank, uint32_t nExtRoot, const HcclCommConfig* config,
                                                   HcclComm* comm) {
  return Guard("HcclCommInitRootInfoScalable", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    MP_NOT_NULL(rootInfoList);
    if (nRoot == 0 || nRoot > nRanks) {
      return InvalidValue("nRoot", std::to_string(nRoot), Format("there are %u ranks: from 1 to that many", nRanks));
    }
    if (nExtRoot != 0) return InvalidValue("nExtRoot", std::to_string(nExtRoot), "it must be 0");
    if (!HostCanRead({rootInfoList, rootInfoList + nRoot - 1})) return acl::WildPointer("rootInfoList", rootInfoList);
    RankSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return InitFromRoots(nRanks, {rootInfoList, nRoot}, rank, settings, comm);
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
    RankSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return InitFromRankTable(clusterInfo, rank, settings, comm);
  });
}

extern "C" HcclResult HcclCommInitClusterInfoMemConfig(const char* rankTableString, uint32_t rank,
                                                       HcclCommConfig* config, HcclComm* comm) {
  return Guard("HcclCommInitClusterInfoMemConfig", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    if (rankTableString == nullptr) return acl::NullPointer("rankTableString");
    RankSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    comm::RankTable table;
    MP_RETURN_IF_ERROR(comm::ParseRankTable(rankTableString, "rankTableString", &table));
    return InitFromTable(table, rank, settings, comm);
  });
}

extern "C" HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return Guard("HcclCommInitAll", [&]() -> Outcome {
    MP_NOT_NULL(devices);
    MP_NOT_NULL(comms);
    MP_RETURN_IF_ERROR(CheckRanks(ndev, 0));
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    for (uint32_t i = 0; i < ndev; ++i) {
      Device* device = nullptr;
      MP_RETURN_IF_ERROR(runtime->FindDevice(devices[i], &device));
      for (uint32_t j = 0; j < i; ++j) {
        if (devices[i] == devices[j]) {
          return InvalidValue("devices", std::to_string(devices[i]),
                              Format("entries %u and %u are the same; each rank has a device of its own", j, i));
        }
      }
    }
    if (ndev == 1) return CreateComm(std::string(), devices[0], &comms[0]);
    return InitAll(std::span<const int32_t>(devices, ndev), comms);
  });
}

extern "C" HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum, uint32_t* rankIds, uint64_t subCommId,
                                              uint32_t subCommRankId, HcclCommConfig* config, HcclComm* subComm) {
  constexpr uint64_t kNotMember = 0xffffffff;  // documented: with null rankIds, this rank is not in the new one
  return Guard("HcclCreateSubCommConfig", [&]() -> Outcome {
    MP_NOT_NULL(comm);
    MP_NOT_NULL(subComm);
    CommunicatorPtr parent;
    MP_RETURN_IF_ERROR(FindComm(*comm, &parent));
    *subComm = nullptr;
    if (rankIds == nullptr && subCommId == kNotMember) return Ok();
    MP_NOT_NULL(rankIds);
    if (parent->is_sub) {
      return InvalidParameter("comm", Format("'%s' is a sub-communicator itself, and has none; name its ranks by their "
                                             "numbers in the communicator it was made from",
                                             parent->name.c_str()));
    }
    RankSettings settings;
    MP_RETURN_IF_ERROR(ReadConfig(config, &settings));
    return MakeSub(parent, {rankIds, rankNum}, subCommId, subCommRankId, settings, subComm);
  });
}
