// SPDX-License-Identifier: Apache-2.0
// libmillpond_check.so's doors: libmillpond opens it when MILLPOND_CHECK or MILLPOND_REPORT asks for it, and the pytest
// plugin asks it about one test at a time.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "src/base/options.h"
#include "src/check/checker.h"
#include "src/check/torch_door.h"

namespace {

// The status of a program that ended well although errors were found.
constexpr int kErrorsFound = 66;

// Null until the start. Never destroyed: records come until the very end.
millpond::check::Checker* g_checker = nullptr;

struct AtEnd {
  millpond::check::Checker* checker;
  pid_t pid;
};

void Finish(int status, void* argument) {
  const auto* end = static_cast<const AtEnd*>(argument);
  if (end->pid != getpid()) return;  // a forked child
  if (end->checker->Finish() == 0 || status != 0 || millpond::GetOptions().check_status == "keep") return;
  // The other functions of the exit still run, with the new status: glibc goes on where it was.
  std::exit(kErrorsFound);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void millpond_check_start() {
  auto* checker = new millpond::check::Checker;
  const millpond::Status status = checker->Open(millpond::GetOptions());
  if (!status.ok()) std::fprintf(stderr, "millpond check: %s\n", status.message().c_str());
  on_exit(&Finish, new AtEnd{checker, getpid()});
  millpond::trace::Attach(checker);
  g_checker = checker;
  millpond::check::torch_door::Open(checker);
}

// Device memory is counted anew from here.
extern "C" __attribute__((visibility("default"))) void millpond_check_begin() {
  if (g_checker != nullptr) g_checker->BeginSpan();
}

// Writes what is known by now and stands in no line: how often each finding was made, and with_memory a line "span".
extern "C" __attribute__((visibility("default"))) void millpond_check_tell(int with_memory) {
  if (g_checker != nullptr) g_checker->Tell(with_memory != 0);
}
