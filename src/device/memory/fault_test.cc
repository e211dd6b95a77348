// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/fault.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "src/base/child_testing.h"
#include "src/device/device.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"

namespace millpond {
namespace {

DeviceMemory& Memory() {
  Runtime* runtime = nullptr;
  const Status status = Runtime::Get(&runtime);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::abort();
  }
  InstallFaultHandler();
  return runtime->device(0)->memory();
}

char* Block(size_t bytes) {
  void* address = nullptr;
  if (!Memory().Allocate(bytes, "test", &address).ok()) std::abort();
  return static_cast<char*>(address);
}

[[gnu::noinline]] void Touch(volatile char* address) {
  asm volatile("" : "+r"(address));  // the compiler must not reason about where this points
  *address = 1;
}

// By the signal, or by a sanitizer that reports it and leaves with a code of its own.
bool DiedOfFault(int status) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

// TSan puts a value of its own into errno around every signal handler.
#if defined(__SANITIZE_THREAD__)
constexpr bool kErrnoIsTaken = true;
#else
constexpr bool kErrnoIsTaken = false;
#endif

class FaultDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(FaultDeathTest, HostWriteNamesAddressBlockOffsetAndWhatToDo) {
  EXPECT_EXIT(Touch(Block(1024) + 256), DiedOfFault,
              "the host wrote to device memory.*256 B into block #[0-9]+ \\(1024 B at 0x[0-9a-f]+ on device 0, "
              "live\\).*aclrtMemcpy.*touched by thread.*MILLPOND_ALLOC_STACKS=1");
}

TEST_F(FaultDeathTest, HostReadOfAFreedBlockSaysFreed) {
  EXPECT_EXIT(
      {
        volatile char* block = Block(1024);
        Memory().Free(const_cast<char*>(block)).Ignore();
        (void)block[8];
      },
      DiedOfFault, "the host read from device memory.*8 B into block #[0-9]+ \\(1024 B at .*, freed\\)");
}

TEST_F(FaultDeathTest, AnAddressInNoBlockSaysSo) {
  EXPECT_EXIT(Touch(reinterpret_cast<char*>(HeapBegin((Memory(), 0)) + GetAddressLayout().heap_span - 1)), DiedOfFault,
              "in no block, device 0");
}

TEST_F(FaultDeathTest, TheAllocationStackIsShownWhenItWasKept) {
  EXPECT_EXIT(
      {
        setenv("MILLPOND_ALLOC_STACKS", "1", 1);
        Touch(Block(64));
      },
      DiedOfFault, "allocated by\n.*device_test|allocated by\n.*\\(");
}

TEST_F(FaultDeathTest, TheEarlierHandlerIsCalledWithTheAddressAndErrnoIntact) {
  EXPECT_EXIT(
      {
        struct sigaction earlier {};
        earlier.sa_flags = SA_SIGINFO;
        earlier.sa_sigaction = [](int, siginfo_t* info, void*) {
          const char text[] = "earlier handler\n";
          if (write(2, text, sizeof(text) - 1) < 0) _exit(1);
          _exit(IsDeviceAddress(info->si_addr) && (errno == EDOM || kErrnoIsTaken) ? 7 : 8);
        };
        sigaction(SIGSEGV, &earlier, nullptr);
        char* block = Block(64);
        errno = EDOM;
        Touch(block);
      },
      ::testing::ExitedWithCode(7), "the host wrote.*earlier handler");
}

TEST_F(FaultDeathTest, AFaultElsewhereGoesStraightToTheEarlierHandler) {
  EXPECT_EXIT(
      {
        struct sigaction earlier {};
        earlier.sa_handler = [](int) { _exit(9); };
        sigaction(SIGSEGV, &earlier, nullptr);
        Memory();
        Touch(reinterpret_cast<char*>(64));
      },
      ::testing::ExitedWithCode(9), "^$");
}

#if defined(__x86_64__)
// What Python's faulthandler does when it is enabled after us: put the handler before it (ours) back, raise again.
TEST_F(FaultDeathTest, ASignalRaisedAgainByALaterHandlerStillHasItsAddress) {
  EXPECT_EXIT(
      {
        char* block = Block(64);
        static struct sigaction ours;
        struct sigaction later {};
        later.sa_flags = SA_NODEFER;
        later.sa_handler = [](int signal) {
          sigaction(signal, &ours, nullptr);
          raise(signal);
        };
        sigaction(SIGSEGV, &later, &ours);
        Touch(block + 32);
      },
      DiedOfFault, "the host wrote to device memory.*32 B into block #");
}
#endif

TEST_F(FaultDeathTest, ASignalSentByKillKillsWithoutAReport) {
  EXPECT_EXIT(
      {
        Memory();
        raise(SIGSEGV);
        _exit(0);
      },
      DiedOfFault, "");
}

TEST_F(FaultDeathTest, InAForkedChildDeviceMemoryIsNotThereAndTheReportSaysWhatItWas) {
  char* block = Block(64);
  int status = 0;
  // MADV_DONTFORK: neither D nor A exists there, so nothing can be written into the parent's device.
  const std::string report = ReadFromChild(
      {STDERR_FILENO}, [&] { Touch(block); }, &status);
  EXPECT_TRUE(DiedOfFault(status));
  EXPECT_NE(report.find("the host wrote to device memory"), std::string::npos) << report;
}

// A kernel that runs into unmapped memory finishes on scratch pages and fails.
TEST(KernelFault, UnmappedMemoryFailsTheTaskOnceAndIsInaccessibleAgain) {
  Memory();
  void* place = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, 4 << 20, nullptr, &place).ok());
  char* second = static_cast<char*>(place) + (2 << 20);
  for (int round = 0; round < 2; ++round) {
    ::testing::internal::CaptureStderr();
    const Status status = RunOnCaller([&] {
      FillBytes(place, 1, 100);
      FillBytes(second, 2, 100);
    });
    const std::string report = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(status.code(), Code::kDeviceMemory) << "round " << round;
    EXPECT_NE(status.message().find("nothing is mapped"), std::string::npos) << status.message();
    EXPECT_NE(report.find("a task wrote to device memory that is not mapped"), std::string::npos) << report;
    EXPECT_EQ(report.find("a task wrote"), report.rfind("a task wrote")) << "said once per task";
    EXPECT_EQ(FaultsInTasks(), 0u);
  }
  EXPECT_TRUE(RunOnCaller([] {}).ok());
  ReleaseVirtual(place, 4 << 20);
}

TEST(KernelFault, AThreadOfItsOwnTakesItsOwnFault) {
  Memory();
  void* place = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, 2 << 20, nullptr, &place).ok());
  ::testing::internal::CaptureStderr();
  Status other;
  std::thread thread([&] { other = RunOnCaller([&] { FillBytes(place, 1, 1); }); });
  thread.join();
  EXPECT_TRUE(RunOnCaller([] {}).ok());
  EXPECT_EQ(other.code(), Code::kDeviceMemory);
  // A helper thread that owns nothing (an OpenMP worker): whoever asks next is told.
  std::thread helper([&] { FillBytes(place, 1, 1); });
  helper.join();
  EXPECT_EQ(RunOnCaller([] {}).code(), Code::kDeviceMemory);
  ::testing::internal::GetCapturedStderr();
  ReleaseVirtual(place, 2 << 20);
}

}  // namespace
}  // namespace millpond
