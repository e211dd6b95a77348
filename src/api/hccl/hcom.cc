// SPDX-License-Identifier: Apache-2.0
// Groups by name: all ranks of a rank table, and parts of them. What they are is a communicator like any other, so the
// questions answer for any name that HcclGetCommName gives.
#include "include/hccl/hcom.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT
using comm::Communicator;
using comm::Communicators;

namespace {

// What HcomCreateGroup made, for HcomDestroy; by device, since ranks may be threads.
struct Groups {
  Mutex mutex;
  std::vector<std::pair<int32_t, HcclComm>> made GUARDED_BY(mutex);
};
Groups& TheGroups() {
  static auto& groups = *new Groups;  // leaked: process groups end in static destructors
  return groups;
}

Status FindGroup(const char* group, CommunicatorPtr* out_comm, HcclComm* out_handle = nullptr) {
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  MP_NOT_WILD(group);
  const char* const name = group != nullptr ? group : kWorldName;
  void* const handle = Communicators::Get().HandleOf(name, device->id());
  *out_comm = Communicators::Get().Find(handle);
  if (out_handle != nullptr) *out_handle = handle;
  if (*out_comm != nullptr) return Ok();
  return InvalidValue("group", name,
                      "no communicator of this process has that name; there are: " + Communicators::Get().NameGroups());
}

template <class Value>
HcclResult Tell(const char* api, const char* group, const char* parameter, uint32_t* out, Value&& value) {
  return Guard(api, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(acl::CheckGiven(parameter, out));
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindGroup(group, &found));
    return value(*found);
  });
}
// Where there is nothing to refuse.
template <class Value>
HcclResult TellNumber(const char* api, const char* group, const char* parameter, uint32_t* out, const Value& value) {
  return Tell(api, group, parameter, out, [&](const Communicator& found) {
    *out = value(found);
    return Ok();
  });
}

bool IsHere(const Communicator& comm, uint32_t rank) {
  return comm.world == nullptr || comm.world->cell(rank).host.load() == 0;
}

uint32_t CountHere(const Communicator& comm, uint32_t ranks) {
  uint32_t count = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) count += IsHere(comm, rank) ? 1 : 0;
  return count;
}

// Forgets it; true when HcomCreateGroup made it.
bool TakeMade(HcclComm comm) {
  MutexLock lock(TheGroups().mutex);
  return std::erase_if(TheGroups().made, [&](const auto& made) { return made.second == comm; }) != 0;
}

Status NoExecutor(const char* what) {
  return acl::NotSupported(
      Format("%s belongs to an executor of graph operators, which is not here; launch the operation on a stream "
             "(HcclAllReduce and its like), or run the graph by GE",
             what)
          .c_str());
}

}  // namespace

extern "C" HcclResult HcomInitByFile(const char* rankTablePath, const char* identify) {
  return Guard("HcomInitByFile", [&]() -> Outcome {
    MP_NOT_NULL(rankTablePath);
    MP_NOT_NULL(identify);
    uint32_t rank = 0;
    const std::string text = identify;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc() || end != text.data() + text.size()) {
      return InvalidValue("identify", text, "it is this rank's number as decimal text");
    }
    HcclComm made = nullptr;
    return InitFromRankTable(rankTablePath, rank, {}, &made);
  });
}

extern "C" HcclResult HcomDestroy(void) {
  return Guard("HcomDestroy", []() -> Outcome {
    CommunicatorPtr world;
    HcclComm handle = nullptr;
    MP_RETURN_IF_ERROR(FindGroup(nullptr, &world, &handle));
    std::vector<HcclComm> ending;
    {
      MutexLock lock(TheGroups().mutex);
      std::erase_if(TheGroups().made, [&](const auto& made) {
        if (made.first != world->device) return false;
        ending.push_back(made.second);
        return true;
      });
    }
    for (HcclComm group : ending) DestroyComm(group).Ignore();  // HcclCommDestroy may have come first
    return DestroyComm(handle);
  });
}

extern "C" HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds) {
  return Guard("HcomCreateGroup", [&]() -> Outcome {
    MP_NOT_NULL(group);
    MP_NOT_NULL(rankIds);
    CommunicatorPtr world;
    MP_RETURN_IF_ERROR(FindGroup(nullptr, &world));
    const std::span<const uint32_t> ids(rankIds, rankNum);
    const auto own = std::find(ids.begin(), ids.end(), world->rank);
    if (own == ids.end()) {
      return InvalidValue("rankIds", comm::NameRanks({ids.begin(), ids.end()}),
                          Format("this is rank %u; the members of a group make it", world->rank));
    }
    RankSettings settings;
    settings.name = group;
    if (settings.name.empty() || settings.name.size() >= comm::kNameBytes) {
      return InvalidValue("group", settings.name, Format("a name has 1 to %zu characters", comm::kNameBytes - 1));
    }
    // Members know each other by the list; the name, which they compare when they meet, tells groups apart.
    uint64_t id = 0;
    for (const char c : settings.name) id = id * 131 + static_cast<uint8_t>(c);
    HcclComm made = nullptr;
    MP_RETURN_IF_ERROR(MakeSub(world, ids, id, static_cast<uint32_t>(own - ids.begin()), settings, &made));
    MutexLock lock(TheGroups().mutex);
    TheGroups().made.emplace_back(world->device, made);
    return Ok();
  });
}

extern "C" HcclResult HcomDestroyGroup(const char* group) {
  return Guard("HcomDestroyGroup", [&]() -> Outcome {
    MP_NOT_NULL(group);
    CommunicatorPtr found;
    HcclComm handle = nullptr;
    MP_RETURN_IF_ERROR(FindGroup(group, &found, &handle));
    if (!TakeMade(handle)) return InvalidValue("group", group, "HcomCreateGroup did not make it");
    return DestroyComm(handle);
  });
}

extern "C" HcclResult HcomGetRankId(const char* group, uint32_t* rankId) {
  return TellNumber("HcomGetRankId", group, "rankId", rankId, [](const Communicator& found) { return found.rank; });
}

extern "C" HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize) {
  return TellNumber("HcomGetRankSize", group, "rankSize", rankSize,
                    [](const Communicator& found) { return found.ranks; });
}

extern "C" HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId) {
  return TellNumber("HcomGetLocalRankId", group, "localRankId", localRankId,
                    [](const Communicator& found) { return CountHere(found, found.rank); });
}

extern "C" HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize) {
  return TellNumber("HcomGetLocalRankSize", group, "localRankSize", localRankSize,
                    [](const Communicator& found) { return CountHere(found, found.ranks); });
}

extern "C" HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank, uint32_t* worldRank) {
  return Tell(
      "HcomGetWorldRankFromGroupRank", group, "worldRank", worldRank, [&](const Communicator& found) -> Outcome {
        if (groupRank >= found.ranks) {
          return InvalidValue("groupRank", std::to_string(groupRank), Format("ranks go from 0 to %u", found.ranks - 1));
        }
        *worldRank = found.members.empty() ? groupRank : found.members[groupRank];
        return Ok();
      });
}

extern "C" HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group, uint32_t* groupRank) {
  return Tell("HcomGetGroupRankFromWorldRank", group, "groupRank", groupRank,
              [&](const Communicator& found) -> Outcome {
                for (uint32_t rank = 0; rank < found.ranks; ++rank) {
                  if ((found.members.empty() ? rank : found.members[rank]) != worldRank) continue;
                  *groupRank = rank;
                  return Ok();
                }
                return InvalidValue("worldRank", std::to_string(worldRank), "it is no member of the group");
              });
}

// They take C++ objects, none of which is looked at.
extern "C" ACL_FUNC_VISIBILITY HcclResult HcomExecInitialize(void) {
  return Guard("HcomExecInitialize", []() -> Outcome { return NoExecutor("HcomExecInitialize"); });
}
extern "C" ACL_FUNC_VISIBILITY HcclResult HcomExecFinalize(void) {
  return Guard("HcomExecFinalize", []() -> Outcome { return NoExecutor("HcomExecFinalize"); });
}
extern "C" ACL_FUNC_VISIBILITY HcclResult HcomExecEnqueueOperation(void) {
  return Guard("HcomExecEnqueueOperation", []() -> Outcome { return NoExecutor("HcomExecEnqueueOperation"); });
}
extern "C" ACL_FUNC_VISIBILITY HcclResult HcomExecEnqueueAllToAllV(void) {
  return Guard("HcomExecEnqueueAllToAllV", []() -> Outcome { return NoExecutor("HcomExecEnqueueAllToAllV"); });
}
