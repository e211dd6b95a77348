// SPDX-License-Identifier: Apache-2.0
// Rules at acl's door. Each page that states the rule is named in docs/rules.md.
#include <array>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

void* MallocHost() {
  void* memory = nullptr;
  ROLE_CHECK(aclrtMallocHost(&memory, kBytes) == ACL_SUCCESS);
  return memory;
}
void Copy(void* to, void* from, aclrtStream stream) {
  ROLE_CHECK(aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream) == ACL_SUCCESS);
}

// A block that a task of stream one writes; who waits knows that it has.
struct Written : Device {
  explicit Written(bool waits) {
    Set(memory, one);
    if (waits) Synchronize(one);
  }
  void* const memory = Malloc();
};

// An allocator that hands out single blocks.
void* Allocate(aclrtAllocator, size_t bytes) {
  void* memory = nullptr;
  return aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? memory : nullptr;
}
void Release(aclrtAllocator, aclrtAllocatorBlock block) { aclrtFree(block); }
void* AddressOf(aclrtAllocatorBlock block) { return block; }

aclrtAllocatorDesc NewDescriptor(bool complete = true) {
  static int object = 0;
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  ROLE_CHECK(aclrtAllocatorSetObjToDesc(desc, &object) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, &Allocate) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, &AddressOf) == ACL_SUCCESS);
  if (complete) ROLE_CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, &Release) == ACL_SUCCESS);
  return desc;
}

// An allocator is registered for stream one.
struct Registered : Device {
  Registered() { ROLE_CHECK(aclrtAllocatorRegister(one, desc) == ACL_SUCCESS); }
  ~Registered() { ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS); }
  const aclrtAllocatorDesc desc = NewDescriptor();
};

int Registers(aclrtAllocatorDesc desc, aclrtStream stream, bool goes_well) {
  ROLE_CHECK((aclrtAllocatorRegister(stream, desc) == ACL_SUCCESS) == goes_well);
  if (goes_well) ROLE_CHECK(aclrtAllocatorUnregister(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
  return 0;
}

// --- Registering ------------------------------------------------------------------------------------------------

MP_PROGRAM(MP101, null_stream, kError) {
  Device device;
  return Registers(NewDescriptor(), wrong ? nullptr : device.one, !wrong);
}

MP_PROGRAM(MP102, no_free_function, kError) {
  Device device;
  return Registers(NewDescriptor(!wrong), device.one, !wrong);
}

MP_PROGRAM(MP106, descriptor_kept, kNoError) {
  Device device;
  aclrtAllocatorDesc desc = NewDescriptor();
  if (!wrong) ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP107, descriptor_used_late, kError) {
  Device device;
  aclrtAllocatorDesc desc = NewDescriptor();
  if (wrong) ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
  ROLE_CHECK((aclrtAllocatorRegister(device.one, desc) == ACL_SUCCESS) == !wrong);
  if (wrong) return 0;
  ROLE_CHECK(aclrtAllocatorUnregister(device.one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP109, unregistered_twice, kNoError) {
  const Registered device;
  ROLE_CHECK(aclrtAllocatorUnregister(device.one) == ACL_SUCCESS);
  if (wrong) ROLE_CHECK(aclrtAllocatorUnregister(device.one) == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP609, stream_destroyed_while_registered, kError) {
  Registered device;
  if (!wrong) ROLE_CHECK(aclrtAllocatorUnregister(device.one) == ACL_SUCCESS);
  device.DestroyOne();
  return 0;
}

// --- When memory may go -----------------------------------------------------------------------------------------

MP_PROGRAM(MP304, free_before_synchronize, kError) {
  const Written device(!wrong);
  Free(device.memory);
  return 0;
}

// An event that was waited for on the host tells of its stream, one of another stream does not.
MP_PROGRAM(MP304, free_after_the_wrong_event, kError) {
  Device device;
  void* memory = Malloc();
  const Event event;
  Set(memory, device.one);
  Record(event, wrong ? device.two : device.one);
  ROLE_CHECK(aclrtSynchronizeEvent(event) == ACL_SUCCESS);
  Free(memory);
  return 0;
}

// What the second stream waited for is known once the second stream is.
MP_PROGRAM(MP304, free_after_a_chain_of_streams, kError) {
  Device device;
  void* memory = Malloc();
  const Event event;
  if (!wrong) Set(memory, device.one);
  Record(event, device.one);
  if (wrong) Set(memory, device.one);
  Wait(device.two, event);
  Synchronize(device.two);
  Free(memory);
  Synchronize(device.one);
  return 0;
}

// What was dropped uses nothing any more, and what ran is done.
MP_PROGRAM(MP304, free_after_the_stream_was_aborted, kError) {
  Device device;
  void* memory = Malloc();
  for (int i = 0; i < 8; ++i) Set(memory, device.one);
  if (!wrong) ROLE_CHECK(aclrtStreamAbort(device.one) == ACL_SUCCESS);
  Free(memory);
  aclrtSynchronizeStream(device.one);  // may tell of the abort
  return 0;
}

MP_PROGRAM(MP506, pinned_freed_while_copied, kError) {
  Device device;
  void* host = MallocHost();
  void* memory = Malloc();
  ROLE_CHECK(aclrtMemcpyAsync(memory, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, device.one) == ACL_SUCCESS);
  if (!wrong) Synchronize(device.one);
  ROLE_CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
  Synchronize(device.one);
  Free(memory);
  return 0;
}

MP_PROGRAM(MP506, unregistered_while_copied, kError) {
  Device device;
  const Memory memory;
  alignas(4096) static char host[kBytes];
  void* mapped = nullptr;
  ROLE_CHECK(aclrtHostRegister(host, kBytes, ACL_HOST_REGISTER_MAPPED, &mapped) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsync(memory, kBytes, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, device.one) == ACL_SUCCESS);
  if (!wrong) Synchronize(device.one);
  ROLE_CHECK(aclrtHostUnregister(host) == ACL_SUCCESS);
  Synchronize(device.one);
  return 0;
}

// One huge page of physical memory, mapped at an address of its own.
using Mapped = std::pair<void*, aclrtDrvMemHandle>;
Mapped Map() {
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  constexpr size_t kHuge = size_t{2} << 20;
  void* address = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  ROLE_CHECK(aclrtReserveMemAddress(&address, kHuge, 0, nullptr, 1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMallocPhysical(&handle, kHuge, &prop, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMapMem(address, kHuge, 0, handle, 0) == ACL_SUCCESS);
  return {address, handle};
}
void Unmap(const Mapped& mapped) {
  ROLE_CHECK(aclrtUnmapMem(mapped.first) == ACL_SUCCESS);
  ROLE_CHECK(aclrtFreePhysical(mapped.second) == ACL_SUCCESS);
  ROLE_CHECK(aclrtReleaseMemAddress(mapped.first) == ACL_SUCCESS);
}

MP_PROGRAM(MP702, unmapped_while_written, kError) {
  Device device;
  const Mapped mapped = Map();
  Set(mapped.first, device.one);
  if (!wrong) Synchronize(device.one);
  Unmap(mapped);
  // The task may have failed on what was not there any more: that is the point.
  aclrtSynchronizeStream(device.one);
  return 0;
}

MP_PROGRAM(MP701, released_while_mapped, kError) {
  Device device;
  const Mapped mapped = Map();
  if (wrong) ROLE_CHECK(aclrtReleaseMemAddress(mapped.first) != ACL_SUCCESS);
  Unmap(mapped);
  return 0;
}

MP_PROGRAM(MP703, physical_freed_while_mapped, kNoError) {
  Device device;
  const auto [address, handle] = Map();
  if (wrong) ROLE_CHECK(aclrtFreePhysical(handle) == ACL_SUCCESS);
  ROLE_CHECK(aclrtUnmapMem(address) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtFreePhysical(handle) == ACL_SUCCESS);
  ROLE_CHECK(aclrtReleaseMemAddress(address) == ACL_SUCCESS);
  return 0;
}

// --- Memory and copies ------------------------------------------------------------------------------------------

MP_PROGRAM(MP501, freed_twice, kError) {
  Device device;
  void* memory = Malloc();
  Free(memory);
  if (wrong) ROLE_CHECK(aclrtFree(memory) != ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP501, freed_inside, kError) {
  Device device;
  void* memory = Malloc();
  if (wrong) ROLE_CHECK(aclrtFree(static_cast<char*>(memory) + 64) != ACL_SUCCESS);
  Free(memory);
  return 0;
}

MP_PROGRAM(MP502, never_freed, kNoError) {
  Device device;
  void* memory = Malloc();
  if (!wrong) Free(memory);
  return 0;
}

MP_PROGRAM(MP504, set_past_the_end, kError) {
  Device device;
  void* memory = Malloc();
  const size_t bytes = wrong ? 2 * kBytes : kBytes;
  ROLE_CHECK((aclrtMemsetAsync(memory, bytes, 1, bytes, device.one) == ACL_SUCCESS) == !wrong);
  Synchronize(device.one);
  Free(memory);
  return 0;
}

MP_PROGRAM(MP505, allocated_all_the_time, kNoError) {
  Device device;
  void* kept = wrong ? nullptr : Malloc();
  for (int i = 0; i < 10'000; ++i) {
    void* memory = wrong ? Malloc() : kept;
    if (wrong) Free(memory);
  }
  if (!wrong) Free(kept);
  return 0;
}

MP_PROGRAM(MP508, kind_says_the_other_way, kNoError) {
  Device device;
  char host[kBytes] = {};
  void* memory = Malloc();
  const aclrtMemcpyKind kind = wrong ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE;
  ROLE_CHECK(aclrtMemcpy(memory, kBytes, host, kBytes, kind) == ACL_SUCCESS);
  Free(memory);
  return 0;
}

MP_PROGRAM(MP509, an_address_for_a_size, kError) {
  Device device;
  char host[kBytes] = {};
  void* memory = Malloc();
  const size_t room = wrong ? reinterpret_cast<size_t>(memory) : kBytes;
  ROLE_CHECK(aclrtMemcpy(memory, room, host, kBytes, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  Free(memory);
  return 0;
}

MP_PROGRAM(MP510, read_back_too_early, kError) {
  const Written device(!wrong);
  char host[kBytes];
  ROLE_CHECK(aclrtMemcpy(host, kBytes, device.memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  Synchronize(device.one);
  Free(device.memory);
  return 0;
}

// --- Streams and events -----------------------------------------------------------------------------------------

MP_PROGRAM(MP601, destroyed_with_tasks, kNoError) {
  Written device(!wrong);
  device.DestroyOne();
  Free(device.memory);
  return 0;
}

MP_PROGRAM(MP602, used_after_destroy, kError) {
  Device device;
  void* memory = Malloc();
  const aclrtStream stream = device.one;
  if (wrong) device.DestroyOne();
  ROLE_CHECK((aclrtMemsetAsync(memory, kBytes, 1, kBytes, stream) == ACL_SUCCESS) == !wrong);
  Synchronize();
  Free(memory);
  return 0;
}

MP_PROGRAM(MP603, event_without_sync, kError) {
  Device device;
  const Event event(wrong ? ACL_EVENT_TIME_LINE : ACL_EVENT_SYNC);
  Record(event, device.one);
  ROLE_CHECK((aclrtStreamWaitEvent(device.two, event) == ACL_SUCCESS) == !wrong);
  Synchronize();
  return 0;
}

MP_PROGRAM(MP604, waits_for_nothing, kNoError) {
  Device device;
  const Event event;
  if (!wrong) Record(event, device.one);
  Wait(device.two, event);
  Synchronize();
  return 0;
}

MP_PROGRAM(MP607, more_streams_than_the_device_has, kNoError) {
  Device device;
  uint32_t left = 0;
  ROLE_CHECK(aclrtGetStreamAvailableNum(&left) == ACL_SUCCESS);
  std::vector<aclrtStream> streams(left + (wrong ? 1 : 0));
  size_t made = 0;
  for (aclrtStream& stream : streams) made += aclrtCreateStream(&stream) == ACL_SUCCESS ? 1 : 0;
  ROLE_CHECK(made == left);
  streams.resize(made);
  for (aclrtStream stream : streams) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  return 0;
}

// A function that a stream calls must not work on streams and memory itself.
MP_PROGRAM(MP608, free_inside_a_callback, kError) {
  Device device;
  static void* memory = nullptr;
  static bool frees = false;
  memory = Malloc();
  frees = wrong;
  ROLE_CHECK(aclrtLaunchHostFunc(
                 device.one,
                 [](void*) {
                   // Not the last thing it does: a tail call would leave no line of the program on a worker's stack.
                   if (frees && aclrtFree(memory) == ACL_SUCCESS) memory = nullptr;
                 },
                 nullptr) == ACL_SUCCESS);
  Synchronize(device.one);
  if (!wrong) Free(memory);
  return 0;
}

MP_PROGRAM(MP611, write_and_read_on_two_streams, kError) {
  Device device;
  const Memory from, to;
  const Event event;
  Set(from, device.one);
  Record(event, device.one);
  if (!wrong) Wait(device.two, event);
  Copy(to, from, device.two);
  Synchronize();
  return 0;
}

// A buffer that is filled again while it is read. The events are level ones, whose waits look when they run; what they
// can count on is known all the same.
MP_PROGRAM(MP611, buffer_filled_while_it_is_read, kError) {
  Device device;
  const Memory buffer, result;
  const Event filled(ACL_EVENT_SYNC), used(ACL_EVENT_SYNC);
  Set(buffer, device.one);
  Record(filled, device.one);
  Wait(device.two, filled);
  Copy(result, buffer, device.two);
  Record(used, device.two);
  if (!wrong) Wait(device.one, used);
  Set(buffer, device.one);
  Synchronize();
  return 0;
}

// Many streams read; the one that nobody waited for is found among them.
MP_PROGRAM(MP611, written_while_one_of_many_streams_reads, kError) {
  Device device;
  constexpr size_t kReaders = 9;
  const Memory weights;
  const std::array<Memory, kReaders> results{};
  std::array<aclrtStream, kReaders> streams{};
  Set(weights, device.one);
  Synchronize(device.one);
  for (size_t i = 0; i < kReaders; ++i) {
    ROLE_CHECK(aclrtCreateStream(&streams[i]) == ACL_SUCCESS);
    const Event done;
    Copy(results[i], weights, streams[i]);
    Record(done, streams[i]);
    if (!wrong || i != 3) Wait(device.one, done);
  }
  Set(weights, device.one);
  Synchronize();
  for (aclrtStream stream : streams) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  return 0;
}

// A helper of the program's that the compiler puts in place; the line that counts is the one that uses it.
[[gnu::always_inline]] inline void Clear(void* memory, aclrtStream stream) { Set(memory, kBytes, stream); }
constexpr int kClearedFirst = __LINE__ + 5, kClearedSecond = __LINE__ + 8;
MP_PROGRAM(MP611, cleared_by_an_inlined_helper, kError) {
  Device device;
  const Memory buffer;
  const Event done;
  Clear(buffer, device.one);  // kClearedFirst
  Record(done, device.one);
  if (!wrong) Wait(device.two, done);
  Clear(buffer, device.two);  // kClearedSecond
  Synchronize();
  return 0;
}
TEST(Rules, ALineThatUsesAnInlinedHelperIsNamed) {
  const Checked wrong = Check("MP611_cleared_by_an_inlined_helper", true, {});
  for (const int line : {kClearedFirst, kClearedSecond}) {
    EXPECT_NE(wrong.result.output.find("rules_acl_test.cc:" + std::to_string(line) + "\n"), std::string::npos)
        << "line " << line << ": " << wrong.result.output;
  }
}

// The same task again and again is judged in a short way; the one that comes between is not lost.
MP_PROGRAM(MP611, read_between_many_writes, kError) {
  Device device;
  const Memory buffer, result;
  const Event done;
  for (int i = 0; i < 5; ++i) Set(buffer, device.one);
  Synchronize(device.one);
  Copy(result, buffer, device.two);
  Record(done, device.two);
  if (!wrong) Wait(device.one, done);
  for (int i = 0; i < 5; ++i) Set(buffer, device.one);
  Synchronize();
  return 0;
}

// Freed behind the last of many, not behind the first.
MP_PROGRAM(MP304, freed_behind_the_first_of_many, kError) {
  Device device;
  void* buffer = Malloc();
  const Event event;
  Set(buffer, device.one);
  if (wrong) Record(event, device.one);
  for (int i = 0; i < 5; ++i) Set(buffer, device.one);
  if (!wrong) Record(event, device.one);
  ROLE_CHECK(aclrtSynchronizeEvent(event) == ACL_SUCCESS);
  Free(buffer);
  Synchronize(device.one);
  return 0;
}

// Two halves of each row, by two streams: no byte is shared.
MP_PROGRAM(MP611, columns_of_one_matrix, kError) {
  Device device;
  constexpr size_t kHalf = 32, kRow = 64, kRows = 16;
  auto* matrix = static_cast<char*>(Malloc());
  void* from = Malloc();
  char* second = matrix + (wrong ? kHalf / 2 : kHalf);
  const auto copy = [&](void* to, aclrtStream stream) {
    ROLE_CHECK(aclrtMemcpy2dAsync(to, kRow, from, kRow, kHalf, kRows, ACL_MEMCPY_DEVICE_TO_DEVICE, stream) ==
               ACL_SUCCESS);
  };
  copy(matrix, device.one);
  copy(second, device.two);
  Synchronize();
  Free(matrix);
  Free(from);
  return 0;
}

MP_PROGRAM(MP801, allocated_after_finalize, kError) {
  { Device device; }
  void* memory = nullptr;
  if (wrong) aclrtMallocHost(&memory, kBytes);
  return 0;
}

// It is given back, so it is no leak.
MP_PROGRAM(MP801, freed_by_a_static_object, kError) {
  static struct Owner {
    ~Owner() {
      if (memory != nullptr) aclrtFree(memory);
    }
    void* memory = nullptr;
  } owner;
  const Device device;
  owner.memory = Malloc();
  if (!wrong) {
    Free(owner.memory);
    owner.memory = nullptr;
  }
  return 0;
}

MP_PROGRAM(MP802, reset_with_a_stream, kNoError) {
  ROLE_INIT();
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP803, no_init, kError) {
  if (!wrong) ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  void* memory = Malloc();
  Free(memory);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}

// The process dies of it, as it would without the checker; the finding is there all the same.
MP_ROLE(MP512_dereference) {
  const Written device(true);
  void* const memory = device.memory;
  char first = 0;
  if (rules_test::IsWrong()) {
    first = *static_cast<volatile char*>(memory);
  } else {
    ROLE_CHECK(aclrtMemcpy(&first, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  }
  Free(memory);
  return first == 7 ? 0 : 1;
}
TEST(Rules, MP512_dereference) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the finding is made in a signal's handler, and ThreadSanitizer reports each request for memory there";
#endif
  const rules_test::Checked right = rules_test::Check("MP512_dereference", false, {});
  EXPECT_EQ(right.result.exit_code, 0) << right.result.output;
  EXPECT_TRUE(right.rules.empty()) << right.result.output;
  const rules_test::Checked wrong = rules_test::Check("MP512_dereference", true, {});
  EXPECT_NE(wrong.result.exit_code, 0) << wrong.result.output;
  EXPECT_EQ(wrong.rules.size(), 1U) << wrong.result.output;
  EXPECT_TRUE(wrong.rules.contains("MP512")) << wrong.result.output;
  EXPECT_NE(wrong.result.output.find("the host touches it here"), std::string::npos) << wrong.result.output;
  EXPECT_NE(wrong.result.output.find("rules_acl_test.cc"), std::string::npos) << wrong.result.output;
}

}  // namespace

MP_TEST_MAIN()
