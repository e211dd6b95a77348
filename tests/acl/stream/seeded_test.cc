// SPDX-License-Identifier: Apache-2.0
// The seeded scheduler (MILLPOND_SEED). Issue 3: delays and interleaves tasks across streams as adversarially as events
// allow, the order depending only on the seed and the enqueue sequence, and polling always making progress.
#include <set>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

ChildResult RunSeeded(const std::string& role, int seed) {
  return RunRole(role, {{"MILLPOND_SEED", std::to_string(seed)}});
}

// The role succeeds with each of the first seeds.
void ExpectSeeds(const char* role, int count) {
  for (int seed = 0; seed < count; ++seed) ExpectRole(role, {{"MILLPOND_SEED", std::to_string(seed)}});
}

void Begin() { ROLE_INIT(); }

aclrtStream MakeStream() {
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  return stream;
}

aclrtEvent MakeEvent() {
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  return event;
}

// Four streams with eight tasks each, joined occasionally; prints the order in which the tasks ran.
MP_ROLE(order) {
  Begin();
  constexpr int kStreams = 4;
  std::vector<aclrtStream> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(MakeStream());
  aclrtEvent event = MakeEvent();
  std::mutex mutex;
  std::vector<int> order;
  for (int task = 0; task < 32; ++task) {
    const int at = task % kStreams;
    ROLE_CHECK(Launch(streams[at], [&, task] {
                 std::lock_guard lock(mutex);
                 order.push_back(task);
               }) == ACL_SUCCESS);
    if (task == 13) {  // stream 3 waits for stream 1 from here on
      ROLE_CHECK(aclrtRecordEvent(event, streams[1]) == ACL_SUCCESS);
      ROLE_CHECK(aclrtStreamWaitEvent(streams[3], event) == ACL_SUCCESS);
    }
    if (task == 20) ROLE_CHECK(aclrtSynchronizeStream(streams[2]) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  ROLE_CHECK(order.size() == 32);
  std::vector<int> place(32);
  for (int i = 0; i < 32; ++i) place[order[i]] = i;
  for (int task = 4; task < 32; ++task) ROLE_CHECK(place[task - 4] < place[task]);  // FIFO
  for (int task = 15; task < 32; task += 4) ROLE_CHECK(place[13] < place[task]);    // the event
  for (int task = 21; task < 32; ++task) ROLE_CHECK(place[18] < place[task]);       // the synchronisation
  for (const int task : order) std::printf("%d ", task);
  std::printf("\n");
  return 0;
}

TEST(Seeded, SameSeedSameOrderAndOtherSeedsDiffer) {
  std::set<std::string> orders;
  for (int seed = 0; seed < 12; ++seed) {
    const ChildResult first = RunSeeded("order", seed);
    const ChildResult second = RunSeeded("order", seed);
    ASSERT_EQ(first.exit_code, 0) << "seed " << seed << ": " << first.output;
    ASSERT_EQ(second.exit_code, 0) << "seed " << seed << ": " << second.output;
    EXPECT_EQ(first.output, second.output) << "seed " << seed;
    orders.insert(first.output);
  }
  EXPECT_GE(orders.size(), 6u);
}

// A reader that forgot to wait for its writer. Exit code 1: the mistake showed itself.
int WriterAndReader(bool wait) {
  Begin();
  aclrtStream writer = MakeStream();
  aclrtStream reader = MakeStream();
  aclrtEvent event = MakeEvent();
  int value = 0;
  int seen = -1;
  ROLE_CHECK(Launch(writer, [] {}) == ACL_SUCCESS);
  ROLE_CHECK(Launch(writer, [&] { value = 42; }) == ACL_SUCCESS);
  if (wait) {
    ROLE_CHECK(aclrtRecordEvent(event, writer) == ACL_SUCCESS);
    ROLE_CHECK(aclrtStreamWaitEvent(reader, event) == ACL_SUCCESS);
  }
  ROLE_CHECK(Launch(reader, [&] { seen = value; }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(reader) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(writer) == ACL_SUCCESS);
  return seen == 42 ? 0 : 1;
}

MP_ROLE(missing_wait) { return WriterAndReader(false); }
MP_ROLE(with_wait) { return WriterAndReader(true); }

TEST(Seeded, AMissingSynchronisationShowsItselfWithinTwentySeedsAndReplays) {
  int shown = -1;
  for (int seed = 1; seed <= 20; ++seed) {
    const ChildResult child = RunSeeded("missing_wait", seed);
    ASSERT_TRUE(child.exit_code == 0 || child.exit_code == 1) << child.output;
    if (child.exit_code == 1 && shown < 0) shown = seed;
    const ChildResult good = RunSeeded("with_wait", seed);
    EXPECT_EQ(good.exit_code, 0) << "seed " << seed << ": " << good.output;
  }
  ASSERT_GE(shown, 1) << "no seed of 1 to 20 showed the missing wait";
  for (int again = 0; again < 3; ++again) EXPECT_EQ(RunSeeded("missing_wait", shown).exit_code, 1);
}

// A host that forgot to synchronise before it reads what an asynchronous copy writes.
MP_ROLE(missing_host_sync) {
  Begin();
  aclrtStream stream = MakeStream();
  std::atomic<int> value{0};
  ROLE_CHECK(Launch(stream, [&] { value = 42; }) == ACL_SUCCESS);
  const int seen = value.load();
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS && value.load() == 42);
  return seen == 42 ? 0 : 1;
}

TEST(Seeded, AMissingHostSynchronisationShowsItself) {
  int shown = 0;
  for (int seed = 1; seed <= 20; ++seed) shown += RunSeeded("missing_host_sync", seed).exit_code == 1 ? 1 : 0;
  EXPECT_GE(shown, 1);
}

// Loops that only ask must end, whatever they ask.
MP_ROLE(polling) {
  Begin();
  aclrtStream one = MakeStream();
  aclrtStream two = MakeStream();
  aclrtEvent event = MakeEvent();
  aclrtEvent plain = nullptr;
  aclrtEvent level = nullptr;
  ROLE_CHECK(aclrtCreateEvent(&plain) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateEventWithFlag(&level, ACL_EVENT_SYNC) == ACL_SUCCESS);
  std::atomic<int> ran{0};
  const auto fill = [&](aclrtStream stream) {
    for (int i = 0; i < 20; ++i) ROLE_CHECK(Launch(stream, [&] { ran.fetch_add(1); }) == ACL_SUCCESS);
  };
  fill(one);
  ROLE_CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtStreamWaitEvent(two, event) == ACL_SUCCESS);
  fill(two);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  while (status != ACL_STREAM_STATUS_COMPLETE) ROLE_CHECK(aclrtStreamQuery(two, &status) == ACL_SUCCESS);
  ROLE_CHECK(ran.load() == 40);
  fill(one);
  ROLE_CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  while (recorded != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
    ROLE_CHECK(aclrtQueryEventStatus(event, &recorded) == ACL_SUCCESS);
  }
  fill(two);
  ROLE_CHECK(aclrtRecordEvent(plain, two) == ACL_SUCCESS);
  aclrtEventStatus old_status = ACL_EVENT_STATUS_NOT_READY;
  while (old_status != ACL_EVENT_STATUS_COMPLETE) ROLE_CHECK(aclrtQueryEvent(plain, &old_status) == ACL_SUCCESS);
  ROLE_CHECK(aclrtStreamWaitEvent(two, level) == ACL_SUCCESS);
  fill(one);
  ROLE_CHECK(aclrtRecordEvent(level, one) == ACL_SUCCESS);
  aclrtEventWaitStatus waits = ACL_EVENT_WAIT_STATUS_NOT_READY;
  while (waits != ACL_EVENT_WAIT_STATUS_COMPLETE) {
    ROLE_CHECK(aclrtQueryEventWaitStatus(level, &waits) == ACL_SUCCESS);
  }
  return 0;
}

TEST(Seeded, PollingAlwaysMakesProgress) { ExpectSeeds("polling", 6); }

// A client that spins on pinned memory makes no call at all: after the stall a helper thread runs the streams.
MP_ROLE(spin_on_memory) {
  Begin();
  aclrtStream stream = MakeStream();
  void* memory = nullptr;
  ROLE_CHECK(aclrtMallocHost(&memory, 64) == ACL_SUCCESS);
  std::atomic_ref<uint64_t> word(*static_cast<uint64_t*>(memory));
  word.store(0);
  for (int i = 0; i < 10; ++i) ROLE_CHECK(Launch(stream, [] {}) == ACL_SUCCESS);
  ROLE_CHECK(aclrtValueWrite(memory, 5, 0, stream) == ACL_SUCCESS);
  ROLE_CHECK(Eventually([&] { return word.load() == 5; }));
  return 0;
}

TEST(Seeded, AHostThatSpinsOnPinnedMemoryIsHelped) { ExpectSeeds("spin_on_memory", 3); }

// Everything that can hold a stream, under several threads: all of it ends.
MP_ROLE(mixture) {
  Begin();
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  std::atomic<int> ran{0};
  const auto work = [&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    aclrtStream one = MakeStream();
    aclrtStream two = MakeStream();
    aclrtEvent event = MakeEvent();
    aclrtNotify notify = nullptr;
    void* memory = nullptr;
    void* pinned = nullptr;
    ROLE_CHECK(aclrtCreateNotify(&notify, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMallocHost(&pinned, 4096) == ACL_SUCCESS);
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(pinned)).store(0);
    for (int i = 1; i <= 20; ++i) {
      ROLE_CHECK(aclrtLaunchHostFunc(
                     one, [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran) ==
                 ACL_SUCCESS);
      ROLE_CHECK(aclrtRecordNotify(notify, one) == ACL_SUCCESS);
      ROLE_CHECK(aclrtWaitAndResetNotify(notify, two, 30) == ACL_SUCCESS);
      ROLE_CHECK(aclrtRecordEvent(event, two) == ACL_SUCCESS);
      ROLE_CHECK(aclrtStreamWaitEvent(one, event) == ACL_SUCCESS);
      ROLE_CHECK(aclrtValueWrite(pinned, static_cast<uint64_t>(i), 0, two) == ACL_SUCCESS);
      ROLE_CHECK(aclrtValueWait(pinned, static_cast<uint64_t>(i), ACL_STREAM_WAIT_VALUE_GEQ, one) == ACL_SUCCESS);
      ROLE_CHECK(aclrtMemsetAsync(memory, 4096, i, 4096, one) == ACL_SUCCESS);
      ROLE_CHECK(Launch(one, [&] { ran.fetch_add(1); }) == ACL_SUCCESS);
      if (i % 7 == 0) ROLE_CHECK(aclrtSynchronizeStreamWithTimeout(one, 30000) == ACL_SUCCESS);
    }
    ROLE_CHECK(aclrtSynchronizeStream(one) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyStream(two) == ACL_SUCCESS && aclrtDestroyStream(one) == ACL_SUCCESS);
    ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS && aclrtFreeHost(pinned) == ACL_SUCCESS);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  ROLE_CHECK(ran.load() == 3 * 40);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
  return 0;
}

TEST(Seeded, EverythingThatHoldsAStreamEnds) { ExpectSeeds("mixture", 4); }

// Failures, aborts and timeouts keep their codes.
MP_ROLE(codes) {
  Begin();
  aclrtStream stream = MakeStream();
  void* pinned = nullptr;
  ROLE_CHECK(aclrtMallocHost(&pinned, 64) == ACL_SUCCESS);
  std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(pinned)).store(0);
  ROLE_CHECK(millpond_launch(
                 stream, "Bad", [](void*) { throw 1; }, nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_AICORE_EXCEPTION);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtValueWait(pinned, 1, ACL_STREAM_WAIT_VALUE_EQ, stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStreamWithTimeout(stream, 20) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  ROLE_CHECK(aclrtStreamAbort(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_STREAM_ABORT);
  ROLE_CHECK(aclrtDestroyStreamForce(stream) == ACL_SUCCESS);
  return 0;
}

TEST(Seeded, CodesAreTheSame) { ExpectSeeds("codes", 3); }

}  // namespace

MP_TEST_MAIN()
