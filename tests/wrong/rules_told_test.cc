// SPDX-License-Identifier: Apache-2.0
// Rules that need more than the calls themselves: what a program tells by millpond/check.h, waits that look at each
// other, captured graphs, other processes.
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <string>
#include <thread>

#include "millpond/check.h"
#include "millpond/pool.h"
#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

// 64 KiB from which a pool of the program's own gives parts.
struct Slab {
  ~Slab() {
    Synchronize();
    Free(base);
  }
  char* Part(size_t index) const { return base + index * kBytes; }
  char* const base = static_cast<char*>(Malloc(16 * kBytes));
};

// --- Parts of blocks --------------------------------------------------------------------------------------------

MP_PROGRAM(MP504, past_a_part_that_a_pool_gave, kError) {
  Device device;
  Slab slab;
  millpond_check_block_begin(slab.Part(1), kBytes, "weights", device.one);
  millpond_check_block_begin(slab.Part(2), kBytes, "bias", device.one);
  Set(slab.Part(1), kBytes + (wrong ? 64 : 0), device.one);
  Set(slab.base, 16 * kBytes, device.one);  // all of the slab: the pool's own business
  return 0;
}

// A part that is given on in smaller ones: what leaves the small one may stay in the large one.
MP_PROGRAM(MP504, past_the_largest_part_around, kError) {
  Device device;
  Slab slab;
  millpond_check_block_begin(slab.Part(1), 4 * kBytes, nullptr, nullptr);
  millpond_check_block_begin(slab.Part(2), kBytes, nullptr, nullptr);
  Set(slab.Part(2), (wrong ? 4 : 3) * kBytes, device.one);
  return 0;
}

// The host's copies too; and a part that has ended binds nobody.
MP_PROGRAM(MP504, host_copy_past_a_part, kError) {
  Device device;
  Slab slab;
  const std::string text(kBytes + 64, 'x');
  millpond_check_block_begin(slab.Part(3), kBytes, nullptr, nullptr);
  if (!wrong) millpond_check_block_end(slab.Part(3));
  ROLE_CHECK(aclrtMemcpy(slab.Part(3), text.size(), text.data(), text.size(), ACL_MEMCPY_HOST_TO_DEVICE) ==
             ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP303, part_reused_on_another_stream, kError) {
  Device device;
  Slab slab;
  const Event event;
  millpond_check_block_begin(slab.Part(1), kBytes, "first", device.one);
  Set(slab.Part(1), kBytes, device.one);
  Record(event, device.one);
  millpond_check_block_end(slab.Part(1));
  millpond_check_block_begin(slab.Part(1), kBytes, "second", device.two);
  if (!wrong) Wait(device.two, event);
  Set(slab.Part(1), kBytes, device.two);
  Synchronize();
  return 0;
}

// Our own pool tells its blocks.
MP_PROGRAM(MP504, past_a_block_of_our_pool, kError) {
  Device device;
  millpondPool pool = nullptr;
  void* first = nullptr;
  void* second = nullptr;
  ROLE_CHECK(millpondPoolDefault(0, &pool) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolMalloc(pool, 1000, device.one, &first) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolMalloc(pool, 1000, device.one, &second) == ACL_SUCCESS);
  Set(first, wrong ? 1008 : 1000, device.one);
  ROLE_CHECK(millpondPoolFree(pool, first, device.one) == ACL_SUCCESS);
  // Its bytes serve again, as a larger block: the former end counts no more.
  void* again = nullptr;
  ROLE_CHECK(millpondPoolMalloc(pool, 1024, device.one, &again) == ACL_SUCCESS);
  Set(again, 1024, device.one);
  Synchronize();
  ROLE_CHECK(millpondPoolFree(pool, again, device.one) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolFree(pool, second, device.one) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolTrim(pool, 0, 1) == ACL_SUCCESS);
  return 0;
}

// --- A task of the program's own --------------------------------------------------------------------------------

MP_PROGRAM(MP611, host_function_that_tells_what_it_reads, kError) {
  Device device;
  Slab slab;
  const Event event;
  Set(slab.base, kBytes, device.one);
  Record(event, device.one);
  if (!wrong) Wait(device.two, event);
  const millpond_access reads = {slab.base, 64, 1, 0, MILLPOND_READ};
  millpond_check_next_task(&reads, 1);
  ROLE_CHECK(aclrtLaunchHostFunc(
                 device.two, [](void*) {}, nullptr) == ACL_SUCCESS);
  // It was told of that one task.
  ROLE_CHECK(aclrtLaunchHostFunc(
                 device.two, [](void*) {}, nullptr) == ACL_SUCCESS);
  // It may wait for what the host learns before it returns: nothing of the other stream.
  ROLE_CHECK(aclrtSynchronizeStream(device.two) == ACL_SUCCESS);
  Synchronize();
  return 0;
}

MP_PROGRAM(MP304, finding_reaches_the_program, kError) {
  static std::atomic<int> heard{0};
  ROLE_CHECK(millpond_check_is_on());
  millpond_check_on_finding(
      [](const millpond_finding* finding, void* argument) {
        if (std::string(finding->rule) == "MP304" && std::string(finding->severity) == "error" &&
            *finding->message != '\0' && *finding->advice != '\0' && std::string(finding->fingerprint).size() == 16) {
          ++*static_cast<std::atomic<int>*>(argument);
        }
      },
      &heard);
  {
    Device device;
    void* memory = Malloc();
    Set(memory, kBytes, device.one);
    if (!wrong) Synchronize(device.one);
    Free(memory);
  }
  ROLE_CHECK(heard == (wrong ? 1 : 0));
  return 0;
}

// --- Events that are reset --------------------------------------------------------------------------------------

// An event that the first stream has recorded and the second waits for.
struct Awaited : Device {
  Awaited() {
    Record(event, one);
    Wait(two, event);
  }
  const Event event{ACL_EVENT_SYNC};
};

// Page "aclrtResetEvent". The waiter's own stream may reset it, behind the wait.
MP_PROGRAM(MP605, reset_on_another_stream, kError) {
  const Awaited device;
  ROLE_CHECK(aclrtResetEvent(device.event, wrong ? device.one : device.two) == ACL_SUCCESS);
  Record(device.event, device.one);  // or the wrong program might stand still
  Synchronize();
  return 0;
}

MP_PROGRAM(MP605, reset_by_one_of_two_waiters, kError) {
  Device device;
  aclrtStream third = nullptr;
  ROLE_CHECK(aclrtCreateStream(&third) == ACL_SUCCESS);
  const Event event(ACL_EVENT_SYNC);
  const Event passed;
  Record(event, device.one);
  Wait(device.two, event);
  Wait(third, event);
  Record(passed, third);
  if (!wrong) Wait(device.two, passed);
  ROLE_CHECK(aclrtResetEvent(event, device.two) == ACL_SUCCESS);
  Record(event, device.two);  // behind the reset, or the third stream might stand still
  Synchronize();
  ROLE_CHECK(aclrtDestroyStream(third) == ACL_SUCCESS);
  return 0;
}

// The host may ask whether all waits have passed (page "aclrtQueryEventWaitStatus"), or wait for the streams.
MP_PROGRAM(MP605, reset_after_asking, kError) {
  const Awaited device;
  const Event& event = device.event;
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_NOT_READY;
  while (!wrong && status != ACL_EVENT_WAIT_STATUS_COMPLETE) {
    ROLE_CHECK(aclrtQueryEventWaitStatus(event, &status) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtResetEvent(event, device.one) == ACL_SUCCESS);
  Record(event, device.one);
  Wait(device.two, event);
  Synchronize();
  ROLE_CHECK(aclrtResetEvent(event, device.one) == ACL_SUCCESS);
  Synchronize();
  return 0;
}

// --- Streams that wait for each other -----------------------------------------------------------------------------

MP_PROGRAM(MP606, two_level_events, kError) {
  Device device;
  const Event first(ACL_EVENT_SYNC);
  const Event second(ACL_EVENT_SYNC);
  if (!wrong) Record(first, device.one);
  Wait(device.one, second);
  if (wrong) Record(first, device.one);
  Wait(device.two, first);
  Record(second, device.two);
  // Neither would ever go on; the checker has both dropped.
  ROLE_CHECK((aclrtSynchronizeStream(device.one) == ACL_SUCCESS) == !wrong);
  ROLE_CHECK((aclrtSynchronizeStream(device.two) == ACL_SUCCESS) == !wrong);
  return 0;
}

// A plain event in the middle, notifies at the ends.
MP_PROGRAM(MP606, notify_and_plain_event, kError) {
  Device device;
  aclrtNotify notify = nullptr;
  const Event event;
  ROLE_CHECK(aclrtCreateNotify(&notify, 0) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtRecordNotify(notify, device.two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtWaitAndResetNotify(notify, device.one, 0) == ACL_SUCCESS);
  Record(event, device.one);
  Wait(device.two, event);
  if (wrong) ROLE_CHECK(aclrtRecordNotify(notify, device.two) == ACL_SUCCESS);
  ROLE_CHECK((aclrtSynchronizeStream(device.two) == ACL_SUCCESS) == !wrong);
  ROLE_CHECK((aclrtSynchronizeStream(device.one) == ACL_SUCCESS) == !wrong);
  ROLE_CHECK(aclrtDestroyNotify(notify) == ACL_SUCCESS);
  return 0;
}

// What another thread may still record is no deadlock: nothing is said, and the stream goes on.
MP_ROLE(rescued_by_another_thread) {
  Device device;
  aclrtStream third = nullptr;
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtCreateStream(&third) == ACL_SUCCESS && aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  const Event first(ACL_EVENT_SYNC);
  const Event second(ACL_EVENT_SYNC);
  Wait(device.one, second);
  Record(first, device.one);
  std::thread other([&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    Wait(device.two, first);
    Record(second, device.two);
    Record(second, third);
  });
  other.join();
  Synchronize(device.one);
  Synchronize(device.two);
  ROLE_CHECK(aclrtDestroyStream(third) == ACL_SUCCESS);
  return 0;
}
TEST(Rules, MP606_rescued_by_another_thread) {
  const Checked checked = Check("rescued_by_another_thread", false, {});
  EXPECT_EQ(checked.result.exit_code, 0) << checked.result.output;
  EXPECT_TRUE(checked.rules.empty()) << checked.result.output;
}

// --- Notifies -----------------------------------------------------------------------------------------------------

// Each wait takes the record that was enqueued for it: the finding needs no lucky schedule.
MP_PROGRAM(MP611, notify_recorded_before_the_write, kError) {
  Device device;
  Slab slab;
  aclrtNotify there = nullptr;
  aclrtNotify back = nullptr;
  ROLE_CHECK(aclrtCreateNotify(&there, 0) == ACL_SUCCESS && aclrtCreateNotify(&back, 0) == ACL_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    const bool early = wrong && round == 2;
    if (early) ROLE_CHECK(aclrtRecordNotify(there, device.one) == ACL_SUCCESS);
    Set(slab.base, kBytes, device.one);
    if (!early) ROLE_CHECK(aclrtRecordNotify(there, device.one) == ACL_SUCCESS);
    ROLE_CHECK(aclrtWaitAndResetNotify(there, device.two, 0) == ACL_SUCCESS);
    Set(slab.base, kBytes, device.two);
    ROLE_CHECK(aclrtRecordNotify(back, device.two) == ACL_SUCCESS);
    ROLE_CHECK(aclrtWaitAndResetNotify(back, device.one, 0) == ACL_SUCCESS);
  }
  Synchronize();
  ROLE_CHECK(aclrtDestroyNotify(there) == ACL_SUCCESS && aclrtDestroyNotify(back) == ACL_SUCCESS);
  return 0;
}

// --- Captured graphs ----------------------------------------------------------------------------------------------

MP_PROGRAM(MP611, inside_a_captured_graph, kError) {
  Device device;
  Slab slab;
  aclrtEvent fork = nullptr;
  aclrtEvent middle = nullptr;
  aclrtEvent join = nullptr;
  for (aclrtEvent* event : {&fork, &middle, &join}) {
    ROLE_CHECK(aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  }
  aclmdlRI graph = nullptr;
  ROLE_CHECK(aclmdlRICaptureBegin(device.one, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
  Record(fork, device.one);
  Wait(device.two, fork);
  Set(slab.base, kBytes, device.one);
  Record(middle, device.one);
  if (!wrong) Wait(device.two, middle);
  Set(slab.base, kBytes, device.two);
  Record(join, device.two);
  Wait(device.one, join);
  ROLE_CHECK(aclmdlRICaptureEnd(device.one, &graph) == ACL_SUCCESS);
  ROLE_CHECK(aclmdlRIExecuteAsync(graph, device.one) == ACL_SUCCESS);
  Synchronize(device.one);
  ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  for (aclrtEvent event : {fork, middle, join}) ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  return 0;
}
// One task on stream one, captured.
struct Captured : Device {
  Captured() {
    ROLE_CHECK(aclmdlRICaptureBegin(one, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
    Set(memory, one);
    ROLE_CHECK(aclmdlRICaptureEnd(one, &graph) == ACL_SUCCESS);
  }
  ~Captured() {
    Synchronize(one);
    ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  }
  void Replay() const { ROLE_CHECK(aclmdlRIExecuteAsync(graph, one) == ACL_SUCCESS); }
  void* const memory = Malloc();
  aclmdlRI graph = nullptr;
};

// A replay is a task of acl's, not a run of a session: acl's pages have the rule.
MP_PROGRAM(MP304, freed_while_it_is_replayed, kError) {
  const Captured device;
  for (int i = 0; i < 3; ++i) device.Replay();
  if (!wrong) Synchronize(device.one);
  Free(device.memory);
  return 0;
}

MP_PROGRAM(MP510, read_while_it_is_replayed, kError) {
  const Captured device;
  char host[kBytes];
  device.Replay();
  if (!wrong) Synchronize(device.one);
  ROLE_CHECK(aclrtMemcpy(host, kBytes, device.memory, kBytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  Synchronize(device.one);
  Free(device.memory);
  return 0;
}

// Both lines of the capture are named.
TEST(Rules, ACapturedGraphsFindingHasTheStacksOfTheCapture) {
  const Checked wrong = Check("MP611_inside_a_captured_graph", true, {});
  const std::string& text = wrong.result.output;
  size_t captured = 0;
  for (size_t at = text.find("captured here"); at != std::string::npos; at = text.find("captured here", at + 1)) {
    const size_t end = text.find("\n  ", text.find('\n', at));
    captured += text.find("Program_MP611_inside_a_captured_graph", at) != std::string::npos && end != std::string::npos;
  }
  EXPECT_EQ(captured, 2U) << text;
}

// --- Threads of the host ------------------------------------------------------------------------------------------

// With --host-order=threads a thread knows what it waited for itself, and nothing else.
MP_PROGRAM(MP611, another_thread_waited, kError, {"MILLPOND_CHECK_HOST_ORDER", "threads"}) {
  Device device;
  Slab slab;
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  Set(slab.base, kBytes, device.one);
  if (wrong) Synchronize(device.one);
  std::thread other([&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    if (!wrong) Synchronize(device.one);
    Set(slab.base, kBytes, device.two);
    Synchronize(device.two);
  });
  other.join();
  return 0;
}
// Without it the same is right: the thread was joined, which nobody can see.
TEST(Rules, MP611_another_thread_waited_by_default) {
  const Checked checked = Check("MP611_another_thread_waited", true, {});
  EXPECT_EQ(checked.result.exit_code, 0) << checked.result.output;
  EXPECT_TRUE(checked.rules.empty()) << checked.result.output;
}

// --- Memory between processes -------------------------------------------------------------------------------------

// Imports IMPORT_KEY, says so, and holds it until its input ends; with IMPORT_CLOSES it closes before it says so.
MP_ROLE(importer) {
  ROLE_INIT();
  void* memory = nullptr;
  const char* const key = std::getenv("IMPORT_KEY");
  const bool closes = std::getenv("IMPORT_CLOSES") != nullptr;
  ROLE_CHECK(aclrtIpcMemImportByKey(&memory, key, 0) == ACL_SUCCESS);
  if (closes) ROLE_CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS);
  ROLE_CHECK(write(STDOUT_FILENO, "i", 1) == 1);
  char byte = 0;
  ROLE_CHECK(read(STDIN_FILENO, &byte, 1) == 0);
  if (!closes) ROLE_CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP704, export_closed_before_import, kError) {
  Device device;
  Slab slab;
  char key[65] = {};
  ROLE_CHECK(aclrtIpcMemGetExportKey(slab.base, kBytes, key, sizeof(key),
                                     ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) == ACL_SUCCESS);
  setenv("IMPORT_KEY", key, 1);
  if (!wrong) setenv("IMPORT_CLOSES", "1", 1);
  int to[2], from[2];
  ROLE_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::string program = "/proc/self/exe", flag = "--role", name = "importer";
  char* arguments[] = {program.data(), flag.data(), name.data(), nullptr};
  pid_t child = 0;
  ROLE_CHECK(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(from[1]);
  char byte = 0;
  ROLE_CHECK(read(from[0], &byte, 1) == 1);
  ROLE_CHECK(aclrtIpcMemClose(key) == ACL_SUCCESS);
  close(to[1]);
  int status = 0;
  ROLE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}

}  // namespace

MP_TEST_MAIN()
