// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out: the nth request of the calling thread fails, for every n, in each call from AddGraph to
// the run. The call fails with its documented status or manages without; nothing is lost; the session goes on.
//
// This program's operator new serves the libraries too, and throws when it is told to.
#include <cstdlib>
#include <new>
#include <utility>

#include "session_fixture.h"

namespace {

thread_local int64_t requests_left = -1;  // below 0: nothing fails
thread_local bool fired = false;

void* Allocate(size_t size, size_t alignment) noexcept {
  if (requests_left >= 0 && --requests_left < 0) {
    fired = true;
    return nullptr;
  }
  const size_t bytes = size == 0 ? 1 : size;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr size_t kPlain = alignof(std::max_align_t);

}  // namespace

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // the pair is right: both are below
void* operator new(size_t size) { return AllocateOrThrow(size, kPlain); }
void* operator new[](size_t size) { return AllocateOrThrow(size, kPlain); }
void* operator new(size_t size, std::align_val_t align) { return AllocateOrThrow(size, static_cast<size_t>(align)); }
void* operator new[](size_t size, std::align_val_t align) { return AllocateOrThrow(size, static_cast<size_t>(align)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kPlain); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kPlain); }
void* operator new(size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return Allocate(size, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using namespace ge_test;  // NOLINT

// What a client's callback needs itself is not the library's request.
class SparedAllocator : public CountingAllocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    const int64_t left = std::exchange(requests_left, -1);
    ge::MemBlock* const block = CountingAllocator::Malloc(size);
    requests_left = left;
    return block;
  }
  void Free(ge::MemBlock* block) override {
    const int64_t left = std::exchange(requests_left, -1);
    CountingAllocator::Free(block);
    requests_left = left;
  }
};

class SessionHostFaultTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    input_ = std::make_unique<DeviceMemory>(Counting());
    inputs_ = {DeviceTensor(input_->data())};
  }
  void TearDown() override {
    inputs_.clear();
    input_.reset();
    SessionTest::TearDown();
  }

  // `call` with its nth request failing. False: it made fewer.
  template <class Call>
  bool FailNth(int64_t nth, const Call& call, ge::Status* out_status) {
    fired = false;
    requests_left = nth - 1;
    *out_status = call();
    requests_left = -1;
    return fired;
  }

  // Fails every request of `call` in turn, each on a session of its own that `before` prepares; `after` must then
  // succeed as if nothing had been.
  template <class Before, class Call, class After>
  void FailEach(const char* what, const Before& before, const Call& call, const After& after) {
    const size_t free_before = FreeMemory();
    int64_t failures = 0;
    int64_t nth = 1;
    for (bool reached = true; reached; ++nth) {
      {
        ge::Session session(Options{});
        before(session);
        ge::Status status = 0;
        reached = FailNth(
            nth, [&] { return call(session); }, &status);
        if (!reached) GE_OK(status);
        if (status != ge::SUCCESS) {
          ++failures;
          EXPECT_TRUE(status == ge::FAILED || status == kParamInvalid) << what << " " << nth << ": " << status;
        }
        after(session, status);
        if (::testing::Test::HasFailure()) FAIL() << what << ": request " << nth;
      }
      ErrorMessage();
    }
    EXPECT_GT(failures, 0) << what << ": no failure was ever told";
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_EQ(FreeMemory(), free_before) << what;
    std::printf("%s: %lld requests, %lld told\n", what, static_cast<long long>(nth - 2),
                static_cast<long long>(failures));
  }

  ge::Status Run(ge::Session& session, std::vector<ge::Tensor>* outputs) {
    return session.RunGraphWithStreamAsync(1, stream_, inputs_, *outputs);
  }
  void ExpectRuns(ge::Session& session) {
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(session, &outputs));
    Synchronize();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
  }

  std::unique_ptr<DeviceMemory> input_;
  std::vector<ge::Tensor> inputs_;
};

ge::Graph Make(bool dynamic) { return dynamic ? Dynamic("dynamic") : TwoOutputs("static"); }

TEST_F(SessionHostFaultTest, EveryRequestOfAddGraphMayFail) {
  const ge::Graph graph = Make(false);
  const Options options = {{"ge.featureBaseRefreshable", "1"}};  // what the call is given is there before
  FailEach(
      "AddGraph", [](ge::Session&) {},
      [&](ge::Session& session) { return session.AddGraphWithCopy(1, graph, options); },
      [&](ge::Session& session, ge::Status status) {
        if (status != ge::SUCCESS) GE_OK(session.AddGraphWithCopy(1, graph));
        ExpectRuns(session);
      });
}

TEST_F(SessionHostFaultTest, EveryRequestOfCompileGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach(
        dynamic ? "CompileGraph, dynamic" : "CompileGraph, static",
        [&](ge::Session& session) { GE_OK(session.AddGraph(1, Make(dynamic))); },
        [](ge::Session& session) { return session.CompileGraph(1); },
        [&](ge::Session& session, ge::Status) { ExpectRuns(session); });
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfLoadGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach(
        dynamic ? "LoadGraph, dynamic" : "LoadGraph, static",
        [&](ge::Session& session) {
          GE_OK(session.AddGraph(1, Make(dynamic)));
          GE_OK(session.CompileGraph(1));
        },
        [&](ge::Session& session) { return session.LoadGraph(1, {}, stream_); },
        [&](ge::Session& session, ge::Status) { ExpectRuns(session); });
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfARunMayFail) {
  for (const bool dynamic : {false, true}) {
    for (const bool external : {false, true}) {
      std::shared_ptr<SparedAllocator> allocator;
      std::vector<ge::Tensor> outputs;
      FailEach(
          dynamic ? "run, dynamic" : "run, static",
          [&](ge::Session& session) {
            GE_OK(session.AddGraph(1, Make(dynamic), Options{{"ge.featureBaseRefreshable", "1"}}));
            GE_OK(session.CompileGraph(1));
            GE_OK(session.LoadGraph(1, {}, stream_));
            if (!external) return;
            allocator = std::make_shared<SparedAllocator>();
            GE_OK(session.RegisterExternalAllocator(stream_, allocator));
          },
          [&](ge::Session& session) { return Run(session, &outputs); },
          [&](ge::Session& session, ge::Status status) {
            EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << ErrorMessage();
            if (status == ge::SUCCESS && outputs.size() == 2) {
              EXPECT_EQ(Read(outputs[0].GetData()), Products());
            }
            outputs.clear();
            ExpectRuns(session);
            if (external) GE_OK(session.UnregisterExternalAllocator(stream_));
            allocator.reset();
          });
    }
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfAHostRunMayFail) {
  for (const bool dynamic : {false, true}) {
    const std::vector<ge::Tensor> host = {HostTensor(Counting())};
    std::vector<ge::Tensor> outputs;
    FailEach(
        dynamic ? "RunGraph, dynamic" : "RunGraph, static",
        [&](ge::Session& session) {
          GE_OK(session.AddGraph(1, Make(dynamic)));
          std::vector<ge::Tensor> warm;
          GE_OK(session.RunGraph(1, host, warm));
        },
        [&](ge::Session& session) { return session.RunGraph(1, host, outputs); },
        [&](ge::Session& session, ge::Status) {
          GE_OK(session.RunGraph(1, host, outputs));
          ASSERT_EQ(outputs.size(), 2U);
          EXPECT_EQ(Floats(outputs[0]), Products());
        });
  }
}

}  // namespace
