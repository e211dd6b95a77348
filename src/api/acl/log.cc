// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.h"

#include <cstdarg>
#include <cstdio>

#include "include/acl/acl_base_rt.h"

// Documented: one line holds at most 1024 bytes; what is longer is cut and marked.
extern "C" void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt,
                          ...) {
  namespace log = millpond::log;
  if (fmt == nullptr || logLevel < ACL_DEBUG || logLevel > ACL_ERROR) return;
  const auto level = static_cast<log::Level>(logLevel);
  try {
    if (!log::Enabled(level, log::kApp)) return;
    constexpr char kMark[] = "...[truncated]";
    char text[1024 + 1];
    va_list args;
    va_start(args, fmt);
    const int needed = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (needed < 0) return;
    if (static_cast<size_t>(needed) >= sizeof(text)) {
      snprintf(text + sizeof(text) - sizeof(kMark), sizeof(kMark), "%s", kMark);
    }
    log::Write(level, log::kApp, text, {func, file, line});
  } catch (...) {
    // A line of a log must not break the program that writes it.
  }
}
