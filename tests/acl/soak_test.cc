// SPDX-License-Identifier: Apache-2.0
// Load. Issue 3: 8 devices, 1,984 streams, 10 million launches, 1 million allocations from 8 threads: nothing lost,
// memory flat. That much runs by default; under the sanitizers a part of it; MILLPOND_SOAK=full runs ten times as much.
#include <cstdlib>
#include <random>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

struct Load {
  int devices = 8;
  int streams = 1984;  // over all devices together
  int threads = 8;
  int64_t launches = 0;
  int64_t allocations = 0;
};

bool Full() {
  const char* form = std::getenv("MILLPOND_SOAK");
  return form != nullptr && std::string(form) == "full";
}

Load TheLoad() {
  Load load;
  load.launches = 10'000'000;
  load.allocations = 1'000'000;
  if (Full()) {
    load.launches *= 10;
    load.allocations *= 10;
  } else if (MP_SANITIZED) {
    load.streams = 496;
    load.launches = 50'000;
    load.allocations = 5'000;
  }
  return load;
}

struct alignas(64) Counter {
  std::atomic<int64_t> value{0};
};

void CountOne(void* counter) { static_cast<Counter*>(counter)->value.fetch_add(1, std::memory_order_relaxed); }

// One thread's share: its device's streams get tasks in random bursts, occasionally tied by events; memory is
// allocated and freed.
class Worker {
 public:
  Worker(const Load& load, int index, Counter* counters)
      : load_(load), index_(index), random_(static_cast<unsigned>(index)), counters_(counters) {}

  void Run(int64_t launches, int64_t allocations) {
    ROLE_CHECK(aclrtSetDevice(index_ % load_.devices) == ACL_SUCCESS);
    for (int i = 0; i < load_.streams / load_.threads; ++i) {
      aclrtStream stream = nullptr;
      ROLE_CHECK(aclrtCreateStreamWithConfig(&stream, static_cast<uint32_t>(i % 8), 3) == ACL_SUCCESS);
      streams_.push_back(stream);
    }
    ROLE_CHECK(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_SYNC) == ACL_SUCCESS);
    int64_t launched = 0;
    int64_t allocated = 0;
    while (launched < launches || allocated < allocations) {
      const size_t at = random_() % streams_.size();
      const int64_t burst = std::min<int64_t>(launches - launched, 1 + static_cast<int64_t>(random_() % 40));
      for (int64_t i = 0; i < burst; ++i) {
        ROLE_CHECK(millpond_launch(streams_[at], "Count", CountOne, &counters_[at % 64]) == ACL_SUCCESS);
      }
      launched += burst;
      if (allocated < allocations) {
        Allocate();
        ++allocated;
      }
      if (random_() % 16 == 0) Tie(at);
      if (random_() % 64 == 0) ROLE_CHECK(aclrtSynchronizeStream(streams_[at]) == ACL_SUCCESS);
    }
    for (void* memory : blocks_) ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
    for (aclrtStream stream : streams_) ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    for (aclrtStream stream : streams_) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyEvent(event_) == ACL_SUCCESS);
    ROLE_CHECK(aclrtResetDevice(index_ % load_.devices) == ACL_SUCCESS);
    blocks_.clear();
    streams_.clear();
  }

 private:
  void Allocate() {
    void* memory = nullptr;
    const size_t size = size_t{1} << (5 + random_() % 12);
    ROLE_CHECK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    blocks_.push_back(memory);
    if (blocks_.size() < 100) return;
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    ROLE_CHECK(aclrtFree(blocks_.back()) == ACL_SUCCESS);
    blocks_.pop_back();
  }
  void Tie(size_t at) {
    ROLE_CHECK(aclrtRecordEvent(event_, streams_[at]) == ACL_SUCCESS);
    ROLE_CHECK(aclrtStreamWaitEvent(streams_[random_() % streams_.size()], event_) == ACL_SUCCESS);
  }

  const Load& load_;
  const int index_;
  std::mt19937 random_;
  Counter* counters_;
  std::vector<aclrtStream> streams_;
  std::vector<void*> blocks_;
  aclrtEvent event_ = nullptr;
};

MP_ROLE(soak) {
  const Load load = TheLoad();
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  for (int device = 0; device < load.devices; ++device) ROLE_CHECK(aclrtSetDevice(device) == ACL_SUCCESS);
  static Counter counters[64];
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < load.threads; ++i) workers.push_back(std::make_unique<Worker>(load, i, counters));
  const auto round = [&](int64_t launches, int64_t allocations) {
    std::vector<std::thread> threads;
    for (auto& worker : workers) {
      threads.emplace_back(
          [&, mine = worker.get()] { mine->Run(launches / load.threads, allocations / load.threads); });
    }
    for (std::thread& thread : threads) thread.join();
  };
  // The first rounds fill the caches; what the later ones add must be next to nothing.
  constexpr int kRounds = 10;
  std::vector<int64_t> resident;
  for (int i = 0; i < kRounds; ++i) {
    round(load.launches / kRounds, load.allocations / kRounds);
    resident.push_back(ResidentKiB());
  }
  int64_t ran = 0;
  for (const Counter& counter : counters) ran += counter.value.load();
  const int64_t expected = load.launches / kRounds / load.threads * load.threads * kRounds;
  std::printf("ran %lld of %lld; resident KiB by round:", static_cast<long long>(ran),
              static_cast<long long>(expected));
  for (const int64_t kib : resident) std::printf(" %lld", static_cast<long long>(kib));
  std::printf("; threads %lld\n", static_cast<long long>(ThreadCount()));
  ROLE_CHECK(ran == expected);
  ROLE_CHECK(ThreadCount() <= 24);
  // The sanitizers keep freed memory for themselves.
  if (!MP_SANITIZED) ROLE_CHECK(resident.back() - resident[kRounds / 2] < 8 * 1024);
  for (int device = 0; device < load.devices; ++device) {
    ROLE_CHECK(aclrtSetDevice(device) == ACL_SUCCESS);
    uint32_t available = 0;
    ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 1983);
  }
  return 0;
}

TEST(Soak, NoTaskIsLostAndMemoryIsFlat) {
  const ChildResult child = ExpectRole("soak", {{"MILLPOND_DEVICES", "8"}, {"MILLPOND_MEMORY", "256MiB"}},
                                       milliseconds(Full() ? 1'800'000 : 110'000));
  std::printf("%s", child.output.c_str());
}

// Waits with a far deadline come and go by the hundred thousand: nothing of them stays behind.
MP_ROLE(far_deadlines) {
  ROLE_INIT();
  ROLE_CHECK(aclrtSetOpWaitTimeout(3600) == ACL_SUCCESS);
  aclrtStream one = nullptr;
  aclrtStream two = nullptr;
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  static Counter counter;
  const int rounds = MP_SANITIZED ? 5'000 : 100'000;
  int64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    ROLE_CHECK(millpond_launch(one, "Count", CountOne, &counter) == ACL_SUCCESS);
    ROLE_CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
    ROLE_CHECK(aclrtStreamWaitEvent(two, event) == ACL_SUCCESS);
    ROLE_CHECK(millpond_launch(two, "Count", CountOne, &counter) == ACL_SUCCESS);
    if (i == rounds / 10) before = ResidentKiB();
  }
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  ROLE_CHECK(counter.value.load() == 2 * rounds);
  if (!MP_SANITIZED) ROLE_CHECK(ResidentKiB() - before < 8 * 1024);
  return 0;
}

TEST(Soak, WaitsWithFarDeadlinesLeaveNothingBehind) { ExpectRole("far_deadlines"); }

// Streams, events and contexts made and destroyed over and over: handles are recycled, memory does not grow.
MP_ROLE(churn) {
  ROLE_INIT();
  static Counter counter;
  const int rounds = MP_SANITIZED ? 300 : 5'000;
  int64_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    ROLE_CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS);
    for (int k = 0; k < 10; ++k) ROLE_CHECK(millpond_launch(stream, "Count", CountOne, &counter) == ACL_SUCCESS);
    ROLE_CHECK(aclrtRecordEvent(event, stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
    if (i % 2 == 0) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyContext(context) == ACL_SUCCESS);
    if (i == rounds / 10) before = ResidentKiB();
  }
  ROLE_CHECK(counter.value.load() == 10 * rounds);
  if (!MP_SANITIZED) ROLE_CHECK(ResidentKiB() - before < 4 * 1024);
  return 0;
}

TEST(Soak, HandlesAreRecycled) { ExpectRole("churn"); }

}  // namespace

MP_TEST_MAIN()
