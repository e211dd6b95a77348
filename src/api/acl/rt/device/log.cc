// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.h"

#include <cstdarg>
#include <cstdio>

#include "include/acl/acl_base_rt.h"
#include "src/api/common/guard.h"

// Documented: one line holds at most 1024 bytes; what is longer is cut and marked.
extern "C" void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt,
                          ...) {
  namespace log = millpond::log;
  if (fmt == nullptr || logLevel < ACL_DEBUG || logLevel > ACL_ERROR) return;
  const auto level = static_cast<log::Level>(logLevel);
  va_list args;
  va_start(args, fmt);
  // Untraced, and allowed in a forked child as the lines of any program are; only what it throws must not get out.
  static_cast<void>(millpond::Guard(millpond::SilentAbi<bool, true, false>(), "aclAppLog", [&] {
    if (!log::Enabled(level, log::kApp)) return millpond::Ok();
    constexpr char kMark[] = "...[truncated]";
    char text[1024 + 1];
    const int needed = vsnprintf(text, sizeof(text), fmt, args);
    if (needed < 0) return millpond::Ok();
    if (static_cast<size_t>(needed) >= sizeof(text)) {
      snprintf(text + sizeof(text) - sizeof(kMark), sizeof(kMark), "%s", kMark);
    }
    log::Write(level, log::kApp, text, {func, file, line});
    return millpond::Ok();
  }));
  va_end(args);
}
