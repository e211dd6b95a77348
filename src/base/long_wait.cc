// SPDX-License-Identifier: Apache-2.0
#include "src/base/long_wait.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/base/thread_local.h"

namespace millpond {

namespace {

std::string NameOfThread(int32_t thread) {
  std::string name;
  std::getline(std::ifstream(Format("/proc/self/task/%d/comm", thread)), name);
  return Format("thread %d (%s)", thread, name.empty() ? "ended" : name.c_str());
}

}  // namespace

int32_t SystemThreadId() {
  thread_local int32_t t_id MP_FAST_TLS = 0;  // asked at each call of a client's allocator
  if (t_id == 0) t_id = static_cast<int32_t>(syscall(SYS_gettid));
  return t_id;
}

void TellLongWait(int32_t waiter, const std::string& for_what, int32_t holder, const std::string& does_what) {
  const std::string text =
      Format("%s has waited %lld s %s: %s %s", NameOfThread(waiter).c_str(), static_cast<long long>(kLongWait.count()),
             for_what.c_str(), holder != 0 ? NameOfThread(holder).c_str() : "another thread", does_what.c_str());
  std::fprintf(stderr, "millpond: %s\n", text.c_str());
  log::Write(log::Level::kWarning, log::kRuntime, text);
}

}  // namespace millpond
