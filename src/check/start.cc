// SPDX-License-Identifier: Apache-2.0
// libmillpond_check.so's doors: libmillpond opens it when MILLPOND_CHECK or MILLPOND_REPORT asks for it, and the pytest
// plugin asks it about one test at a time.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/options.h"
#include "src/check/checker.h"
#include "src/check/line_file.h"
#include "src/check/torch_door.h"
#include "src/trace/program_line.h"

namespace {

// The status of a program that ended well although errors were found.
constexpr int kErrorsFound = 66;

// The status of a bad option or suppression file, as of the command.
constexpr int kBadSetting = 2;

// Null until the start. Never destroyed: records come until the very end.
millpond::check::Checker* g_checker = nullptr;

// As they were at load. The runtime reads its own at the program's first call.
const millpond::Options& Settings() {
  static const millpond::Options& settings = *new millpond::Options(millpond::ReadOptions());
  return settings;
}

pid_t g_pid = 0;  // of the process that is checked

void Finish(int status, void*) {
  if (g_pid != getpid()) return;  // a forked child that may not use the device
  if (g_checker->Finish() == 0 || status != 0 || Settings().check_status == "keep") return;
  // The other functions of the exit still run, with the new status: glibc goes on where it was.
  std::exit(kErrorsFound);
}

// Before the program's first call is answered. A run with other rules than those asked for would look like a good one.
[[noreturn]] void RefuseToStart(const millpond::Status& status) {
  millpond::check::WriteQuietly(STDERR_FILENO,
                                "millpond check: " + status.message() +
                                    "; the process ends here with 2: mend the variable, or unset MILLPOND_CHECK\n");
  std::fflush(nullptr);  // of a program that opens the libraries late
  _exit(kBadSetting);
}

// Programs that fork before they open a device have it used by their children.
void InChild() {
  if (g_checker != nullptr && g_checker->BecomeProcess()) g_pid = getpid();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void millpond_check_start() {
  auto* checker = new millpond::check::Checker;
  const millpond::Status status = checker->Open(Settings());
  if (!status.ok()) RefuseToStart(status);
  // As `millpond check` sets it: from its queue torch_npu launches tasks on blocks that it has freed, without the lines
  // that called. It is loaded after this library, and looks then.
  const std::string& check = Settings().check;
  if (!check.empty() && check != "0") setenv("TASK_QUEUE_ENABLE", "0", 0);
  g_pid = getpid();
  g_checker = checker;
  on_exit(&Finish, nullptr);
  pthread_atfork(nullptr, nullptr, &InChild);
  millpond::trace::Attach(checker);
  millpond::trace::SetProgramLine([] { return g_checker->ProgramLine(); });
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
