// SPDX-License-Identifier: Apache-2.0
// Rules about what memory holds: red zones and quarantine, and those that must be asked for.
#include "tests/wrong/rules_test.h"

namespace {

constexpr size_t kBytes = 4096;

// aclInit, a device and a stream, and what undoes them.
struct Device {
  Device() {
    ROLE_INIT();
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  }
  ~Device() {
    ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  }
  void Synchronize() const { ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }
  aclrtStream stream = nullptr;
};

// Exactly so many bytes.
char* Malloc(size_t bytes = kBytes) {
  void* memory = nullptr;
  ROLE_CHECK(aclrtMallocAlign32(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  return static_cast<char*>(memory);
}
char* MallocHost() {
  void* memory = nullptr;
  ROLE_CHECK(aclrtMallocHost(&memory, kBytes) == ACL_SUCCESS);
  std::memset(memory, 1, kBytes);
  return static_cast<char*>(memory);
}
void Free(void* memory) { ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS); }

// Memory that is freed at the end of the program, which has waited for its tasks.
struct Block {
  explicit Block(size_t bytes = kBytes) : data(Malloc(bytes)) {}
  ~Block() { Free(data); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  char* const data;
};

// A kernel that writes 16 bytes somewhere, and says that it writes the block.
void WriteAt(char* where) { std::memset(millpond_reachable(where), 3, 16); }
void LaunchWriter(const Device& device, char* block, size_t bytes, char* where) {
  const millpond_access access{block, bytes, 1, 0, MILLPOND_WRITE};
  ROLE_CHECK(millpond_launch_with_accesses(
                 device.stream, "Writer", [](void* at) { WriteAt(static_cast<char*>(at)); }, where, &access, 1) == 0);
}

std::atomic<bool> g_open{false};
// Nothing behind it runs until the gate is opened.
void LaunchGate(const Device& device) {
  const auto wait = [](void*) {
    while (!g_open.load()) std::this_thread::yield();
  };
  ROLE_CHECK(millpond_launch(device.stream, "Gate", wait, nullptr) == 0);
}

// --- Red zones --------------------------------------------------------------------------------------------------

MP_PROGRAM(MP504, kernel_writes_past_the_block, kError) {
  Device device;
  constexpr size_t kOdd = 1000 / 32 * 32;
  const Block block(kOdd);
  LaunchWriter(device, block.data, kOdd, block.data + (wrong ? kOdd : kOdd - 16));
  device.Synchronize();
  return 0;
}

// The block fills its page: the zone is a page of its own.
MP_PROGRAM(MP504, kernel_writes_past_a_whole_page, kError) {
  Device device;
  const Block block;
  LaunchWriter(device, block.data, kBytes, block.data + (wrong ? kBytes + 64 : kBytes - 16));
  device.Synchronize();
  return 0;
}

MP_PROGRAM(MP504, kernel_writes_before_the_block, kError) {
  Device device;
  const Block one, other;
  char* upper = std::max(one.data, other.data);
  LaunchWriter(device, upper, kBytes, upper - (wrong ? 16 : 0));
  device.Synchronize();
  return 0;
}

// The program never frees: the end finds it.
MP_PROGRAM(MP504, kernel_writes_past_a_block_that_stays, kError, {"MILLPOND_CHECK_EXCEPT", "MP502"}) {
  Device device;
  char* memory = Malloc();
  LaunchWriter(device, memory, kBytes, memory + (wrong ? kBytes : 0));
  device.Synchronize();
  return 0;
}

// --- Quarantine -------------------------------------------------------------------------------------------------

// Nothing is known of what the kernel uses, so the free itself cannot be judged.
MP_PROGRAM(MP304, unknown_kernel_writes_after_the_free, kError) {
  Device device;
  char* memory = Malloc();
  LaunchGate(device);
  ROLE_CHECK(millpond_launch(
                 device.stream, "Unknown", [](void* at) { WriteAt(static_cast<char*>(at)); }, memory) == 0);
  if (!wrong) {
    g_open = true;
    device.Synchronize();
  }
  Free(memory);
  g_open = true;
  device.Synchronize();
  return 0;
}

MP_PROGRAM(MP504, replay_of_freed_memory, kError) {
  Device device;
  char* memory = Malloc();
  aclmdlRI graph = nullptr;
  ROLE_CHECK(aclmdlRICaptureBegin(device.stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemsetAsync(memory, kBytes, 1, kBytes, device.stream) == ACL_SUCCESS);
  ROLE_CHECK(aclmdlRICaptureEnd(device.stream, &graph) == ACL_SUCCESS);
  if (wrong) Free(memory);
  ROLE_CHECK(aclmdlRIExecuteAsync(graph, device.stream) == ACL_SUCCESS);
  device.Synchronize();
  if (!wrong) Free(memory);
  ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  return 0;
}

// --- Rules that must be asked for -------------------------------------------------------------------------------

MP_PROGRAM(MP503, copied_back_before_it_was_written, kNoError, {"MILLPOND_CHECK_ALSO", "MP503"}) {
  Device device;
  char host[kBytes];
  const Block block;
  if (!wrong) ROLE_CHECK(aclrtMemset(block.data, kBytes, 1, kBytes) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpy(host, kBytes, block.data, kBytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  return 0;
}

// What a copy between device blocks takes along is looked at where it is read.
MP_PROGRAM(MP503, kernel_reads_a_copy_of_nothing, kNoError, {"MILLPOND_CHECK_ALSO", "MP503"}) {
  Device device;
  const Block from, to;
  if (!wrong) ROLE_CHECK(aclrtMemsetAsync(from.data, kBytes, 1, kBytes, device.stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsync(to.data, kBytes, from.data, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, device.stream) ==
             ACL_SUCCESS);
  const millpond_access access{to.data, kBytes, 1, 0, MILLPOND_READ};
  ROLE_CHECK(millpond_launch_with_accesses(
                 device.stream, "Reader", [](void*) {}, nullptr, &access, 1) == 0);
  device.Synchronize();
  return 0;
}

MP_PROGRAM(MP507, source_overwritten, kError, {"MILLPOND_CHECK_ALSO", "MP507"}) {
  Device device;
  char* host = MallocHost();
  char* memory = Malloc();
  LaunchGate(device);
  ROLE_CHECK(aclrtMemcpyAsync(memory, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, device.stream) == ACL_SUCCESS);
  if (wrong) host[kBytes - 1] = 2;
  g_open = true;
  device.Synchronize();
  host[kBytes - 1] = 2;
  Free(memory);
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  return 0;
}

// A function of the stream fills the buffer in time, and so does a copy from the device.
MP_PROGRAM(MP507, source_filled_by_the_stream, kError, {"MILLPOND_CHECK_ALSO", "MP507"}) {
  Device device;
  char* host = MallocHost();
  char* memory = Malloc();
  const auto fill = [](void* at) { std::memset(at, 2, kBytes); };
  const auto copy_in = [&] {
    ROLE_CHECK(aclrtMemcpyAsync(memory, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, device.stream) == ACL_SUCCESS);
  };
  LaunchGate(device);
  if (!wrong) ROLE_CHECK(aclrtLaunchHostFunc(device.stream, fill, host) == ACL_SUCCESS);
  copy_in();
  if (wrong) fill(host);
  g_open = true;
  device.Synchronize();
  g_open = false;
  std::memset(host, 3, kBytes);
  LaunchGate(device);
  ROLE_CHECK(aclrtMemcpyAsync(host, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, device.stream) == ACL_SUCCESS);
  copy_in();
  g_open = true;
  device.Synchronize();
  Free(memory);
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST(Rules, MP511) {
  GTEST_SKIP() << "the finding is made in a signal's handler, where a sanitizer's own checks end the process";
}
#else
// Page "aclrtMemcpyAsync": pinned memory makes the copy asynchronous.
MP_PROGRAM(MP511, target_read_before_the_wait, kError, {"MILLPOND_CHECK_ALSO", "MP511"}) {
  Device device;
  char* host = MallocHost();
  const Block block;
  ROLE_CHECK(aclrtMemsetAsync(block.data, kBytes, 5, kBytes, device.stream) == ACL_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    ROLE_CHECK(aclrtMemcpyAsync(host, kBytes, block.data, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, device.stream) ==
               ACL_SUCCESS);
    if (!wrong || round < 2) device.Synchronize();
    ROLE_CHECK(wrong || host[kBytes / 2] == 5);
    if (wrong) static_cast<void>(*static_cast<volatile char*>(host + kBytes / 2));
  }
  device.Synchronize();
  ROLE_CHECK(host[0] == 5);
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  return 0;
}

// A function behind the copy tells the host; calls and tasks may use the target; its memory may go to others.
MP_PROGRAM(MP511, target_read_when_it_is_told, kError, {"MILLPOND_CHECK_ALSO", "MP511"}) {
  Device device;
  char* host = MallocHost();
  const Block block, other;
  const auto copy_out = [&] {
    ROLE_CHECK(aclrtMemcpyAsync(host, kBytes, block.data, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, device.stream) ==
               ACL_SUCCESS);
  };
  ROLE_CHECK(aclrtMemset(block.data, kBytes, 5, kBytes) == ACL_SUCCESS);
  // The touch comes before the copy, not while it runs, which nobody would see.
  const Block much(64 << 20);
  if (wrong) ROLE_CHECK(aclrtMemsetAsync(much.data, 64 << 20, 5, 64 << 20, device.stream) == ACL_SUCCESS);
  copy_out();
  if (wrong) host[1] = 6;
  ROLE_CHECK(aclrtMemcpyAsync(other.data, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, device.stream) ==
             ACL_SUCCESS);
  ROLE_CHECK(aclrtLaunchHostFunc(
                 device.stream, [](void*) { g_open = true; }, nullptr) == ACL_SUCCESS);
  while (!g_open) sched_yield();
  ROLE_CHECK(host[0] == 5);
  device.Synchronize();
  copy_out();
  device.Synchronize();
  ROLE_CHECK(write(STDOUT_FILENO, host, 1) == 1);  // the kernel may read it too
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  host = MallocHost();
  std::memset(host, 1, kBytes);
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  return 0;
}
#endif

}  // namespace

MP_TEST_MAIN()
