// SPDX-License-Identifier: Apache-2.0
// Which calls an allocator registered for a stream gets from a single operator, in which order, and what becomes of its
// mistakes (docs/acl_allocator.md, page "aclrtAllocatorRegister", docs/compat.md, "Allocator descriptors").
#include <stdexcept>

#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

class OpAllocatorTest : public OpTest {
 protected:
  void SetUp() override {
    OpTest::SetUp();
    bank_ = std::make_unique<Bank>();
    ACL_REQUIRE_OK(bank_->RegisterFor(stream_));
  }
  void TearDown() override {
    ACL_OK(aclrtAllocatorUnregister(stream_));
    ACL_OK(Synchronize());
    bank_.reset();
    OpTest::TearDown();
  }
  // Add with an output that has no memory.
  aclError AddWithoutOutput(Operand* y) {
    const DeviceValues a(Floats{1, 2}), b(Floats{10, 20});
    const Operand x1(a, {2}), x2(b, {2});
    const aclError code = Execute("Add", {&x1, &x2}, {y});
    ACL_OK(Synchronize());
    return code;
  }
  void ExpectRefused(aclError code, const char* part) {
    Operand y(nullptr, 0, {2});
    RecentMessage();
    EXPECT_EQ(AddWithoutOutput(&y), code);
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find("outputs[0]"), std::string::npos) << message;
    EXPECT_EQ(y.address(), nullptr) << "a failed execution changes no buffer";
  }
  // Two inputs that stand on the host, and an output that the allocator gives.
  void ExpectAddRefused(const char* part) {
    Floats host = {5, 6};
    const Operand x(host.data(), 8, {2});
    x.OnHost();
    Operand y(nullptr, 0, {2});
    EXPECT_EQ(Execute("Add", {&x, &x}, {&y}), ACL_ERROR_INVALID_PARAM);
    EXPECT_NE(RecentMessage().find(part), std::string::npos);
    EXPECT_EQ(y.address(), nullptr);
  }
  // The next execution is unaffected.
  void ExpectWorks() {
    bank_->instead = nullptr;
    Operand y(nullptr, 0, {2});
    ACL_OK(AddWithoutOutput(&y));
    EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{11, 22}));
    EXPECT_TRUE(bank_->GiveBack(y.address()));
  }
  std::unique_ptr<Bank> bank_;
};

TEST_F(OpAllocatorTest, AnOperatorWithAllItsMemoryMakesNoRequest) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), y(c, {2});
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  ACL_OK(Synchronize());
  EXPECT_EQ(bank_->TakeLog(), "");
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{2, 4}));
}

TEST_F(OpAllocatorTest, AnOutputWithoutMemoryIsOneBlockThatTheClientKeeps) {
  Operand y(nullptr, 0, {2});
  ACL_OK(AddWithoutOutput(&y));
  EXPECT_EQ(bank_->TakeLog(), "alloc 64") << "8 bytes, rounded up to 32, and 32 more";
  ASSERT_NE(y.address(), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(y.buffer()), 8U);
  EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{11, 22}));
  EXPECT_EQ(bank_->live(), 1U);
  EXPECT_TRUE(bank_->GiveBack(y.address()));
}

TEST_F(OpAllocatorTest, AnInputOnTheHostBorrowsABlockUntilTheLaunch) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  Floats host = {5, 6};
  const Operand x1(a, {2}), x2(host.data(), 8, {2}), y(c, {2});
  x2.OnHost();
  ACL_OK(Execute("Add", {&x1, &x2}, {&y}));
  host = {0, 0};  // taken by the call
  EXPECT_EQ(bank_->TakeLog(), "alloc 64, free");
  EXPECT_EQ(bank_->live(), 0U);
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{6, 8}));
}

TEST_F(OpAllocatorTest, InputsComeBeforeOutputsAndAreFreedInOrder) {
  Floats host = {5, 6};
  float constant[] = {1, 1};
  const Operand x1(host.data(), 8, {2}), x2(nullptr, 0, {2});
  x1.OnHost();
  ACL_OK(aclSetTensorConst(x2.desc(), constant, sizeof constant));
  Operand y(nullptr, 0, {-1});
  ACL_OK(Execute("Add", {&x1, &x2}, {&y}));
  EXPECT_EQ(bank_->TakeLog(), "alloc 64, alloc 64, alloc 64, free, free");
  EXPECT_EQ(y.shape(), (Shape{2}));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{6, 7}));
  EXPECT_TRUE(bank_->GiveBack(y.address()));
  EXPECT_EQ(bank_->live(), 0U);
}

TEST_F(OpAllocatorTest, AHandleMakesTheSameRequestsAsADescription) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  Operand y(nullptr, 0, {2});
  Call call({&x, &x}, {&y});
  aclopHandle* handle = nullptr;
  ACL_REQUIRE_OK(aclopCreateHandle("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, &handle));
  EXPECT_EQ(bank_->TakeLog(), "");
  for (int i = 0; i < 2; ++i) {
    ACL_OK(aclUpdateDataBuffer(y.buffer(), nullptr, 0));
    ACL_OK(aclopExecWithHandle(handle, 2, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
    EXPECT_EQ(bank_->TakeLog(), "alloc 64");
    ACL_OK(Synchronize());
    EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{2, 4}));
    EXPECT_TRUE(bank_->GiveBack(y.address()));
  }
  aclopDestroyHandle(handle);
}

TEST_F(OpAllocatorTest, CompileAndExecuteCallsTheAllocatorToo) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  for (const bool second : {false, true}) {
    Operand y(nullptr, 0, {2});
    Call call({&x, &x}, {&y});
    if (second) {
      ACL_OK(aclopCompileAndExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                                      call.out_buffers.data(), nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr,
                                      stream_));
    } else {
      ACL_OK(aclopCompileAndExecute("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                                    call.out_buffers.data(), nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr,
                                    stream_));
    }
    EXPECT_EQ(bank_->TakeLog(), "alloc 64");
    ACL_OK(Synchronize());
    EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{2, 4}));
    EXPECT_TRUE(bank_->GiveBack(y.address()));
  }
}

TEST_F(OpAllocatorTest, AShapeKnownOnlyAfterwardsGetsABlockForTheLargest) {
  const DeviceValues a(Floats{1, 5, 3, 7}), m(std::vector<uint8_t>{0, 1, 0, 1});
  const Operand x(a, {4}), mask(m, {4}, ACL_BOOL);
  Operand y(nullptr, 0, {-1});
  ACL_OK(Execute("MaskedSelect", {&x, &mask}, {&y}));
  EXPECT_EQ(bank_->TakeLog(), "alloc 64");
  EXPECT_EQ(y.shape(), (Shape{2}));
  EXPECT_EQ(aclGetDataBufferSizeV2(y.buffer()), 16U);
  EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{5, 7})) << "the call has waited";
  EXPECT_TRUE(bank_->GiveBack(y.address()));
}

TEST_F(OpAllocatorTest, AnInvalidCallMakesNoRequest) {
  const DeviceValues a(Floats{1, 2}), b(Floats{1, 2, 3});
  const Operand x1(a, {2}), x2(b, {3});
  Operand y(nullptr, 0, {2});
  EXPECT_NE(Execute("Add", {&x1, &x2}, {&y}), ACL_SUCCESS);
  EXPECT_NE(Execute("Add", {&x1}, {&y}), ACL_SUCCESS);
  EXPECT_EQ(bank_->TakeLog(), "");
}

TEST_F(OpAllocatorTest, ANullAddressWithASizeIsAMistakeAndNotARequest) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  Operand y(nullptr, 8, {2});
  EXPECT_EQ(Execute("Add", {&x, &x}, {&y}), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(RecentMessage().find("NULL"), std::string::npos);
  EXPECT_EQ(bank_->TakeLog(), "");
}

TEST_F(OpAllocatorTest, WithoutAnAllocatorTheClientFreesTheOutputByAclrtFree) {
  ACL_OK(aclrtAllocatorUnregister(stream_));
  Operand y(nullptr, 0, {2});
  Floats host = {5, 6};
  const Operand x(host.data(), 8, {2});
  x.OnHost();
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{10, 12}));
  ACL_OK(aclrtFree(y.address()));
  EXPECT_EQ(bank_->TakeLog(), "");
}

// Page "aclrtAllocatorRegister": "the last registration is used". The reference keeps what the first execution found
// (docs/compat.md).
TEST_F(OpAllocatorTest, TheLastRegistrationCountsAtEachExecution) {
  Operand y(nullptr, 0, {2});
  ACL_OK(aclrtAllocatorUnregister(stream_));
  ACL_OK(AddWithoutOutput(&y));  // none registered: built in
  ACL_OK(aclrtFree(y.address()));
  Bank other;
  for (Bank* bank : {bank_.get(), &other, bank_.get()}) {
    ACL_OK(bank->RegisterFor(stream_));
    ACL_OK(aclUpdateDataBuffer(y.buffer(), nullptr, 0));
    ACL_OK(AddWithoutOutput(&y));
    EXPECT_EQ(bank->TakeLog(), "alloc 64");
    EXPECT_TRUE(bank->GiveBack(y.address()));
  }
  EXPECT_EQ(bank_->TakeLog() + other.TakeLog(), "");
}

TEST_F(OpAllocatorTest, AnotherStreamsAllocatorIsNotCalled) {
  const aclrtStream mine = std::exchange(stream_, NewStream());
  Operand y(nullptr, 0, {2});
  ACL_OK(AddWithoutOutput(&y));
  ACL_OK(aclrtFree(y.address()));
  EXPECT_EQ(bank_->TakeLog(), "");
  stream_ = mine;
}

TEST_F(OpAllocatorTest, TheDefaultStreamIsReachedByItsHandle) {
  aclrtStream handle = nullptr;
  ACL_REQUIRE_OK(aclrtCtxGetCurrentDefaultStream(&handle));
  ACL_REQUIRE_OK(bank_->RegisterFor(handle));
  const aclrtStream mine = std::exchange(stream_, nullptr);
  Operand y(nullptr, 0, {2});
  ACL_OK(AddWithoutOutput(&y));
  EXPECT_EQ(bank_->TakeLog(), "alloc 64");
  ACL_OK(aclrtAllocatorUnregister(handle));
  stream_ = mine;
}

TEST_F(OpAllocatorTest, NullMeansOutOfMemory) {
  bank_->instead = [](size_t) -> void* { return nullptr; };
  ExpectRefused(207001, "returned null for 64 bytes");
  EXPECT_EQ(bank_->frees, 0);
  ExpectWorks();
}

TEST_F(OpAllocatorTest, AThrowIsNamed) {
  bank_->instead = [](size_t) -> void* { throw std::runtime_error("out of luck"); };
  ExpectRefused(ACL_ERROR_INVALID_PARAM, "alloc function (aclrtAllocatorSetAllocFuncToDesc) threw: out of luck");
  bank_->instead = [](size_t) -> void* { throw 7; };
  ExpectRefused(ACL_ERROR_INVALID_PARAM, "alloc function (aclrtAllocatorSetAllocFuncToDesc) threw");
  ExpectWorks();
}

TEST_F(OpAllocatorTest, AMisalignedBlockIsNamedAndFreed) {
  const DeviceValues memory(Floats(64));
  bank_->instead = [&](size_t size) { return bank_->NewBlockAt(static_cast<char*>(memory.address()) + 4, size); };
  ExpectRefused(ACL_ERROR_INVALID_PARAM, "not a multiple of 64");
  EXPECT_EQ(bank_->frees, 1);
  ExpectWorks();
}

TEST_F(OpAllocatorTest, AHostBlockIsNamedAndFreed) {
  alignas(64) char memory[256];
  bank_->instead = [&](size_t size) { return bank_->NewBlockAt(memory, size); };
  ExpectRefused(ACL_ERROR_INVALID_PARAM, "ordinary host memory");
  EXPECT_EQ(bank_->frees, 1);
  ExpectWorks();
}

TEST_F(OpAllocatorTest, ABlockThatIsTooSmallIsNamedAndFreed) {
  const DeviceValues memory(std::vector<uint8_t>(512));
  bank_->instead = [&](size_t size) {
    return bank_->NewBlockAt(static_cast<char*>(memory.address()) + 512 - 64 + 64, size);
  };
  ExpectRefused(ACL_ERROR_INVALID_PARAM, "is unusable");
  EXPECT_EQ(bank_->frees, 1);
  ExpectWorks();
}

TEST_F(OpAllocatorTest, ABlockReturnedTwiceIsNamed) {
  const DeviceValues memory(std::vector<uint8_t>(4096));
  bank_->instead = [&](size_t size) { return bank_->NewBlockAt(memory.address(), size); };
  ExpectAddRefused("overlaps a block still in use");
  EXPECT_EQ(bank_->allocs, 2);
  EXPECT_EQ(bank_->frees, 2) << "the first block and the refused one";
  ExpectWorks();
}

TEST_F(OpAllocatorTest, AFreeThatThrowsFailsThatExecutionOnly) {
  bank_->at_free = [] { throw std::runtime_error("not mine"); };
  ExpectAddRefused("free function (aclrtAllocatorSetFreeFuncToDesc) threw: not mine");
  ACL_OK(Synchronize());
  bank_->at_free = nullptr;
  ExpectWorks();
}

// Habit 14: fail every allocation, one at a time.
TEST_F(OpAllocatorTest, TheNthAllocationFailsForEveryN) {
  Floats host = {5, 6};
  for (int nth = 1;; ++nth) {
    ASSERT_LT(nth, 10);
    const Operand x1(host.data(), 8, {2}), x2(host.data(), 8, {2});
    x1.OnHost();
    x2.OnHost();
    Operand y(nullptr, 0, {-1});
    bank_->fail_nth = nth;
    const aclError code = Execute("Add", {&x1, &x2}, {&y});
    ACL_OK(Synchronize());
    if (bank_->fail_nth > 0) {  // past the last one
      EXPECT_EQ(nth, 4);
      ACL_OK(code);
      EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{10, 12}));
      EXPECT_TRUE(bank_->GiveBack(y.address()));
      break;
    }
    EXPECT_EQ(code, 207001) << nth;
    EXPECT_EQ(bank_->live(), 0U) << "leak when allocation " << nth << " fails";
    EXPECT_EQ(y.address(), nullptr);
    EXPECT_EQ(y.shape(), (Shape{-1})) << "a failed execution tells nothing";
  }
}

// Two streams, one allocator: calls into it follow each other.
TEST_F(OpAllocatorTest, CallsIntoOneAllocatorAreSerialised) {
  constexpr int kThreads = 4, kRounds = 50;
  std::vector<aclrtStream> streams;
  for (int i = 0; i < kThreads; ++i) {
    streams.push_back(NewStream());
    ACL_REQUIRE_OK(bank_->RegisterFor(streams.back()));
  }
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (aclrtStream stream : streams) {
    threads.emplace_back([&good, stream] {
      ACL_OK(aclrtSetDevice(0));
      Floats host = {1, 2};
      const Operand x(host.data(), 8, {2});
      x.OnHost();
      for (int i = 0; i < kRounds; ++i) {
        Operand y(nullptr, 0, {2});
        Call call({&x, &x}, {&y});
        ACL_OK(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                              call.out_buffers.data(), nullptr, stream));
        ACL_OK(aclrtSynchronizeStream(stream));
        if (ReadDevice(y.address(), 2) == Floats{2, 4}) good.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), kThreads * kRounds);
  EXPECT_FALSE(bank_->overlapped);
  EXPECT_EQ(bank_->allocs, kThreads * kRounds * 3);
  EXPECT_EQ(bank_->frees, kThreads * kRounds * 2);
}

TEST_F(OpAllocatorTest, ACallbackMayItselfRunAnOperator) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), inner(c, {2});
  bank_->instead = [&](size_t size) {
    ACL_OK(Execute("Add", {&x, &x}, {&inner}));
    ACL_OK(Synchronize());
    return bank_->NewBlock(size);
  };
  Operand y(nullptr, 0, {2});
  ACL_OK(AddWithoutOutput(&y));
  EXPECT_EQ(ReadDevice(y.address(), 2), (Floats{11, 22}));
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{2, 4}));
}

TEST_F(OpAllocatorTest, DestroyingTheStreamForgetsTheAllocator) {
  const aclrtStream mine = stream_;
  aclrtStream gone = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&gone));
  ACL_REQUIRE_OK(bank_->RegisterFor(gone));
  ACL_REQUIRE_OK(aclrtDestroyStream(gone));
  stream_ = gone;
  Operand y(nullptr, 0, {2});
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  EXPECT_NE(Execute("Add", {&x, &x}, {&y}), ACL_SUCCESS);
  EXPECT_EQ(bank_->TakeLog(), "");
  stream_ = mine;
}

}  // namespace
}  // namespace acl_test
