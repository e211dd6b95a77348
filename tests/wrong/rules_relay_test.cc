// SPDX-License-Identifier: Apache-2.0
// Random programs of several host threads that hand blocks on, each time with an order that another of CANN's means
// makes: a wait of the host, an event, a host function that tells, a notify, a value in memory, nothing but the stream
// itself. Threads run as they like, so a program that leaves orders out may do so unpunished; what it may never earn is
// anything else, and one that leaves out none earns nothing. MILLPOND_RANDOM_PROGRAMS says how many.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

constexpr int kTurns = 12, kBlocks = 6;
const std::set<std::string> kOfOrder = {"MP304", "MP506", "MP510", "MP611"};

// What whoever takes a block does to come behind who had it.
enum class Behind { kNothing, kEventOnStream, kEventOnHost, kFlag, kNotify, kValue };

class Flag {
 public:
  void Raise() {
    const std::lock_guard<std::mutex> lock(mutex_);
    raised_ = true;
    changed_.notify_all();
  }
  void Await() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return raised_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool raised_ = false;
};

// One handing on. Each has its own means: a wait would take whatever record of a notify comes first, and a program that
// leaves an order out must not hang by it.
struct Baton {
  Behind behind = Behind::kNothing;
  aclrtEvent event = nullptr;
  aclrtNotify notify = nullptr;
  void* value = nullptr;  // 8 bytes, 0 until it is handed on
  Flag flag;
};

std::unique_ptr<Baton> MakeBaton() {
  auto baton = std::make_unique<Baton>();
  baton->value = Malloc(sizeof(uint64_t));
  ROLE_CHECK(aclrtMemset(baton->value, sizeof(uint64_t), 0, sizeof(uint64_t)) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateEvent(&baton->event) == ACL_SUCCESS && aclrtCreateNotify(&baton->notify, 0) == ACL_SUCCESS);
  return baton;
}
void Destroy(const Baton& baton) {
  Free(baton.value);
  ROLE_CHECK(aclrtDestroyEvent(baton.event) == ACL_SUCCESS && aclrtDestroyNotify(baton.notify) == ACL_SUCCESS);
}

struct Block {
  bool pinned = false;
  void* address = nullptr;
  std::vector<std::unique_ptr<Baton>> batons;  // of whoever takes the block next: the last one
  std::atomic<bool> is_held{false};
};

void Allocate(Block* block) {
  ROLE_CHECK((block->pinned ? aclrtMallocHost(&block->address, kBytes)
                            : aclrtMalloc(&block->address, kBytes, ACL_MEM_MALLOC_HUGE_FIRST)) == ACL_SUCCESS);
}
void Release(const Block& block) {
  ROLE_CHECK((block.pinned ? aclrtFreeHost(block.address) : aclrtFree(block.address)) == ACL_SUCCESS);
}

// One thread of the host, with a stream and memory that nobody else touches.
class Runner {
 public:
  Runner(uint32_t seed, std::vector<std::unique_ptr<Block>>* blocks) : random_(seed), blocks_(*blocks) {}

  void Run(aclrtContext context) {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStream(&stream_) == ACL_SUCCESS);
    own_ = Malloc();
    for (int turn = 0; turn < kTurns; ++turn) {
      Block& block = Take();
      Order(&block);
      Use(&block);
      HandOn(&block);
      block.is_held = false;
    }
    Synchronize(stream_);
    Free(own_);
  }
  aclrtStream stream() const { return stream_; }

 private:
  int Pick(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  Block& Take() {
    while (true) {
      Block& block = *blocks_[static_cast<size_t>(Pick(kBlocks))];
      if (!block.is_held.exchange(true)) return block;
      std::this_thread::yield();
    }
  }

  void Order(Block* block) {
    Baton& baton = *block->batons.back();
    switch (baton.behind) {
      case Behind::kNothing:
        break;
      case Behind::kEventOnStream:
        Wait(stream_, baton.event);
        if (Pick(3) == 0) Synchronize(stream_);
        break;
      case Behind::kEventOnHost:
        ROLE_CHECK(aclrtSynchronizeEvent(baton.event) == ACL_SUCCESS);
        break;
      case Behind::kFlag:
        baton.flag.Await();
        break;
      case Behind::kNotify:
        ROLE_CHECK(aclrtWaitAndResetNotify(baton.notify, stream_, 0) == ACL_SUCCESS);
        break;
      case Behind::kValue:
        ROLE_CHECK(aclrtValueWait(baton.value, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_) == ACL_SUCCESS);
        break;
    }
    // What a stream waits for, the host has not waited for.
    knows_host_ =
        baton.behind == Behind::kNothing || baton.behind == Behind::kEventOnHost || baton.behind == Behind::kFlag;
  }

  void Use(Block* block) {
    if (knows_host_ && Pick(4) == 0) {
      Release(*block);
      Allocate(block);
    }
    if (knows_host_ && Pick(3) == 0) {
      const bool in = Pick(2) == 0;
      Copy(in, block, nullptr);
    }
    for (int i = Pick(3); i >= 0; --i) {
      if (!block->pinned && Pick(2) == 0) {
        Set(block->address, stream_);
      } else {
        Copy(Pick(2) == 0, block, stream_);
      }
    }
  }

  // Without a stream by the host, which first waits for our stream: our own memory is in use there.
  void Copy(bool in, Block* block, aclrtStream stream) {
    void* const to = in ? block->address : own_;
    void* const from = in ? own_ : block->address;
    const aclrtMemcpyKind kind =
        !block->pinned ? ACL_MEMCPY_DEVICE_TO_DEVICE : (in ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_DEVICE);
    if (stream == nullptr) {
      Synchronize(stream_);
      ROLE_CHECK(aclrtMemcpy(to, kBytes, from, kBytes, kind) == ACL_SUCCESS);
    } else {
      ROLE_CHECK(aclrtMemcpyAsync(to, kBytes, from, kBytes, kind, stream) == ACL_SUCCESS);
    }
  }

  void HandOn(Block* block) {
    Baton& baton = *block->batons.emplace_back(MakeBaton());
    if (IsWrong() && Pick(4) == 0) return;
    switch (Pick(6)) {
      case 0:
        Synchronize(stream_);
        break;
      case 1:
      case 2:
        Record(baton.event, stream_);
        baton.behind = Pick(2) == 0 ? Behind::kEventOnStream : Behind::kEventOnHost;
        break;
      case 3:
        ROLE_CHECK(aclrtLaunchHostFunc(
                       stream_, [](void* flag) { static_cast<Flag*>(flag)->Raise(); }, &baton.flag) == ACL_SUCCESS);
        baton.behind = Behind::kFlag;
        break;
      case 4:
        ROLE_CHECK(aclrtRecordNotify(baton.notify, stream_) == ACL_SUCCESS);
        baton.behind = Behind::kNotify;
        break;
      default:
        ROLE_CHECK(aclrtValueWrite(baton.value, 1, 0, stream_) == ACL_SUCCESS);
        baton.behind = Behind::kValue;
    }
  }

  std::mt19937 random_;
  std::vector<std::unique_ptr<Block>>& blocks_;
  aclrtStream stream_ = nullptr;
  void* own_ = nullptr;
  bool knows_host_ = true;
};

MP_ROLE(RandomRelay) {
  ROLE_INIT();
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  const uint32_t seed = NumberIn("RULES_RANDOM", 0);
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < kBlocks; ++i) {
    Block& block = *blocks.emplace_back(std::make_unique<Block>());
    block.pinned = i >= kBlocks - 2;
    Allocate(&block);
    block.batons.push_back(MakeBaton());
  }
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 2 + seed % 3; ++t) {
    Runner& runner = *runners.emplace_back(std::make_unique<Runner>(seed * 8 + t, &blocks));
    threads.emplace_back([&runner, context] { runner.Run(context); });
  }
  for (std::thread& thread : threads) thread.join();
  Synchronize();
  for (const auto& block : blocks) {
    Release(*block);
    for (const auto& baton : block->batons) Destroy(*baton);
  }
  for (const auto& runner : runners) ROLE_CHECK(aclrtDestroyStream(runner->stream()) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

// Addresses go from one thread to the next at once: whoever frees is told of before whoever gets the place.
MP_ROLE(Churn) {
  ROLE_INIT();
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([context] {
      ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
      void* const own = Malloc();
      for (int i = 0; i < 9'000; ++i) {
        Block block;
        block.pinned = i % 2 == 0;
        Allocate(&block);
        const aclrtMemcpyKind kind = block.pinned ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_DEVICE;
        ROLE_CHECK(aclrtMemcpyAsync(own, kBytes, block.address, kBytes, kind, stream) == ACL_SUCCESS);
        Synchronize(stream);
        Release(block);
      }
      Free(own);
      ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

TEST(Rules, ThreadsThatGetEachOthersAddressesEarnNothing) {
  const Checked checked = Check("Churn", false, {});
  for (const auto& [rule, times] : checked.rules) {
    EXPECT_EQ(rule, "MP505") << checked.result.output;  // advice: that many calls from one place are slow
  }
  EXPECT_EQ(checked.result.exit_code, 0) << checked.result.output;
}

TEST(Rules, ThreadsThatHandBlocksOnEarnOnlyWhatTheyLeaveOut) {
  const uint32_t first = FirstProgram();
  const uint32_t count = ProgramCount();
  uint32_t caught = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    for (const bool wrong : {false, true}) {
      const Checked checked = Check("RandomRelay", wrong, {{"RULES_RANDOM", std::to_string(seed)}});
      for (const auto& [rule, times] : checked.rules) {
        EXPECT_TRUE(wrong && kOfOrder.contains(rule))
            << rule << " in program " << seed << ": " << checked.result.output;
      }
      EXPECT_EQ(checked.result.exit_code, checked.rules.empty() ? 0 : 66)
          << "program " << seed << ": " << checked.result.output;
      caught += checked.rules.empty() ? 0 : 1;
    }
  }
  std::printf("%u of %u programs that leave orders out are told\n", caught, count);
  if (count >= 40) {
    EXPECT_GT(caught, count / 3) << "too few mistakes are found";
  }
}

}  // namespace

MP_TEST_MAIN()
