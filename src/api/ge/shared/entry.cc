// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/entry.h"

#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/graph/build.h"

namespace millpond::geapi {

::ge::Status NumberOf(Numbers numbers, Code code) {
  const bool first = numbers == Numbers::kFirstRun || numbers == Numbers::kFirstMemory;
  const bool memory = numbers == Numbers::kMemory || numbers == Numbers::kFirstMemory;
  switch (code) {
    case Code::kUnsupported:
      return numbers == Numbers::kFailed ? kFailed : kNotSupported;
    case Code::kGraphUnknown:
      if (first) return kGraphNotExist;
      return memory ? kParamInvalid : kFailed;
    case Code::kGraphNotBuilt:
      if (numbers == Numbers::kFirstMemory) return kGraphNotBuilt;
      return memory ? kParamInvalid : kFailed;
    case Code::kUninitialized:
    case Code::kInternal:
    case Code::kHostOutOfMemory:
      return kFailed;
    default:
      return memory ? kParamInvalid : kFailed;
  }
}

Status Tagged(Status status) {
  if (status.ok() || (status.message().size() > 2 && status.message()[0] == '[' && status.message()[1] == 'E')) {
    return status;
  }
  const bool ours = status.code() == Code::kInternal;
  return {status.code(), (ours ? "[E19999] {api} failed. Reason: " : "[E10059] {api} failed. Reason: ") +
                             status.message() + (status.message().ends_with('.') ? "" : ".")};
}

GraphOptions OptionsFrom(const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  GraphOptions made;
  for (const auto& [key, value] : options) made.emplace(api::TextOf(key), api::TextOf(value));
  return made;
}

::ge::Status Initialize(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  return Enter(api, Numbers::kFailed, [&]() -> Status {
    MP_RETURN_IF_ERROR(GraphEngine::Get().Initialize(OptionsFrom(options)));
    api::PreferBuiltInOperators();
    return Ok();
  });
}

::ge::Status Finalize(const char* api) {
  return Enter(api, Numbers::kFailed, [] { return GraphEngine::Get().Finalize(); });
}

::ge::AscendString TakeErrorMessage() {
  const char* text = aclGetRecentErrMsg();
  return {text == nullptr ? "" : text};
}

::ge::AscendString TakeWarningMessage() { return {TakeWarnings().c_str()}; }

}  // namespace millpond::geapi
