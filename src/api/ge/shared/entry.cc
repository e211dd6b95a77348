// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/entry.h"

#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/graph/build.h"

namespace millpond::geapi {

Status Tagged(const Status& failure) {
  const std::string& message = failure.message();
  if (message.starts_with("[E")) return failure.Clone();
  const bool ours = failure.code() == Code::kInternal;
  return Status(failure.code(), std::string(ours ? "[E19999]" : "[E10059]") + " {api} failed. Reason: " + message +
                                    (message.ends_with('.') ? "" : "."))
      .Breaks(failure.rule(), failure.subject());
}

GraphOptions OptionsFrom(const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  GraphOptions made;
  for (const auto& [key, value] : options) made.emplace(api::TextOf(key), api::TextOf(value));
  return made;
}

::ge::Status Initialize(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  return Enter(api, Numbers::kFailed, [&]() -> Status {
    MP_RETURN_IF_ERROR(session::Engine::Get().Initialize(OptionsFrom(options)));
    api::PreferBuiltInOperators();
    return Ok();
  });
}

::ge::Status Finalize(const char* api) {
  return Enter(api, Numbers::kFailed, [] { return session::Engine::Get().Finalize(); });
}

::ge::AscendString TakeErrorMessage() {
  const char* text = aclGetRecentErrMsg();
  return {text == nullptr ? "" : text};
}

::ge::AscendString TakeWarningMessage() { return {TakeWarnings().c_str()}; }

}  // namespace millpond::geapi
