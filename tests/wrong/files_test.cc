// SPDX-License-Identifier: Apache-2.0
// Whatever becomes of a checked program, what it found is in the file, in whole lines; and whatever becomes of the
// file, the program goes on.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/wrong/rules_test.h"

namespace {

constexpr size_t kBytes = 4096;

void FreeTooEarly() {
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemsetAsync(memory, kBytes, 7, kBytes, stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
}

void InitAndFreeTooEarly() {
  ROLE_INIT();
  FreeTooEarly();
}

struct Lines {
  std::vector<std::string> all;
  bool whole = true;  // each is an object and has its end
  size_t Count(const std::string& event) const {
    size_t count = 0;
    for (const std::string& line : all) count += line.rfind("{\"event\":\"" + event + "\"", 0) == 0;
    return count;
  }
};

Lines LinesOf(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  Lines lines;
  lines.whole = text.empty() || text.back() == '\n';
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.whole &= line.size() > 2 && line.front() == '{' && line.back() == '}';
    lines.all.push_back(line);
  }
  return lines;
}

struct Ended {
  acl_test::ChildResult result;
  Lines lines;
};

Ended ProcessOf(const std::string& role) {
  const std::string path = testing::TempDir() + "lines." + std::to_string(getpid()) + "." + role;
  Ended ended{acl_test::RunRole(role, {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_JSON", path}}), {}};
  ended.lines = LinesOf(path);
  unlink(path.c_str());
  EXPECT_TRUE(ended.lines.whole) << role;
  return ended;
}

Ended EndOf(const std::string& role) {
  Ended ended = ProcessOf(role);
  EXPECT_EQ(ended.lines.Count("start"), 1U) << role;
  EXPECT_EQ(ended.lines.Count("finding"), 1U) << role << ": " << ended.result.output;
  return ended;
}

// It ended by itself, with the checker's exit status, and the last line says so.
void ExpectEnded(const std::string& role) {
  const Ended ended = EndOf(role);
  EXPECT_EQ(ended.result.exit_code, 66) << ended.result.output;
  EXPECT_EQ(ended.lines.Count("end"), 1U);
}

// The program itself ended well; what its processes found is in the file, and each of them wrote its first and last
// line.
void ExpectFoundInAll(const std::string& role, size_t findings, size_t processes) {
  const Ended ended = ProcessOf(role);
  EXPECT_EQ(ended.result.exit_code, 0) << ended.result.output;
  EXPECT_EQ(ended.lines.Count("finding"), findings) << ended.result.output;
  EXPECT_EQ(ended.lines.Count("start"), processes);
  EXPECT_EQ(ended.lines.Count("end"), processes);
}

MP_ROLE(leaves_by_underscore_exit) {
  InitAndFreeTooEarly();
  _exit(4);
}
TEST(CheckedFiles, AreCompleteAfterUnderscoreExit) {
  const Ended ended = EndOf("leaves_by_underscore_exit");
  EXPECT_EQ(ended.result.exit_code, 4);
  EXPECT_EQ(ended.lines.Count("end"), 0U);
}

MP_ROLE(is_killed) {
  InitAndFreeTooEarly();
  raise(SIGKILL);
  return 0;
}
MP_ROLE(is_terminated) {
  InitAndFreeTooEarly();
  raise(SIGTERM);
  return 0;
}
MP_ROLE(aborts) {
  InitAndFreeTooEarly();
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::abort();
}
MP_ROLE(faults) {
  InitAndFreeTooEarly();
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  raise(SIGSEGV);
  return 0;
}
TEST(CheckedFiles, AreCompleteAfterASignal) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_NE(EndOf("faults").result.exit_code, 0);  // a sanitizer reports the fault, and exits
#else
  EXPECT_EQ(EndOf("faults").result.exit_code, -SIGSEGV);
#endif
  EXPECT_EQ(EndOf("is_killed").result.exit_code, -SIGKILL);
  EXPECT_EQ(EndOf("is_terminated").result.exit_code, -SIGTERM);
  EXPECT_EQ(EndOf("aborts").result.exit_code, -SIGABRT);
}

// Under the same number, with nothing of what the first program knew; what it found stays found.
MP_ROLE(becomes_another_program) {
  if (std::getenv("CHECKED_AGAIN") != nullptr) {
    InitAndFreeTooEarly();
    return 0;
  }
  InitAndFreeTooEarly();
  setenv("CHECKED_AGAIN", "1", 1);
  execl("/proc/self/exe", "/proc/self/exe", "--role", "becomes_another_program", nullptr);
  return 9;
}
TEST(CheckedFiles, HaveBothProgramsOfAProcessThatCallsExec) {
  const Ended ended = ProcessOf("becomes_another_program");
  EXPECT_EQ(ended.result.exit_code, 66) << ended.result.output;
  EXPECT_EQ(ended.lines.Count("start"), 2U);
  EXPECT_EQ(ended.lines.Count("finding"), 2U);
  EXPECT_EQ(ended.lines.Count("end"), 1U) << "exec leaves no time for a last line";
}

// Two forks, a session of its own and no descriptor of the parent's, as daemons do it. The parent waits by the pipe.
MP_ROLE(becomes_a_daemon) {
  int ends[2];
  ROLE_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int number = 0; number < 256; ++number) {
      if (number != ends[1]) close(number);
    }
    InitAndFreeTooEarly();
    std::exit(0);
  }
  close(ends[1]);
  int status = 0;
  ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  char byte = 0;
  ROLE_CHECK(read(ends[0], &byte, 1) == 0);  // the daemon's end is closed by the kernel, when it is gone
  return 0;
}
TEST(CheckedFiles, HaveWhatADaemonFound) {
  ExpectFoundInAll("becomes_a_daemon", 1, /*processes=*/2);  // the program, and the daemon
}

// The child ends with everything that exit() runs; it has a copy of what the parent knows, and adds nothing.
MP_ROLE(forks) {
  InitAndFreeTooEarly();
  const pid_t child = fork();
  if (child == 0) std::exit(5);
  int status = 0;
  ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  ROLE_CHECK(WEXITSTATUS(status) == 5);
  return 0;
}
TEST(CheckedFiles, AreTheParentsAloneAfterAFork) { ExpectEnded("forks"); }

// A program that forks before it opens a device: its children use theirs, and are checked.
MP_ROLE(forks_first) {
  pid_t children[2];
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    InitAndFreeTooEarly();
    std::exit(0);
  }
  const pid_t idle = fork();
  if (idle == 0) std::exit(0);
  int status = 0;
  ROLE_CHECK(waitpid(idle, &status, 0) == idle && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const pid_t child : children) {
    ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 66);
  }
  return 0;
}
TEST(CheckedFiles, HaveWhatForkedChildrenFound) {
  ExpectFoundInAll("forks_first", 2, /*processes=*/3);  // the parent, and the children that have a device
}

MP_ROLE(closes_standard_error) {
  close(STDERR_FILENO);
  InitAndFreeTooEarly();
  return 0;
}
TEST(CheckedFiles, AreCompleteWithoutStandardError) { ExpectEnded("closes_standard_error"); }

// `program 2>&1 | head -1`: nobody reads any more, and the text must not be what ends the program.
MP_ROLE(writes_to_nobody) {
  int ends[2];
  ROLE_CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
  close(ends[0]);
  close(ends[1]);
  InitAndFreeTooEarly();
  return 0;
}
TEST(CheckedFiles, AreCompleteWhenNobodyReadsStandardError) { ExpectEnded("writes_to_nobody"); }

// A daemon closes all descriptors, and its own files get the numbers.
MP_ROLE(closes_every_descriptor) {
  ROLE_INIT();
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  const std::string path = std::string(std::getenv("MILLPOND_CHECK_JSON")) + ".own";
  struct stat lines {};
  ROLE_CHECK(stat(std::getenv("MILLPOND_CHECK_JSON"), &lines) == 0);
  int replaced = 0;
  for (int number = 3; number < 256; ++number) {
    struct stat found {};
    if (fstat(number, &found) != 0 || found.st_ino != lines.st_ino || found.st_dev != lines.st_dev) continue;
    const int own = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ROLE_CHECK(dup2(own, number) == number);
    ++replaced;
  }
  ROLE_CHECK(replaced == 1);
  InitAndFreeTooEarly();
  struct stat own {};
  ROLE_CHECK(stat(path.c_str(), &own) == 0 && own.st_size == 0);  // nothing of ours is in it
  unlink(path.c_str());
  return 0;
}
TEST(CheckedFiles, AreFoundAgainAfterTheirDescriptorWasTaken) {
  const Ended ended = EndOf("closes_every_descriptor");
  EXPECT_EQ(ended.result.exit_code, 66) << ended.result.output;
}

MP_ROLE(goes_on) {
  InitAndFreeTooEarly();
  std::printf("went on\n");
  std::fflush(stdout);
  return 0;
}
TEST(CheckedFiles, AFullDiskLosesTheFileAndNotTheProgram) {
  const auto result = acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_JSON", "/dev/full"}});
  EXPECT_EQ(result.exit_code, 66);
  EXPECT_NE(result.output.find("went on"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("findings cannot be written: No space left"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("MP304"), std::string::npos) << "the text has it all the same";
}

TEST(CheckedFiles, AFolderThatIsNotThereLosesTheFileAndNotTheProgram) {
  const auto result =
      acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_JSON", "/no/such/folder/lines"}});
  EXPECT_EQ(result.exit_code, 66) << result.output;
  EXPECT_NE(result.output.find("went on"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("findings cannot be written: "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("/no/such/folder/lines"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("MP304"), std::string::npos) << result.output;
}

// The kernel's answer to a write past the limit on files is a signal that ends the process.
MP_ROLE(may_write_little) {
  ROLE_INIT();  // device memory is a file too
  const rlimit little{600, 600};
  ROLE_CHECK(setrlimit(RLIMIT_FSIZE, &little) == 0);
  FreeTooEarly();
  return 0;
}
TEST(CheckedFiles, ALimitOnTheSizeOfFilesLosesTheRestAndNotTheProgram) {
  const std::string path = testing::TempDir() + "little." + std::to_string(getpid());
  const auto result = acl_test::RunRole("may_write_little", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_JSON", path}});
  EXPECT_EQ(result.exit_code, 66) << result.output;
  EXPECT_NE(result.output.find("findings cannot be written: File too large"), std::string::npos) << result.output;
  EXPECT_EQ(LinesOf(path).Count("start"), 1U);
  unlink(path.c_str());
}

// With 2, before it has done anything, as the command would have refused it.
void ExpectRefused(const std::string& variable, const std::string& value, const std::vector<std::string>& parts) {
  const std::string path = testing::TempDir() + "refused." + std::to_string(getpid());
  const auto ended =
      acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_JSON", path}, {variable, value}});
  EXPECT_EQ(ended.exit_code, 2) << variable << ": " << ended.output;
  EXPECT_EQ(ended.output.find("went on"), std::string::npos) << variable;
  for (const std::string& part : parts) EXPECT_NE(ended.output.find(part), std::string::npos) << ended.output;
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "nothing was checked";
}

TEST(CheckedFiles, AnUnknownSettingInTheEnvironmentStopsAndListsTheKnownOnes) {
  for (const char* variable : {"MILLPOND_CHECK_ONLY", "MILLPOND_CHECK_EXCEPT", "MILLPOND_CHECK_ALSO"}) {
    ExpectRefused(variable, "MP304,MP999", {"'MP999'", "MP101 register-null-stream", "MP803 call-before-init"});
    ExpectRefused(variable, "MP9*", {"'MP9*'", "MP304 free-in-flight"});
  }
  ExpectRefused("MILLPOND_CHECK_HOST_ORDER", "locks", {"'locks'; known: time, threads"});
  ExpectRefused("MILLPOND_CHECK_SAMPLE", "half", {"'half'", "1/N"});
  ExpectRefused("MILLPOND_CHECK_STATUS", "kept", {"'kept'; known: keep, 66"});
}

TEST(CheckedFiles, AnUnreadableSuppressionFileInTheEnvironmentStopsBeforeTheProgram) {
  const std::string variable = "MILLPOND_CHECK_SUPPRESS";
  ExpectRefused(variable, "/no/such/file", {"the suppression file '/no/such/file' cannot be opened: No such file"});
  ExpectRefused(variable, "/", {"'/'"});
  const std::string path = testing::TempDir() + "suppressions." + std::to_string(getpid());
  const std::pair<const char*, const char*> wrong[] = {
      {"MP999", "MP803 call-before-init"},
      {"MP304 functoin=a", "'functoin=a' is no condition"},
      {"MP304 file=a file=b", "'file=' stands twice"},
      {"*", "'*' alone would hide everything"},
      {"MP304 fingerprint=12", "16 hexadecimal digits"},
      {"MP304 fingerprint=0123456789abcdef file=a", "no other condition"},
  };
  for (const auto& [line, reason] : wrong) {
    std::ofstream(path) << "MP304 function=Other\n" << line << "\n";
    ExpectRefused(variable, path, {path, "line 2: ", reason});
  }
  std::ofstream(path) << "MP304 function=*FreeTooEarly*  # known\n";
  const auto ended = acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {variable, path}});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  unlink(path.c_str());
}

TEST(CheckedFiles, RulesInTheEnvironmentAreIdsNamesAndBeginnings) {
  for (const char* list : {"MP304", "mp304", "free-in-flight", "MP3*", "MP611, free-in-flight"}) {
    const auto only = acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_ONLY", list}});
    EXPECT_EQ(only.exit_code, 66) << list << ": " << only.output;
    const auto except = acl_test::RunRole("goes_on", {{"MILLPOND_CHECK", "1"}, {"MILLPOND_CHECK_EXCEPT", list}});
    EXPECT_EQ(except.exit_code, 0) << list << ": " << except.output;
  }
}

TEST(CheckedFiles, AnUnknownScheduleIsRefused) {
  const auto schedule = acl_test::RunRole("goes_on", {{"MILLPOND_SCHEDULE", "sometimes"}});
  EXPECT_NE(schedule.exit_code, 0);
  EXPECT_NE(schedule.output.find("hold:STREAM:TASK"), std::string::npos) << schedule.output;
}

// --- Orders that are written down -----------------------------------------------------------------------------------

// Prints the order in which tasks of two streams ran, and of what the host did meanwhile.
MP_ROLE(two_streams) {
  ROLE_INIT();
  static std::string order;
  aclrtStream one = nullptr, two = nullptr;
  ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
  const auto launch = [](aclrtStream stream, const char* name) {
    ROLE_CHECK(
        millpond_launch(
            stream, name, [](void* text) { order += static_cast<const char*>(text); }, const_cast<char*>(name)) == 0);
    order += '.';
  };
  int32_t id = 0;
  ROLE_CHECK(aclrtStreamGetId(one, &id) == ACL_SUCCESS);
  for (const char* name : {"a", "b", "c"}) launch(one, name);
  for (const char* name : {"x", "y", "z"}) launch(two, name);
  ROLE_CHECK(aclrtSynchronizeStream(two) == ACL_SUCCESS);
  order += '|';
  ROLE_CHECK(aclrtSynchronizeStream(one) == ACL_SUCCESS);
  std::printf("%d %s\n", id, order.c_str());
  ROLE_CHECK(aclrtDestroyStream(one) == ACL_SUCCESS && aclrtDestroyStream(two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

std::string OrderUnder(const std::string& schedule) {
  return acl_test::ExpectRole("two_streams", {{"MILLPOND_SCHEDULE", schedule}}).output;
}

TEST(Schedules, AHeldTaskRunsWhenNothingElseCan) {
  const std::string any = OrderUnder("hold:99999:1");
  EXPECT_NE(any.find(" a.b.c.x.y.z.|\n"), std::string::npos) << any << "nothing is held: each runs when it is launched";
  const std::string id = any.substr(0, any.find(' '));
  EXPECT_EQ(OrderUnder("hold:" + id + ":2"), id + " a...x.y.z.|bc\n");
  EXPECT_EQ(OrderUnder("hold:" + id + ":1"), id + " ...x.y.z.|abc\n");
  EXPECT_EQ(OrderUnder("hold:" + id + ":3"), id + " a.b..x.y.z.|c\n");
}

TEST(Schedules, ARandomOrderIsTheSameEachTimeAndKeepsTheStreams) {
  std::set<std::string> seen;
  for (const char* schedule :
       {"pct:0", "pct:1", "pct:2", "pct:3", "pct:0:1", "pct:1:1", "pct:2:4", "pct:3:4", "pct:4:2,5"}) {
    const std::string order = OrderUnder(schedule);
    EXPECT_EQ(OrderUnder(schedule), order) << schedule;
    EXPECT_LT(order.find('a'), order.find('b'));
    EXPECT_LT(order.find('b'), order.find('c'));
    EXPECT_LT(order.find('x'), order.find('y'));
    EXPECT_LT(order.find('z'), order.find('|'));
    seen.insert(order);
  }
  EXPECT_GE(seen.size(), 4U);
}

}  // namespace

MP_TEST_MAIN()
