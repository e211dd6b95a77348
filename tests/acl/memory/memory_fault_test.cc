// SPDX-License-Identifier: Apache-2.0
// Device memory the host cannot touch, as a client sees it: each touch is a process of its own (DESIGN.md section 3).
#include <sys/resource.h>

#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

char* OpenAndAllocate(size_t size) {
  void* block = nullptr;
  ROLE_INIT();
  ROLE_CHECK(aclrtMallocAlign32(&block, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  return static_cast<char*>(block);
}

[[gnu::noinline]] void Touch(volatile char* address) {
  asm volatile("" : "+r"(address));
  *address = 1;
}

// Killed by the signal, or ended by a sanitizer after its own report.
bool Died(const ChildResult& result) { return MP_SANITIZED ? result.exit_code != 0 : result.exit_code == -SIGSEGV; }

testing::AssertionResult Says(const ChildResult& result, std::initializer_list<const char*> texts) {
  for (const char* text : texts) {
    if (result.output.find(text) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << text << "' in: " << result.output;
    }
  }
  return testing::AssertionSuccess();
}

MP_ROLE(host_write) {
  Touch(OpenAndAllocate(1024) + 256);
  return 0;
}
TEST(HostTouch, AWriteIsReportedWithBlockOffsetAndAdviceThenTheProcessDies) {
  const ChildResult result = RunRole("host_write");
  EXPECT_TRUE(Died(result)) << result.exit_code;
  EXPECT_TRUE(Says(result, {"the host wrote to device memory", "256 B into block #", "(1024 B at 0x",
                            "on device 0, live", "aclrtMemcpy", "touched by thread", "MILLPOND_ALLOC_STACKS=1"}));
}

TEST(HostTouch, TheAllocationStackIsShownWhenEnabled) {
  const ChildResult result = RunRole("host_write", {{"MILLPOND_ALLOC_STACKS", "1"}});
  EXPECT_TRUE(Died(result)) << result.exit_code;
  EXPECT_TRUE(Says(result, {"allocated by\n", "aclrtMallocAlign32"}));
}

MP_ROLE(host_read_after_free) {
  volatile char* block = OpenAndAllocate(1024);
  ROLE_CHECK(aclrtFree(const_cast<char*>(block)) == ACL_SUCCESS);
  return block[8];
}
TEST(HostTouch, AReadOfAFreedBlockIsReportedAsSuch) {
  const ChildResult result = RunRole("host_read_after_free");
  EXPECT_TRUE(Died(result)) << result.exit_code;
  EXPECT_TRUE(Says(result, {"the host read from device memory", "8 B into block #", "freed"}));
}

MP_ROLE(earlier_handler) {
  struct sigaction earlier = {};
  earlier.sa_flags = SA_SIGINFO;
  earlier.sa_sigaction = [](int, siginfo_t* info, void*) {
    const char text[] = "the program's own handler\n";
    const ssize_t wrote = write(2, text, sizeof(text) - 1);
    _exit(wrote > 0 && info->si_addr != nullptr ? 42 : 43);
  };
  sigaction(SIGSEGV, &earlier, nullptr);
  Touch(OpenAndAllocate(64));
  return 0;
}
TEST(HostTouch, TheProgramsOwnHandlerIsCalledAfterTheReport) {
  const ChildResult result = RunRole("earlier_handler");
  EXPECT_EQ(result.exit_code, 42) << result.output;
  EXPECT_TRUE(Says(result, {"the host wrote", "the program's own handler"}));
}

MP_ROLE(touch_from_a_task) {
  char* block = OpenAndAllocate(64);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(Launch(stream, [=] { Touch(block); }) == ACL_SUCCESS);
  aclrtSynchronizeStream(stream);
  return 0;
}
// Host code in a task (a host function, say) is host code.
TEST(HostTouch, HostCodeInATaskIsTheHostToo) {
  const ChildResult result = RunRole("touch_from_a_task");
  EXPECT_TRUE(Died(result)) << result.exit_code;
  EXPECT_TRUE(Says(result, {"the host wrote to device memory"}));
}

TEST(HostTouch, SharedModeLetsTheHostTouch) { ExpectRole("host_write", {{"MILLPOND_DEVICE_MEMORY", "shared"}}); }

MP_ROLE(shared_bytes) {
  char* block = OpenAndAllocate(64);
  char back = 0;
  block[5] = 7;
  ROLE_CHECK(aclrtMemcpy(&back, 1, block + 5, 1, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS && back == 7);
  ROLE_CHECK(aclrtFree(block + 5) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtFree(block) == ACL_SUCCESS);
  return 0;
}
TEST(HostTouch, SharedModeIsOneMemory) { ExpectRole("shared_bytes", {{"MILLPOND_DEVICE_MEMORY", "shared"}}); }

// Issue 3: "a forked child gets an error, not a hang or a shared write".
MP_ROLE(forked_child) {
  char* block = OpenAndAllocate(64);
  ROLE_CHECK(aclrtMemset(block, 64, 1, 64) == ACL_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    void* other = nullptr;
    if (aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) _exit(1);
    if (aclrtMemset(block, 64, 2, 64) == ACL_SUCCESS) _exit(2);
    if (aclrtFree(block) == ACL_SUCCESS) _exit(3);
    if (aclrtMallocHost(&other, 64) == ACL_SUCCESS) _exit(4);
    _exit(0);
  }
  int status = 0;
  ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  ROLE_CHECK(WEXITSTATUS(status) == 0);
  char back = 0;
  ROLE_CHECK(aclrtMemcpy(&back, 1, block, 1, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS && back == 1);
  return 0;
}
TEST(Fork, TheChildIsRefusedAndTheParentsMemoryIsUntouched) { ExpectRole("forked_child"); }

MP_ROLE(pinned_after_fork) {
  OpenAndAllocate(64);
  char* pinned = nullptr;
  ROLE_CHECK(aclrtMallocHost(reinterpret_cast<void**>(&pinned), 64) == ACL_SUCCESS);
  pinned[0] = 5;
  const pid_t child = fork();
  if (child == 0) {
    if (pinned[0] != 5) _exit(1);
    pinned[0] = 6;  // its own copy
    _exit(0);
  }
  int status = 0;
  ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ROLE_CHECK(pinned[0] == 5);
  return 0;
}
TEST(Fork, PinnedMemoryIsOrdinaryMemoryInTheChild) { ExpectRole("pinned_after_fork"); }

// DESIGN.md 3: else a core dump is 64 GiB. The flags are what the kernel goes by.
MP_ROLE(dump_flags) {
  char* block = OpenAndAllocate(1 << 20);
  ROLE_CHECK(aclrtMemset(block, 1 << 20, 1, 1 << 20) == ACL_SUCCESS);
  std::ifstream smaps("/proc/self/smaps");
  bool shared_file = false, found = false;
  size_t large = 0;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long from = 0, to = 0;
    char mode[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, mode) == 3) {
      const auto at = reinterpret_cast<unsigned long>(block);
      large = to - from;
      shared_file = (from <= at && at < to) || (std::string(mode) == "rw-s" && large > (64u << 20));
    }
    if (!shared_file || line.rfind("VmFlags:", 0) != 0) continue;
    found = true;
    ROLE_CHECK(line.find(" dd") != std::string::npos);  // not dumped
    ROLE_CHECK(line.find(" dc") != std::string::npos);  // not inherited
  }
  ROLE_CHECK(found);
  return 0;
}
TEST(CoreDump, DeviceMemoryIsLeftOut) { ExpectRole("dump_flags"); }

// Bad settings are named, and every call that needs the runtime says so.
MP_ROLE(bad_setting) {
  aclInit(nullptr);
  ROLE_CHECK(aclrtSetDevice(0) != ACL_SUCCESS);
  std::fprintf(stderr, "%s\n", RecentMessage().c_str());
  return 0;
}
TEST(Settings, ABadValueIsNamed) {
  EXPECT_TRUE(
      Says(RunRole("bad_setting", {{"MILLPOND_DEVICE_MEMORY", "visible"}}), {"MILLPOND_DEVICE_MEMORY", "visible"}));
  EXPECT_TRUE(Says(RunRole("bad_setting", {{"MILLPOND_MEMORY", "lots"}}), {"MILLPOND_MEMORY", "lots"}));
}

// ulimit -v: the reservation shrinks to what is left, and says so when that is too little.
MP_ROLE(limited_addresses) {
  const rlimit sixteen = {rlim_t{16} << 30, rlim_t{16} << 30};
  ROLE_CHECK(setrlimit(RLIMIT_AS, &sixteen) == 0);
  char* block = OpenAndAllocate(1 << 20);
  ROLE_CHECK(aclrtMemset(block, 1 << 20, 1, 1 << 20) == ACL_SUCCESS);
  void* pinned = nullptr;
  ROLE_CHECK(aclrtMallocHost(&pinned, 1 << 20) == ACL_SUCCESS);
  return 0;
}
MP_ROLE(too_few_addresses) {
  const rlimit one = {rlim_t{1} << 30, rlim_t{1} << 30};
  ROLE_CHECK(setrlimit(RLIMIT_AS, &one) == 0);
  return Role_bad_setting();
}
TEST(Settings, ALimitOnAddressesIsLivedWithOrNamed) {
  if (MP_SANITIZED) GTEST_SKIP() << "a sanitizer's own shadow is beyond any such limit";
  ExpectRole("limited_addresses", {{"MILLPOND_MEMORY", "1GiB"}});
  EXPECT_TRUE(Says(RunRole("too_few_addresses", {{"MILLPOND_MEMORY", "1GiB"}}), {"ulimit -v"}));
}

}  // namespace

MP_TEST_MAIN()
