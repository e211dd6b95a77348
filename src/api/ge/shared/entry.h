// SPDX-License-Identifier: Apache-2.0
// Guard for the entry points of the session libraries. The graph engine's numbers are in error_map.cc.
// The functions here exist once in each of the two libraries and hold no state: that is in src/exec.
#ifndef MILLPOND_SRC_API_GE_SHARED_ENTRY_H_
#define MILLPOND_SRC_API_GE_SHARED_ENTRY_H_

#include <map>
#include <memory>

#include "include/ge/ge_api_error_codes.h"
#include "include/graph/ascend_string.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"
#include "src/base/status.h"
#include "src/exec/session/session.h"

namespace millpond::geapi {

// docs/compat.md, "Answers of the graph engine".
inline constexpr ::ge::Status kSuccess = 0;
inline constexpr ::ge::Status kFailed = 0xFFFFFFFF;
inline constexpr ::ge::Status kParamInvalid = 50331649;
inline constexpr ::ge::Status kNotSupported = 1343225956;
inline constexpr ::ge::Status kGraphNotExist = 1343242242;
inline constexpr ::ge::Status kGraphNotBuilt = 1343242295;

// How a call's failures are told (docs/compat.md, "Rules of sessions"): most calls have one number for all of them.
enum class Numbers : uint8_t {
  kFailed,       // FAILED
  kRun,          // what a run is not made for: UNSUPPORTED; else FAILED
  kFirstRun,     // the same, and an unknown graph by its own number
  kMemory,       // PARAM_INVALID; not supported, not initialised and our own errors as what they are
  kFirstMemory,  // the same, and an unknown or uncompiled graph by its own number
};
::ge::Status NumberOf(Numbers numbers, Code code);

// The failure with a template's tag in front of its message, if that has none.
Status Tagged(const Status& failure);

struct GeAbi : RuntimeAbi {
  using Result = ::ge::Status;
  static constexpr Result kSuccess = geapi::kSuccess;
  static constexpr Result kNoMemory = kFailed;

  explicit GeAbi(Numbers how) : numbers(how) {}
  Result Number(const Status& failure) const { return NumberOf(numbers, failure.code()); }
  static void Keep(const char* api, Result number, const Status& failure) {
    RuntimeAbi::Keep(api, number, Tagged(failure));
  }

  Numbers numbers;
};

using Outcome = BasicOutcome<::ge::Status>;

template <class Body>
::ge::Status Enter(const char* api, Numbers numbers, Body&& body) {
  return Guard(GeAbi(numbers), api, body);
}

// The same for a call on a session: body(session::Session&).
template <class Body>
::ge::Status EnterSession(const char* api, uint64_t session_id, Numbers numbers, Body&& body) {
  return Enter(api, numbers, [&]() -> Outcome {
    std::shared_ptr<session::Session> session;
    MP_RETURN_IF_ERROR(session::Engine::Get().FindSession(session_id, &session));
    return body(*session);
  });
}

// And on one of its graphs: body(session::Session&, session::NumberedGraph&).
template <class Body>
::ge::Status EnterGraph(const char* api, uint64_t session_id, uint32_t graph_id, Numbers numbers, Body&& body) {
  return EnterSession(api, session_id, numbers, [&](session::Session& session) -> Outcome {
    std::shared_ptr<session::NumberedGraph> graph;
    MP_RETURN_IF_ERROR(session.Find(graph_id, &graph));
    return body(session, *graph);
  });
}

GraphOptions OptionsFrom(const std::map<::ge::AscendString, ::ge::AscendString>& options);

// GEInitialize and its like: reads the built-in operators too.
::ge::Status Initialize(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options);
::ge::Status Finalize(const char* api);
::ge::AscendString TakeErrorMessage();
::ge::AscendString TakeWarningMessage();

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_ENTRY_H_
