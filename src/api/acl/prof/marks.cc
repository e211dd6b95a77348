// SPDX-License-Identifier: Apache-2.0
// Marks and ranges of the application, and steps of a training loop. With a trace (millpond run --trace FILE) each
// shows there under its text; without one they are checked and dropped, as a profiler that is off does.
#include "src/trace/marks.h"

#include <string>
#include <string_view>

#include "include/acl/acl_prof.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/magic.h"
#include "src/api/common/message.h"
#include "src/device/stream/stream.h"
#include "src/report/profile_session.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

struct aclprofStepInfo {
  Magic<0x50524f4653544550> magic;
  uint64_t number = 0;
  bool started = false;
  bool ended = false;
};

namespace {

constexpr size_t kMaxText = 127;  // documented

struct Stamp {
  Magic<0x50524f465354414d> magic;
  std::string text = "mark";
  uint64_t start_ns = 0;
};

Status FindStamp(void* stamp, Stamp** out_stamp) {
  MP_NOT_NULL(stamp);
  *out_stamp = static_cast<Stamp*>(stamp);
  if (IsAlive(*out_stamp)) return Ok();
  return InvalidValue("stamp", Format("%p", stamp), "aclprofCreateStamp did not give it, or it was destroyed");
}

Status CheckText(const char* msg, size_t length) {
  MP_NOT_NULL(msg);
  if (length == 0 || length > kMaxText) {
    return InvalidValue("msgLen", std::to_string(length), Format("it must be 1 to %zu", kMaxText));
  }
  return Ok();
}

Status PopRange(const char* push) {
  MP_REQUIRE(trace::PopRange(), "no range of this thread is open; call %s first", push);
  return Ok();
}

Status CheckStep(const char* parameter, const aclprofStepInfo* step) {
  if (step == nullptr) return NullPointer(parameter);
  MP_REQUIRE(IsAlive(step), "%s %p is not a step, or it was destroyed", parameter, static_cast<const void*>(step));
  return Ok();
}

template <class Act>
aclError OnStamp(const char* api, void* stamp, Act&& act) {
  return On<Stamp>(
      api, [&](Stamp** out_stamp) { return FindStamp(stamp, out_stamp); }, act);
}

}  // namespace

extern "C" void* aclprofCreateStamp(void) {
  void* made = nullptr;
  static_cast<void>(Guard("aclprofCreateStamp", [&]() -> Status {
    MP_REQUIRE(report::ProfileSession::Get().running(), "stamps exist between aclprofStart and aclprofStop");
    made = new Stamp;
    return Ok();
  }));
  return made;
}

extern "C" void aclprofDestroyStamp(void* stamp) {
  static_cast<void>(OnStamp("aclprofDestroyStamp", stamp, [&](Stamp* found) { return Destroy("stamp", found); }));
}

extern "C" aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  return OnStamp("aclprofSetStampTraceMessage", stamp, [&](Stamp* found) -> Status {
    MP_RETURN_IF_ERROR(CheckText(msg, msgLen));
    found->text.assign(msg, msgLen);
    return Ok();
  });
}

extern "C" aclError aclprofMark(void* stamp) {
  return OnStamp("aclprofMark", stamp, [&](Stamp* found) {
    trace::Mark(trace::Interned(found->text));
    return Ok();
  });
}

extern "C" aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream) {
  return Guard("aclprofMarkEx", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckText(msg, msgLen));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const char* text = trace::Interned(std::string(msg, msgLen));
    return found->Launch<TaskKind::kOther>(text, {}, [] { return Ok(); });  // shows on the stream, in its order
  });
}

extern "C" aclError aclprofPush(void* stamp) {
  return OnStamp("aclprofPush", stamp, [&](Stamp* found) {
    trace::PushRange(trace::Interned(found->text));
    return Ok();
  });
}

extern "C" aclError aclprofPop(void) {
  return Guard("aclprofPop", [] { return PopRange("aclprofPush"); });
}

extern "C" aclError aclprofRangePushEx(aclprofEventAttributes* attr) {
  return Guard("aclprofRangePushEx", [&]() -> Status {
    MP_NOT_NULL(attr);
    if (attr->messageType != ACL_PROF_MESSAGE_TYPE_TENSOR_INFO) {
      return InvalidValue("attr->messageType", std::to_string(attr->messageType), "it must be 0, tensor information");
    }
    trace::PushRange("aclprofRange");
    return Ok();
  });
}

extern "C" aclError aclprofRangePop(void) {
  return Guard("aclprofRangePop", [] { return PopRange("aclprofRangePushEx"); });
}

extern "C" aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  return Guard("aclprofRangeStart", [&]() -> Status {
    Stamp* found = nullptr;
    MP_RETURN_IF_ERROR(FindStamp(stamp, &found));
    MP_NOT_NULL(rangeId);
    *rangeId = trace::StartRange(trace::Interned(found->text));
    return Ok();
  });
}

extern "C" aclError aclprofRangeStop(uint32_t rangeId) {
  return Guard("aclprofRangeStop", [&]() -> Status {
    if (trace::StopRange(rangeId)) return Ok();
    return InvalidValue("rangeId", std::to_string(rangeId), "aclprofRangeStart did not give it, or it was stopped");
  });
}

// Equal texts get equal numbers: FNV-1a, as MsprofGetHashId.
extern "C" uint64_t aclprofStr2Id(const char* message) {
  uint64_t number = 0;
  static_cast<void>(Guard("aclprofStr2Id", [&]() -> Status {
    MP_NOT_NULL(message);
    number = 0xcbf29ce484222325;
    for (const char c : std::string_view(message)) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return Ok();
  }));
  return number;
}

extern "C" aclprofStepInfo* aclprofCreateStepInfo(void) {
  aclprofStepInfo* made = nullptr;
  static_cast<void>(Guard("aclprofCreateStepInfo", [&]() -> Status {
    made = new aclprofStepInfo;
    made->number = trace::NextStep();
    return Ok();
  }));
  return made;
}

extern "C" void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  static_cast<void>(Guard("aclprofDestroyStepInfo", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckStep("stepinfo", stepinfo));
    return Destroy("stepinfo", stepinfo);
  }));
}

extern "C" aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream) {
  return Guard("aclprofGetStepTimestamp", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckStep("stepInfo", stepInfo));
    if (tag != ACL_STEP_START && tag != ACL_STEP_END) {
      return InvalidValue("tag", std::to_string(tag), "it must be ACL_STEP_START or ACL_STEP_END");
    }
    bool& done = tag == ACL_STEP_START ? stepInfo->started : stepInfo->ended;
    MP_REQUIRE(!done, "step %llu has its %s already; create another with aclprofCreateStepInfo",
               static_cast<unsigned long long>(stepInfo->number), tag == ACL_STEP_START ? "start" : "end");
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(
        found->Launch<TaskKind::kOther>(tag == ACL_STEP_START ? "StepStart" : "StepEnd", {}, [] { return Ok(); }));
    done = true;
    return Ok();
  });
}
