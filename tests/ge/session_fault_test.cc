// SPDX-License-Identifier: Apache-2.0
// Allocators that fail: the nth request for every n, and callbacks that throw or lie. Each time: the documented
// status, no leak, and a session that still works.
#include <stdexcept>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class SessionFaultTest : public SessionTest {
 protected:
  // Compile, load and two runs on a session of its own.
  ge::Status Everything(ge::Session& session, std::vector<ge::Tensor>* outputs) {
    if (const ge::Status status = session.CompileGraph(1); status != ge::SUCCESS) return status;
    std::vector<ge::Tensor> first;
    const ge::Status status = session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, first);
    if (status != ge::SUCCESS) {
      EXPECT_TRUE(first.empty()) << "a failed run leaves the outputs alone";
      return status;
    }
    return session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, *outputs);
  }
  void ExpectRuns(ge::Session* session) {
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(session->RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, outputs));
    Synchronize();
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
  }
  template <class Session>
  void ExpectNothingLeft(Session& session, const CountingAllocator& allocator, int request) {
    GE_OK(session.RemoveGraph(1));
    EXPECT_EQ(allocator.live, 0) << "request " << request;
    GE_OK(session.UnregisterExternalAllocator(stream_));
  }
};

TEST_F(SessionFaultTest, EveryRequestMayFail) {
  for (const bool dynamic : {false, true}) {
    for (const char* refreshable : {"0", "1"}) {
      const size_t before = FreeMemory();
      int failures = 0;
      for (int n = 1; n < 100; ++n) {
        ge::Session session(Options{});
        GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("dynamic") : TwoOutputs("static"),
                                       Options{{"ge.featureBaseRefreshable", refreshable}}));
        auto allocator = std::make_shared<CountingAllocator>();
        GE_OK(session.RegisterExternalAllocator(stream_, allocator));
        allocator->fail_at = n;
        std::vector<ge::Tensor> outputs;
        const ge::Status status = Everything(session, &outputs);
        const bool reached = allocator->mallocs >= n;
        if (!reached) {
          GE_OK(status);
          Synchronize();
          break;
        }
        // A request for nothing may be answered with nothing.
        if (allocator->requests[static_cast<size_t>(n) - 1] > 0) {
          GE_FAILS(ge::FAILED, status);
          EXPECT_NE(ErrorMessage().find("returned null"), std::string::npos);
          ++failures;
        }
        outputs.clear();
        GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, outputs));
        Synchronize();
        EXPECT_EQ(Read(outputs[0].GetData()), Products()) << "request " << n;
        outputs.clear();
        ExpectNothingLeft(session, *allocator, n);
      }
      EXPECT_GE(failures, 4);
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
      EXPECT_EQ(FreeMemory(), before);
    }
  }
}

// The same through the other door: load and two executions of a GeSession, with gert tensors.
TEST_F(SessionFaultTest, EveryRequestOfTheSecondGenerationMayFail) {
  for (const bool dynamic : {false, true}) {
    const size_t before = FreeMemory();
    int failures = 0;
    bool reached = true;
    for (int n = 1; reached; ++n) {
      ge::GeSession session(Options{});
      GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("dynamic") : TwoOutputs("static"),
                                     Options{{"ge.featureBaseRefreshable", "1"}}));
      auto allocator = std::make_shared<CountingAllocator>();
      GE_OK(session.RegisterExternalAllocator(stream_, allocator));
      allocator->fail_at = n;
      std::vector<gert::Tensor> outputs;
      ge::Status status = session.LoadGraph(1, {}, stream_);
      for (int run = 0; run < 2 && status == ge::SUCCESS; ++run) {
        outputs.clear();
        status = session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs);
        EXPECT_TRUE(status == ge::SUCCESS || outputs.empty());
      }
      reached = allocator->mallocs >= n;
      if (reached && allocator->requests[static_cast<size_t>(n) - 1] > 0) {
        GE_FAILS(ge::FAILED, status);
        EXPECT_NE(ErrorMessage().find("returned null"), std::string::npos);
        ++failures;
      } else {
        GE_OK(status);
      }
      allocator->fail_at = 0;
      GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
      Synchronize();
      EXPECT_EQ(Read(outputs[0].GetAddr()), Products()) << "request " << n;
      outputs.clear();
      ExpectNothingLeft(session, *allocator, n);
    }
    EXPECT_GE(failures, 4);
    EXPECT_EQ(FreeMemory(), before);
  }
}

// Built-in memory: the device gets full at every point of compile, load and run in turn. All but a little is taken, and
// each round leaves a little more.
TEST_F(SessionFaultTest, TheDeviceMayBeFullAtEveryPoint) {
  std::vector<void*> large;
  for (size_t piece = size_t{1} << 36; piece >= 512; piece /= 2) {
    void* block = nullptr;
    while (aclrtMalloc(&block, piece, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS) large.push_back(block);
  }
  for (const bool dynamic : {false, true}) {
    int failures = 0;
    bool done = false;
    for (int round = 0; round < 200 && !done; ++round) {
      const size_t before = FreeMemory();
      {
        ge::Session session(Options{});
        GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("full") : TwoOutputs("full")));
        std::vector<ge::Tensor> outputs;
        const ge::Status status = Everything(session, &outputs);
        done = status == ge::SUCCESS;
        if (done) {
          Synchronize();
          EXPECT_EQ(Read(outputs[0].GetData()), Products());
        } else {
          GE_FAILS(ge::FAILED, status);
          EXPECT_FALSE(ErrorMessage().empty());
          ++failures;
        }
      }
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
      EXPECT_EQ(FreeMemory(), before) << "round " << round;
      if (done) break;
      ASSERT_FALSE(large.empty());
      ASSERT_EQ(aclrtFree(large.back()), ACL_SUCCESS);
      large.pop_back();
    }
    EXPECT_TRUE(done);
    EXPECT_GT(failures, 0);
    void* block = nullptr;  // full again for the next
    while (aclrtMalloc(&block, 512, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS) large.push_back(block);
  }
  for (void* block : large) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
}

// An allocator whose results the test sets.
class LyingAllocator : public ge::Allocator {
 public:
  explicit LyingAllocator(std::function<ge::MemBlock*(LyingAllocator&, size_t)> answer) : answer_(std::move(answer)) {}
  ge::MemBlock* Malloc(size_t size) override { return answer_(*this, size); }
  void Free(ge::MemBlock* block) override {
    ++frees;
    delete block;
  }
  int frees = 0;

 private:
  const std::function<ge::MemBlock*(LyingAllocator&, size_t)> answer_;
};

TEST_F(SessionFaultTest, CallbacksThatThrowOrLieAreNamed) {
  DeviceMemory memory(size_t{1} << 20);
  int on_host = 0;
  struct Lie {
    const char* said;
    std::function<ge::MemBlock*(LyingAllocator&, size_t)> answer;
  };
  const Lie lies[] = {
      {"threw: no memory today",
       [](LyingAllocator&, size_t) -> ge::MemBlock* { throw std::runtime_error("no memory today"); }},
      {"threw", [](LyingAllocator&, size_t) -> ge::MemBlock* { throw 7; }},
      {"returned null", [](LyingAllocator&, size_t) -> ge::MemBlock* { return nullptr; }},
      {"returned null", [](LyingAllocator& self, size_t size) { return new ge::MemBlock(self, nullptr, size); }},
      {"not a multiple of 32",
       [&](LyingAllocator& self, size_t size) {
         return new ge::MemBlock(self, static_cast<char*>(memory.data()) + 8, size);
       }},
      {"overlaps a block still in use",
       [&](LyingAllocator& self, size_t size) { return new ge::MemBlock(self, memory.data(), size); }},
      {"host memory",
       [&](LyingAllocator& self, size_t size) {
         return new ge::MemBlock(self, reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(&on_host) & ~uintptr_t{31}),
                                 size);
       }},
  };
  for (const bool dynamic : {false, true}) {
    for (const Lie& lie : lies) {
      ge::Session session(Options{});
      GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("dynamic") : TwoOutputs("static")));
      auto liar = std::make_shared<LyingAllocator>(lie.answer);
      GE_OK(session.RegisterExternalAllocator(stream_, liar));
      std::vector<ge::Tensor> outputs;
      GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, outputs));
      const std::string text = ErrorMessage();
      EXPECT_NE(text.find(lie.said), std::string::npos) << text;
      GE_OK(session.UnregisterExternalAllocator(stream_));
      ExpectRuns(&session);
    }
  }
}

TEST_F(SessionFaultTest, ACallbackMaySynchroniseTheStream) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("reentrant")));
  auto allocator = std::make_shared<CountingAllocator>();
  allocator->on_malloc = [this] { EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS); };
  GE_OK(session.RegisterExternalAllocator(stream_, allocator));
  ExpectRuns(&session);
}

TEST_F(SessionFaultTest, ACallbackThatLoadsItsOwnGraphIsRefused) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("reentrant")));
  GE_REQUIRE_OK(session.CompileGraph(1));
  auto allocator = std::make_shared<CountingAllocator>();
  int refused = 0;
  allocator->on_malloc = [&] { refused += session.LoadGraph(1, {}, stream_) == ge::FAILED ? 1 : 0; };
  GE_OK(session.RegisterExternalAllocator(stream_, allocator));
  GE_REQUIRE_OK(session.LoadGraph(1, {}, stream_));
  EXPECT_EQ(refused, 2);
  EXPECT_NE(ErrorMessage().find("callback"), std::string::npos);
}

TEST_F(SessionFaultTest, AnAllocatorMayBeUnregisteredFromItsOwnCallback) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("unregistered")));
  auto allocator = std::make_shared<CountingAllocator>();
  allocator->on_malloc = [&] { GE_OK(session.UnregisterExternalAllocator(stream_)); };
  GE_OK(session.RegisterExternalAllocator(stream_, allocator));
  ExpectRuns(&session);
}

TEST_F(SessionFaultTest, AFullDeviceIsReportedByTheCall) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("full")));
  // All but a little, in pieces that get smaller.
  std::vector<void*> taken;
  for (size_t piece = size_t{1} << 36; piece >= 512; piece /= 2) {
    void* block = nullptr;
    while (aclrtMalloc(&block, piece, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS) taken.push_back(block);
  }
  ErrorMessage();
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, outputs));
  EXPECT_FALSE(ErrorMessage().empty());
  for (void* block : taken) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  GE_OK(session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, outputs));
  Synchronize();
}

}  // namespace
