// SPDX-License-Identifier: Apache-2.0
// Unusual but legal use, each beside the mistake that is nearest to it: the right form is silent whatever the schedule,
// the wrong one earns one rule.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

void Copy(void* to, const void* from, aclrtMemcpyKind kind, aclrtStream stream) {
  ROLE_CHECK(aclrtMemcpyAsync(to, kBytes, from, kBytes, kind, stream) == ACL_SUCCESS);
}

struct Host {
  Host() { ROLE_CHECK(aclrtMallocHost(&memory, kBytes) == ACL_SUCCESS); }
  ~Host() {
    if (memory != nullptr) ROLE_CHECK(aclrtFreeHost(memory) == ACL_SUCCESS);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  void* memory = nullptr;
};

// One event for a hundred hand-overs: each wait is for the latest record.
MP_STRANGE(MP611, one_event_again_and_again, kError) {
  Device device;
  const Memory memory;
  const Event event;
  for (int i = 0; i < 100; ++i) {
    aclrtStream from = i % 2 == 0 ? device.one : device.two;
    aclrtStream to = i % 2 == 0 ? device.two : device.one;
    const bool early = wrong && i == 57;
    if (early) Record(event, from);
    Set(memory, from);
    if (!early) Record(event, from);
    Wait(to, event);
  }
  Synchronize();
  return 0;
}

// A recorded event may be destroyed at once: who waits for it waits still.
MP_STRANGE(MP611, event_destroyed_behind_its_wait, kError) {
  Device device;
  const Memory memory;
  Set(memory, device.one);
  {
    const Event event;
    Record(event, device.one);
    if (!wrong) Wait(device.two, event);
  }
  Set(memory, device.two);
  Synchronize();
  return 0;
}

// Threads that launch on one stream under a lock, and one that frees when all are joined.
MP_STRANGE(MP304, threads_with_a_lock, kError) {
  Device device;
  void* const memory = Malloc();
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
      for (int i = 0; i < 50; ++i) {
        const std::lock_guard<std::mutex> lock(mutex);
        Set(memory, device.one);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!wrong) Synchronize(device.one);
  Free(memory);
  return 0;
}

// Another stream's synchronisation is enough where an event has it wait for the first.
MP_STRANGE(MP304, freed_after_the_other_stream, kError) {
  Device device;
  void* const memory = Malloc();
  const Event event;
  Set(memory, device.one);
  Record(event, device.one);
  if (!wrong) Wait(device.two, event);
  Synchronize(device.two);
  Free(memory);
  return 0;
}

// Memory goes round three streams, and the host waits for the last event alone.
MP_STRANGE(MP510, host_waits_for_the_last_event, kError) {
  Device device;
  const Memory memory;
  const Event first, second;
  char host[kBytes];
  Set(memory, device.one);
  Record(first, device.one);
  Wait(device.two, first);
  Set(memory, device.two);
  Record(second, device.two);
  ROLE_CHECK(aclrtSynchronizeEvent(wrong ? first : second) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpy(host, kBytes, memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  Synchronize();
  return 0;
}

// The same address with other memory behind it, again and again.
MP_STRANGE(MP702, mapped_again_at_the_same_address, kError) {
  Device device;
  constexpr size_t kHuge = size_t{2} << 20;
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  void* address = nullptr;
  ROLE_CHECK(aclrtReserveMemAddress(&address, kHuge, 0, nullptr, 1) == ACL_SUCCESS);
  for (int i = 0; i < 4; ++i) {
    aclrtDrvMemHandle handle = nullptr;
    ROLE_CHECK(aclrtMallocPhysical(&handle, kHuge, &prop, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMapMem(address, kHuge, 0, handle, 0) == ACL_SUCCESS);
    // Another stream each time: nothing of the former memory counts any more.
    aclrtStream stream = i % 2 == 0 ? device.one : device.two;
    Set(address, stream);
    if (!wrong || i != 3) Synchronize(stream);
    ROLE_CHECK(aclrtUnmapMem(address) == ACL_SUCCESS);
    ROLE_CHECK(aclrtFreePhysical(handle) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtReleaseMemAddress(address) == ACL_SUCCESS);
  aclrtSynchronizeDevice();  // a task may have failed on what was gone
  return 0;
}

// A capture that forks to a second stream and joins, replayed between plain tasks.
MP_STRANGE(MP611, plain_tasks_around_a_replay, kError) {
  Device device;
  const Memory memory;
  aclrtEvent fork = nullptr, join = nullptr;
  for (aclrtEvent* event : {&fork, &join}) {
    ROLE_CHECK(aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  }
  const Event behind;
  aclmdlRI graph = nullptr;
  ROLE_CHECK(aclmdlRICaptureBegin(device.one, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
  Record(fork, device.one);
  Wait(device.two, fork);
  Set(memory, device.two);
  Record(join, device.two);
  Wait(device.one, join);
  Set(memory, device.one);
  ROLE_CHECK(aclmdlRICaptureEnd(device.one, &graph) == ACL_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    ROLE_CHECK(aclmdlRIExecuteAsync(graph, device.one) == ACL_SUCCESS);
    Record(behind, device.one);
    if (!wrong || i != 2) Wait(device.two, behind);
    Set(memory, device.two);
    Record(behind, device.two);
    Wait(device.one, behind);
  }
  Synchronize();
  ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  for (aclrtEvent event : {fork, join}) ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  return 0;
}

// A host function tells another thread that the stream has come so far, which launches elsewhere. What comes behind the
// function is not told by it.
MP_STRANGE(MP611, host_function_tells_a_thread, kError) {
  Device device;
  const Memory memory;
  static std::atomic<bool> reached{false};
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  if (!wrong) Set(memory, device.one);
  ROLE_CHECK(aclrtLaunchHostFunc(
                 device.one, [](void*) { reached = true; }, nullptr) == ACL_SUCCESS);
  if (wrong) Set(memory, device.one);
  std::thread other([&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    while (!reached) std::this_thread::yield();
    Set(memory, device.two);
  });
  other.join();
  Synchronize(device.one);
  Synchronize();
  return 0;
}

void WaitUntilOpen(void* open) {
  while (!*static_cast<std::atomic<bool>*>(open)) std::this_thread::yield();
}

// A host function holds its stream until the host has waited for what another stream does to the same memory.
void HoldUntil(std::atomic<bool>* open, aclrtStream stream) {
  ROLE_CHECK(aclrtLaunchHostFunc(stream, WaitUntilOpen, open) == ACL_SUCCESS);
}

MP_STRANGE(MP611, host_function_waits_for_the_program, kError) {
  Device device;
  const Memory memory;
  std::atomic<bool> open{wrong};
  HoldUntil(&open, device.one);
  Set(memory, device.one);
  Set(memory, device.two);
  Synchronize(wrong ? device.one : device.two);
  open = true;
  Synchronize();
  return 0;
}

// The same order by an event behind the function, for a third task.
MP_STRANGE(MP611, event_behind_a_function_that_waits, kError) {
  Device device;
  const Memory memory;
  const Event event;
  aclrtStream three = nullptr;
  ROLE_CHECK(aclrtCreateStream(&three) == ACL_SUCCESS);
  std::atomic<bool> open{wrong};
  HoldUntil(&open, device.one);
  Record(event, device.one);
  Wait(three, event);
  Set(memory, three);
  Set(memory, device.two);
  Synchronize(wrong ? device.one : device.two);
  open = true;
  Synchronize();
  ROLE_CHECK(aclrtDestroyStream(three) == ACL_SUCCESS);
  return 0;
}

// A callback holds its stream while the host itself writes what the stream then reads.
MP_STRANGE(MP510, callback_waits_for_the_program, kError) {
  Device device;
  const Memory memory;
  const Host host;
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  std::atomic<bool> open{false}, over{false};
  std::thread reports([&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    while (!over) aclrtProcessReport(10);
  });
  const auto thread = static_cast<uint64_t>(reports.native_handle());
  ROLE_CHECK(aclrtSubscribeReport(thread, device.one) == ACL_SUCCESS);
  // One that does not hold the stream is no order.
  const aclrtCallbackBlockType blocks = wrong ? ACL_CALLBACK_NO_BLOCK : ACL_CALLBACK_BLOCK;
  ROLE_CHECK(aclrtLaunchCallback(WaitUntilOpen, &open, blocks, device.one) == ACL_SUCCESS);
  Copy(host.memory, memory, ACL_MEMCPY_DEVICE_TO_HOST, device.one);
  ROLE_CHECK(aclrtMemset(memory, kBytes, 1, kBytes) == ACL_SUCCESS);
  open = true;
  Synchronize();
  ROLE_CHECK(aclrtUnSubscribeReport(thread, device.one) == ACL_SUCCESS);
  over = true;
  reports.join();
  return 0;
}

// Settings that the program makes before its first call count under the checker too, which is there before.
MP_STRANGE(MP611, settings_made_by_the_program, kError) {
  ROLE_CHECK(setenv("MILLPOND_DEVICES", "3", 1) == 0);
  Device device;
  uint32_t devices = 0;
  ROLE_CHECK(aclrtGetDeviceCount(&devices) == ACL_SUCCESS && devices == 3);
  const Memory memory;
  Set(memory, device.one);
  if (!wrong) Synchronize(device.one);
  Set(memory, device.two);
  Synchronize();
  return 0;
}

// Registered memory of the program's own, read and written by two streams in turn.
MP_STRANGE(MP506, registered_memory_in_turn, kError) {
  Device device;
  const Memory memory;
  const Event event;
  alignas(4096) static char host[kBytes];
  void* mapped = nullptr;
  ROLE_CHECK(aclrtHostRegister(host, kBytes, ACL_HOST_REGISTER_MAPPED, &mapped) == ACL_SUCCESS);
  Copy(memory, host, ACL_MEMCPY_HOST_TO_DEVICE, device.one);
  Record(event, device.one);
  Wait(device.two, event);
  Copy(host, memory, ACL_MEMCPY_DEVICE_TO_HOST, device.two);
  Synchronize(wrong ? device.one : device.two);
  ROLE_CHECK(aclrtHostUnregister(host) == ACL_SUCCESS);
  Synchronize();
  return 0;
}

// Halves of one block on two streams: they share no byte.
MP_STRANGE(MP611, halves_of_a_block, kError) {
  Device device;
  const Memory memory;
  char* const half = static_cast<char*>(static_cast<void*>(memory)) + kBytes / 2;
  for (int i = 0; i < 10; ++i) {
    Set(memory, kBytes / 2, device.one);
    Set(half - (wrong && i == 9 ? 1 : 0), kBytes / 2, device.two);
  }
  Synchronize();
  return 0;
}

// A stream that only looks: many readers at once are no race.
MP_STRANGE(MP611, readers_at_once, kError) {
  Device device;
  const Memory memory, first, second;
  Set(memory, device.one);
  Synchronize(device.one);
  Copy(first, memory, ACL_MEMCPY_DEVICE_TO_DEVICE, device.one);
  Copy(second, memory, ACL_MEMCPY_DEVICE_TO_DEVICE, device.two);
  if (wrong) Set(memory, device.two);
  Synchronize();
  return 0;
}

// Polled instead of waited for.
MP_STRANGE(MP506, polled_until_it_is_done, kError) {
  Device device;
  const Memory memory;
  Host host;
  const Event event;
  Copy(memory, host.memory, ACL_MEMCPY_HOST_TO_DEVICE, device.one);
  Record(event, device.one);
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  while (!wrong && status != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
    ROLE_CHECK(aclrtQueryEventStatus(event, &status) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtFreeHost(std::exchange(host.memory, nullptr)) == ACL_SUCCESS);
  Synchronize();
  return 0;
}

// A stream that is gone has run all it had: what it used may be used elsewhere. (That it was not synchronised first is
// advice of its own, MP601, so the right form does.)
MP_STRANGE(MP601, stream_made_anew_for_each_piece_of_work, kNoError) {
  Device device;
  const Memory memory;
  for (int i = 0; i < 5; ++i) {
    aclrtStream stream = nullptr;
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    Set(memory, stream);
    if (!wrong || i != 4) Synchronize(stream);
    ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    Set(memory, device.one);
    Synchronize(device.one);
  }
  return 0;
}

// The default stream waits for the others where the program says so.
MP_STRANGE(MP611, default_stream_and_another, kError) {
  Device device;
  const Memory memory;
  const Event event;
  Set(memory, nullptr);
  Record(event, nullptr);
  if (!wrong) Wait(device.one, event);
  Set(memory, device.one);
  Synchronize();
  return 0;
}

// To bring memory near is a hint, and reads nothing that somebody could write too early.
MP_STRANGE(MP611, prefetched_while_it_is_written, kError) {
  Device device;
  const Memory memory;
  ROLE_CHECK(aclrtCmoAsync(memory, kBytes, ACL_RT_CMO_TYPE_PREFETCH, device.two) == ACL_SUCCESS);
  Set(memory, device.one);
  ROLE_CHECK(aclrtCmoAsync(memory, kBytes, ACL_RT_CMO_TYPE_PREFETCH, device.two) == ACL_SUCCESS);
  if (wrong) Set(memory, device.two);
  Synchronize();
  return 0;
}

// The same of memory that host and device share.
MP_STRANGE(MP611, managed_memory_prefetched_while_it_is_written, kError) {
  Device device;
  constexpr size_t kUnit = size_t{2} << 20;
  void* memory = nullptr;
  ROLE_CHECK(aclrtMemAllocManaged(&memory, kUnit, ACL_RT_MEM_ATTACH_GLOBAL) == ACL_SUCCESS);
  const aclrtMemManagedLocation here{ACL_MEM_LOCATIONTYPE_DEVICE, 0};
  ROLE_CHECK(aclrtMemManagedPrefetchAsync(memory, kUnit, here, 0, device.two) == ACL_SUCCESS);
  Set(memory, device.one);
  if (wrong) Set(memory, device.two);
  Synchronize();
  Free(memory);
  return 0;
}

// A word of device memory orders two streams.
MP_STRANGE(MP304, freed_behind_a_value, kError) {
  Device device;
  void* const memory = Malloc();
  const Memory word;
  ROLE_CHECK(aclrtMemset(word, kBytes, 0, kBytes) == ACL_SUCCESS);
  Set(memory, device.one);
  ROLE_CHECK(aclrtValueWrite(word, 1, 0, device.one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, device.two) == ACL_SUCCESS);
  Set(memory, device.two);
  if (!wrong) Synchronize(device.two);
  Free(memory);
  aclrtSynchronizeDevice();
  return 0;
}

}  // namespace

MP_TEST_MAIN()
