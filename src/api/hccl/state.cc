// SPDX-License-Identifier: Apache-2.0
// What communicators say about themselves; suspending, resuming and ending them.
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "include/hccl/hccl.h"
#include "src/api/hccl/comm.h"
#include "src/api/hccl/hccl_guard.h"
#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/comm/transfer.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::hccl;  // NOLINT

namespace {

// Writes what `value` says of the communicator to the caller's variable.
template <class T, class Value>
HcclResult Tell(const char* api, HcclComm comm, const char* parameter, T* out, Value&& value) {
  return Guard(api, [&]() -> Outcome {
    MP_RETURN_IF_ERROR(acl::CheckGiven(parameter, out));
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    *out = value(*found);
    return Ok();
  });
}

// Who wants to hear of a communicator's end and return, by the name it registered with.
struct Listener {
  HcclCommStateCallback call = nullptr;
  void* args = nullptr;
};
struct Listeners {
  Mutex mutex;
  std::map<std::string, Listener> by_name GUARDED_BY(mutex);
};
Listeners& TheListeners() {
  static auto& listeners = *new Listeners;  // leaked: process groups end in static destructors
  return listeners;
}

// Without a lock: a listener may call back.
void TellListeners(HcclComm comm, HcclCommStatePhase phase) {
  std::map<std::string, Listener> listeners;
  {
    MutexLock lock(TheListeners().mutex);
    listeners = TheListeners().by_name;
  }
  for (const auto& [name, listener] : listeners) {
    const HcclResult result = listener.call(comm, phase, listener.args);
    if (result == HCCL_SUCCESS) continue;
    log::Write(
        log::Level::kWarning, log::kRuntime,
        Format("the state callback '%s' of HcclCommRegCommStateCallback answered %d in phase %d; the call goes on",
               name.c_str(), static_cast<int>(result), static_cast<int>(phase)));
  }
}

int32_t DeviceOfThread() {
  Device* device = nullptr;
  return RequireDevice(&device).ok() ? device->id() : -1;
}

}  // namespace

extern "C" HcclResult HcclCommDestroy(HcclComm comm) {
  return Guard("HcclCommDestroy", [&]() -> Outcome {
    if (comm::Expected::GiveUp(comm)) return Ok();  // another thread is about to make it
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    TellListeners(comm, HCCL_COMM_STATE_PHASE_DESTROY_PRE);
    MP_RETURN_IF_ERROR(DestroyComm(comm));
    TellListeners(comm, HCCL_COMM_STATE_PHASE_DESTROY_POST);
    return Ok();
  });
}

extern "C" HcclResult HcclCommSuspend(HcclComm comm) {
  return GuardComm("HcclCommSuspend", comm, [&](const CommunicatorPtr& found) -> Outcome {
    found->suspended.store(true);
    return Ok();
  });
}

extern "C" HcclResult HcclCommResume(HcclComm comm) {
  return GuardComm("HcclCommResume", comm, [&](const CommunicatorPtr&) -> Outcome {
    Clock::time_point deadline;
    MP_RETURN_IF_ERROR(MeetingDeadline(&deadline));
    TellListeners(comm, HCCL_COMM_STATE_PHASE_RESUME_PRE);
    MP_RETURN_IF_ERROR(comm::Resume(comm, deadline));
    TellListeners(comm, HCCL_COMM_STATE_PHASE_RESUME_POST);
    return Ok();
  });
}

extern "C" HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb, void* args) {
  return Guard("HcclCommRegCommStateCallback", [&]() -> Outcome {
    MP_NOT_NULL(regName);
    MP_NOT_NULL(cb);
    MutexLock lock(TheListeners().mutex);
    TheListeners().by_name[regName] = {cb, args};
    return Ok();
  });
}

extern "C" HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status) {
  return Guard("HcclCommGetStatus", [&]() -> Outcome {
    MP_NOT_NULL(commId);
    MP_NOT_NULL(status);
    const auto& all = comm::Communicators::Get();
    const CommunicatorPtr found = all.Find(all.HandleOf(commId, DeviceOfThread()));
    *status = HCCL_COMM_STATUS_INVALID;
    if (found == nullptr) return InvalidValue("commId", commId, "no communicator of this process has that name");
    if (found->trouble() == comm::Communicator::Trouble::kNone) *status = HCCL_COMM_STATUS_READY;
    if (found->suspended.load()) *status = HCCL_COMM_STATUS_SUSPENDING;
    return Ok();
  });
}

extern "C" HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  return Guard("HcclCommGetHandleWithName", [&]() -> Outcome {
    MP_NOT_NULL(commName);
    MP_NOT_NULL(comm);
    void* const found = comm::Communicators::Get().HandleOf(commName, DeviceOfThread());
    if (found == nullptr) {
      return InvalidValue(
          "commName", commName,
          "no communicator of this process has that name; there are: " + comm::Communicators::Get().NameGroups());
    }
    *comm = found;
    return Ok();
  });
}

// Operations are computed by the host's processors, which is what the first mode stands for here.
extern "C" HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen, void* info) {
  return GuardComm("HcclConfigGetInfo", comm, [&](const CommunicatorPtr&) -> Outcome {
    MP_NOT_NULL(info);
    if (cfgType != HCCL_CONFIG_TYPE_OP_EXPANSION_MODE) {
      return Unsupported(
          Format("setting %d is not known; HCCL_CONFIG_TYPE_OP_EXPANSION_MODE (0) is", static_cast<int>(cfgType)));
    }
    const HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_AI_CPU;
    if (infoLen < sizeof(mode)) {
      return InvalidValue("infoLen", std::to_string(infoLen), Format("the setting has %zu bytes", sizeof(mode)));
    }
    std::memcpy(info, &mode, sizeof(mode));
    return Ok();
  });
}

extern "C" HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  return Guard("HcclGroupStatusGet", [&]() -> Outcome {
    MP_NOT_NULL(isGroupEnabled);
    *isGroupEnabled = comm::Group::OfThread().depth > 0;
    return Ok();
  });
}

extern "C" HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return Tell("HcclGetRankSize", comm, "rankSize", rankSize,
              [](const comm::Communicator& found) { return found.ranks; });
}

extern "C" HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return Tell("HcclGetRankId", comm, "rank", rank, [](const comm::Communicator& found) { return found.rank; });
}

extern "C" HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return Guard("HcclGetCommName", [&]() -> Outcome {
    MP_NOT_NULL(commName);
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    std::memcpy(commName, found->name.c_str(), found->name.size() + 1);  // at most 128 bytes: ReadConfig saw to it
    return Ok();
  });
}

// What fails asynchronously fails on its stream, and the next synchronisation says so. A watchdog that asks here
// instead finds the message on its own thread.
extern "C" HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  static constexpr char kApi[] = "HcclGetCommAsyncError";
  return Guard(kApi, [&]() -> Outcome {
    MP_NOT_NULL(asyncError);
    CommunicatorPtr found;
    MP_RETURN_IF_ERROR(FindComm(comm, &found));
    *asyncError = found->suspended.load() ? HCCL_E_SUSPENDING : HCCL_SUCCESS;
    if (found->trouble() == comm::Communicator::Trouble::kNone) return Ok();
    *asyncError = found->trouble() == comm::Communicator::Trouble::kRemote ? HCCL_E_REMOTE : HCCL_E_PARA;
    HcclAbi::Keep(kApi, *asyncError, found->Failure());
    return Ok();
  });
}
