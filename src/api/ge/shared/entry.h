// SPDX-License-Identifier: Apache-2.0
// What stands around every entry point of the session libraries: the acl Guard (which catches, keeps the message where
// GEGetErrorMsg and aclGetRecentErrMsg look, and traces), and the table from our codes to the graph engine's numbers.
// The functions here exist once in each of the two libraries and hold no state: that is in src/exec.
#ifndef MILLPOND_SRC_API_GE_SHARED_ENTRY_H_
#define MILLPOND_SRC_API_GE_SHARED_ENTRY_H_

#include <map>
#include <memory>

#include "include/ge/ge_api_error_codes.h"
#include "include/graph/ascend_string.h"
#include "src/api/acl/guard.h"
#include "src/base/status.h"
#include "src/exec/session.h"

namespace millpond::geapi {

// Facts 9.1.
inline constexpr ::ge::Status kSuccess = 0;
inline constexpr ::ge::Status kFailed = 0xFFFFFFFF;
inline constexpr ::ge::Status kParamInvalid = 50331649;
inline constexpr ::ge::Status kNotSupported = 1343225956;
inline constexpr ::ge::Status kGraphNotExist = 1343242242;
inline constexpr ::ge::Status kGraphNotBuilt = 1343242295;

// How a call's failures are told (facts 3.2, 3.3): most calls have one number for all of them.
enum class Numbers : uint8_t {
  kFailed,       // FAILED
  kRun,          // what a run is not made for: UNSUPPORTED; else FAILED
  kFirstRun,     // the same, and an unknown graph by its own number
  kMemory,       // PARAM_INVALID; not supported, not initialised and our own errors as what they are
  kFirstMemory,  // the same, and an unknown or uncompiled graph by its own number
};
::ge::Status NumberOf(Numbers numbers, Code code);

// Puts the template's tag in front of a message that has none.
Status Tagged(Status status);

template <class Body>
::ge::Status Enter(const char* api, Numbers numbers, Body&& body) {
  Code code = Code::kInternal;  // an exception, a forked child
  const aclError result = acl::Guard(api, [&]() -> Status {
    Status status = body();
    code = status.code();
    return Tagged(std::move(status));
  });
  return result == ACL_SUCCESS ? kSuccess : NumberOf(numbers, code);
}

// The same for a call on a session: body(GraphSession&).
template <class Body>
::ge::Status EnterSession(const char* api, uint64_t session_id, Numbers numbers, Body&& body) {
  return Enter(api, numbers, [&]() -> Status {
    std::shared_ptr<GraphSession> session;
    MP_RETURN_IF_ERROR(GraphEngine::Get().FindSession(session_id, &session));
    return body(*session);
  });
}

// And on one of its graphs: body(GraphSession&, SessionGraph&).
template <class Body>
::ge::Status EnterGraph(const char* api, uint64_t session_id, uint32_t graph_id, Numbers numbers, Body&& body) {
  return EnterSession(api, session_id, numbers, [&](GraphSession& session) -> Status {
    std::shared_ptr<SessionGraph> graph;
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
