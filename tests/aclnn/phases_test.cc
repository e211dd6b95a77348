// SPDX-License-Identifier: Apache-2.0
// The two phases: what they check and own, and when things end.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_stack.h"
#include "aclnnop/aclnn_zero.h"
#include "tests/aclnn/aclnn_test.h"

namespace aclnn_test {
namespace {

using acl_test::RecentMessage;
using Values = std::vector<float>;

class PhasesTest : public AclnnTest {
 protected:
  int Prepare(const aclTensor* self, const aclTensor* other, const aclScalar* alpha, aclTensor* out) {
    workspace_ = 77;
    executor_ = nullptr;
    return aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace_, &executor_);
  }
  uint64_t workspace_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

TEST_F(PhasesTest, AddsOnAStream) {
  DeviceFloats a({1, 2, 3}), b({10, 20, 30}), c({0, 0, 0});
  aclTensor *self = Tensor(a.address(), {3}), *other = Tensor(b.address(), {3}), *out = Tensor(c.address(), {3});
  aclScalar* alpha = Scalar(2);
  ACL_REQUIRE_OK(Prepare(self, other, alpha, out));
  EXPECT_EQ(workspace_, 0U);
  // The executor owns copies: the objects may go before the second phase.
  ACL_OK(aclDestroyTensor(self));
  ACL_OK(aclDestroyTensor(other));
  ACL_OK(aclDestroyTensor(out));
  ACL_OK(aclDestroyScalar(alpha));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{21, 42, 63}));
}

TEST_F(PhasesTest, ViewsHaveOffsetAndStrides) {
  DeviceFloats a({0, 1, 2, 3, 4, 5}), c({9, 9, 9, 9});
  aclTensor* self = Tensor(a.address(), {2, 2}, ACL_FLOAT, {1, 3}, 1);  // [[1, 4], [2, 5]]
  aclTensor* out = Tensor(c.address(), {2, 2});
  aclScalar* alpha = Scalar(1);
  ACL_REQUIRE_OK(Prepare(self, self, alpha, out));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{2, 8, 4, 10}));
  aclDestroyTensor(self);
  aclDestroyTensor(out);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, NullArgumentsAre161001AndNamed) {
  DeviceFloats a({1});
  aclTensor* t = Tensor(a.address(), {1});
  aclScalar* alpha = Scalar(1);
  ACL_FAILS(kNullPointer, Prepare(nullptr, t, alpha, t));
  EXPECT_NE(RecentMessage().find("self is NULL"), std::string::npos);
  ACL_FAILS(kNullPointer, Prepare(t, t, nullptr, t));
  ACL_FAILS(kNullPointer, Prepare(t, t, alpha, nullptr));
  ACL_FAILS(kNullPointer, aclnnAddGetWorkspaceSize(t, t, alpha, t, nullptr, &executor_));
  ACL_FAILS(kNullPointer, aclnnAddGetWorkspaceSize(t, t, alpha, t, &workspace_, nullptr));
  ACL_FAILS(kInnerNull, aclnnAdd(nullptr, 0, nullptr, stream_));
  aclDestroyTensor(t);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, GarbageAndDeadObjectsAreRefused) {
  DeviceFloats a({1});
  aclTensor* t = Tensor(a.address(), {1});
  aclTensor* dead = Tensor(a.address(), {1});
  ACL_OK(aclDestroyTensor(dead));
  aclScalar* alpha = Scalar(1);
  ACL_FAILS(kInvalidParameter, Prepare(dead, t, alpha, t));
  ACL_FAILS(kInvalidParameter, Prepare(reinterpret_cast<aclTensor*>(0x1234), t, alpha, t));
  ACL_FAILS(kInvalidParameter, Prepare(reinterpret_cast<aclTensor*>(alpha), t, alpha, t));
  ACL_FAILS(kInvalidParameter, aclDestroyTensor(dead));
  ACL_FAILS(kInvalidParameter, aclDestroyScalar(reinterpret_cast<aclScalar*>(t)));
  ACL_OK(aclDestroyTensor(nullptr));
  ACL_FAILS(kInvalidParameter, aclnnAdd(nullptr, 0, reinterpret_cast<aclOpExecutor*>(0x10), stream_));
  aclDestroyTensor(t);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, AnOutputOfTheWrongShapeIs161002) {
  DeviceFloats a({1, 2, 3}), c({0, 0, 0, 0});
  aclTensor *self = Tensor(a.address(), {3}), *out = Tensor(c.address(), {4}), *other = Tensor(a.address(), {2});
  aclScalar* alpha = Scalar(1);
  ACL_FAILS(kInvalidParameter, Prepare(self, self, alpha, out));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("out has shape [4]"), std::string::npos) << message;
  EXPECT_NE(message.find("[3]"), std::string::npos) << message;
  ACL_FAILS(kInvalidParameter, Prepare(self, other, alpha, self));
  EXPECT_NE(RecentMessage().find("broadcast"), std::string::npos);
  for (aclTensor* tensor : {self, out, other}) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, AnExecutorEndsWithItsRunUnlessRepeatable) {
  DeviceFloats a({1, 2}), b({5, 6}), c({0, 0});
  aclTensor *self = Tensor(a.address(), {2}), *other = Tensor(b.address(), {2}), *out = Tensor(c.address(), {2});
  aclScalar* alpha = Scalar(1);
  ACL_REQUIRE_OK(Prepare(self, other, alpha, out));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_FAILS(kInvalidParameter, aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_REQUIRE_OK(Prepare(self, other, alpha, out));
  ACL_OK(aclSetAclOpExecutorRepeatable(executor_));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  // New addresses for later launches; queued ones keep their own.
  DeviceFloats d({100, 200}), e({0, 0});
  ACL_OK(aclSetInputTensorAddr(executor_, 1, other, d.address()));
  ACL_OK(aclSetOutputTensorAddr(executor_, 0, out, e.address()));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{6, 8}));
  EXPECT_EQ(e.Values(), (Values{101, 202}));
  ACL_FAILS(kInvalidParameter, aclSetInputTensorAddr(executor_, 2, other, d.address()));
  ACL_FAILS(kInvalidParameter, aclnnInplaceZero(nullptr, 0, executor_, stream_));  // another operator's executor
  ACL_OK(aclDestroyAclOpExecutor(executor_));
  ACL_FAILS(kInvalidParameter, aclDestroyAclOpExecutor(executor_));
  ACL_FAILS(kInnerNull, aclDestroyAclOpExecutor(nullptr));
  for (aclTensor* tensor : {self, other, out}) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, BadMemoryIsNamedAndFailsThatCallOnly) {
  DeviceFloats a({1, 2}), c({0, 0});
  aclTensor *self = Tensor(a.address(), {2}), *out = Tensor(c.address(), {2});
  aclScalar* alpha = Scalar(1);
  float host[2] = {1, 2};
  void* gone = nullptr;
  ACL_OK(aclrtMalloc(&gone, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_OK(aclrtFree(gone));
  struct Case {
    void* address;
    const char* says;
  };
  const Case cases[] = {{nullptr, "NULL"},
                        {host, "host memory"},
                        {static_cast<char*>(a.address()) + 2, "aligned"},
                        {gone, "tensor other"}};
  for (const Case& bad : cases) {
    aclTensor* other = Tensor(bad.address, {2});
    // A missing address may still be set before the launch; any other is checked immediately.
    const aclnnStatus prepared = Prepare(self, other, alpha, out);
    EXPECT_EQ(prepared == 0, bad.address == nullptr) << bad.says;
    if (prepared == 0) {
      EXPECT_NE(aclnnAdd(nullptr, 0, executor_, stream_), 0) << bad.says;
    }
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(bad.says), std::string::npos) << message;
    EXPECT_NE(message.find("tensor other"), std::string::npos) << message;
    aclDestroyTensor(other);
  }
  // Too long for its block.
  aclTensor* large = Tensor(a.address(), {1 << 20});
  aclTensor* large_out = Tensor(c.address(), {1 << 20});
  EXPECT_NE(Prepare(large, large, alpha, large_out), 0);
  // The stream continues.
  ACL_REQUIRE_OK(Prepare(self, self, alpha, out));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{2, 4}));
  for (aclTensor* tensor : {self, out, large, large_out}) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
}

// torch_npu with an allocator that frees immediately: the block is freed between the phases, and stream order keeps it
// right.
TEST_F(PhasesTest, ABlockMayGoBetweenThePhases) {
  DeviceFloats a({1, 2});
  void* block = nullptr;
  ACL_OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  aclTensor *self = Tensor(a.address(), {2}), *out = Tensor(block, {2});
  aclScalar* alpha = Scalar(1);
  ACL_REQUIRE_OK(Prepare(self, self, alpha, out));
  ACL_OK(aclrtFree(block));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  for (aclTensor* tensor : {self, out}) aclDestroyTensor(tensor);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, AnEmptyTensorNeedsNoMemory) {
  aclTensor* empty = Tensor(nullptr, {0, 3});
  aclScalar* alpha = Scalar(1);
  ACL_REQUIRE_OK(Prepare(empty, empty, alpha, empty));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  aclDestroyTensor(empty);
  aclDestroyScalar(alpha);
}

TEST_F(PhasesTest, ADataDependentShapeIsReportedWhenTheSecondPhaseReturns) {
  DeviceFloats a({1, 2, 3, 4}), c({0, 0, 0, 0});
  void* bits = nullptr;
  ACL_OK(aclrtMalloc(&bits, 4, ACL_MEM_MALLOC_HUGE_FIRST));
  const bool keep[] = {true, false, false, true};
  ACL_OK(aclrtMemcpy(bits, 4, keep, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  aclTensor *self = Tensor(a.address(), {4}), *mask = Tensor(bits, {4}, ACL_BOOL), *out = Tensor(c.address(), {4});
  ACL_REQUIRE_OK(aclnnMaskedSelectGetWorkspaceSize(self, mask, out, &workspace_, &executor_));
  ACL_OK(aclnnMaskedSelect(nullptr, 0, executor_, stream_));
  int64_t* dims = nullptr;
  uint64_t rank = 0;
  ACL_OK(aclGetViewShape(out, &dims, &rank));
  ASSERT_EQ(rank, 1U);
  EXPECT_EQ(dims[0], 2);
  delete[] dims;
  ACL_OK(aclrtSynchronizeStream(stream_));
  const Values kept = c.Values();
  EXPECT_EQ((Values{kept[0], kept[1]}), (Values{1, 4}));
  for (aclTensor* tensor : {self, mask, out}) aclDestroyTensor(tensor);
  ACL_OK(aclrtFree(bits));
}

TEST_F(PhasesTest, AListOwnsItsMembers) {
  DeviceFloats a({1, 2}), b({3, 4}), c({0, 0, 0, 0});
  const aclTensor* members[] = {Tensor(a.address(), {2}), Tensor(b.address(), {2})};
  aclTensorList* list = aclCreateTensorList(members, 2);
  ASSERT_NE(list, nullptr);
  uint64_t size = 0;
  ACL_OK(aclGetTensorListSize(list, &size));
  EXPECT_EQ(size, 2U);
  aclTensor* out = Tensor(c.address(), {2, 2});
  ACL_REQUIRE_OK(aclnnStackGetWorkspaceSize(list, 0, out, &workspace_, &executor_));
  ACL_OK(aclDestroyTensorList(list));
  ACL_FAILS(kInvalidParameter, aclDestroyTensor(members[0]));
  ACL_FAILS(kInvalidParameter, aclDestroyTensorList(list));
  ACL_OK(aclnnStack(nullptr, 0, executor_, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{1, 2, 3, 4}));
  aclDestroyTensor(out);
}

TEST_F(PhasesTest, OperatorsAreCapturedAndReplayed) {
  DeviceFloats a({1, 2}), c({0, 0});
  aclTensor *self = Tensor(a.address(), {2}), *out = Tensor(c.address(), {2});
  aclScalar* alpha = Scalar(1);
  aclmdlRI graph = nullptr;
  ACL_REQUIRE_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  ACL_REQUIRE_OK(Prepare(self, out, alpha, out));
  ACL_OK(aclnnAdd(nullptr, 0, executor_, stream_));
  ACL_OK(aclmdlRICaptureEnd(stream_, &graph));
  aclDestroyTensor(self);
  aclDestroyTensor(out);
  aclDestroyScalar(alpha);
  for (int i = 0; i < 3; ++i) ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{3, 6}));
  ACL_OK(aclmdlRIDestroy(graph));
}

TEST_F(PhasesTest, ThreadsPrepareAndLaunchAtOnce) {
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      ACL_OK(aclrtSetDevice(0));
      aclrtStream stream = nullptr;
      ACL_OK(aclrtCreateStream(&stream));
      DeviceFloats a({1, 2, 3}), c({0, 0, 0});
      for (int i = 0; i < kRounds; ++i) {
        aclTensor *self = Tensor(a.address(), {3}), *out = Tensor(c.address(), {3});
        aclScalar* alpha = Scalar(1);
        uint64_t workspace = 0;
        aclOpExecutor* executor = nullptr;
        ACL_OK(aclnnAddGetWorkspaceSize(out, self, alpha, out, &workspace, &executor));
        ACL_OK(aclnnAdd(nullptr, 0, executor, stream));
        aclDestroyTensor(self);
        aclDestroyTensor(out);
        aclDestroyScalar(alpha);
      }
      ACL_OK(aclrtSynchronizeStream(stream));
      EXPECT_EQ(c.Values(), (Values{kRounds, 2 * kRounds, 3 * kRounds}));
      ACL_OK(aclrtDestroyStream(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(PhasesTest, TensorsReturnTheirProperties) {
  const int64_t shape[] = {2, 3}, strides[] = {1, 2}, storage[] = {6};
  float data[6];
  aclTensor* tensor = aclCreateTensor(shape, 2, ACL_FLOAT16, strides, 4, ACL_FORMAT_NCHW, storage, 1, data);
  ASSERT_NE(tensor, nullptr);
  int64_t* values = nullptr;
  uint64_t count = 0;
  ACL_OK(aclGetViewStrides(tensor, &values, &count));
  EXPECT_EQ(std::vector<int64_t>(values, values + count), (std::vector<int64_t>{1, 2}));
  delete[] values;
  ACL_OK(aclGetStorageShape(tensor, &values, &count));
  EXPECT_EQ(std::vector<int64_t>(values, values + count), (std::vector<int64_t>{6}));
  delete[] values;
  int64_t offset = 0;
  ACL_OK(aclGetViewOffset(tensor, &offset));
  EXPECT_EQ(offset, 4);
  aclDataType type = ACL_DT_UNDEFINED;
  ACL_OK(aclGetDataType(tensor, &type));
  EXPECT_EQ(type, ACL_FLOAT16);
  aclFormat format = ACL_FORMAT_UNDEFINED;
  ACL_OK(aclGetFormat(tensor, &format));
  EXPECT_EQ(format, ACL_FORMAT_NCHW);
  void* address = nullptr;
  ACL_OK(aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(address, data);
  ACL_FAILS(kNullPointer, aclGetViewShape(tensor, nullptr, &count));
  ACL_FAILS(kNullPointer, aclGetDataType(nullptr, &type));
  aclDestroyTensor(tensor);
  EXPECT_EQ(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage, 1, data), nullptr);
  EXPECT_EQ(aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, data), nullptr);
  const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(aclCreateTensor(nine, 9, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, storage, 1, data), nullptr);
  EXPECT_NE(RecentMessage().find("at most 8"), std::string::npos);
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
}

}  // namespace
}  // namespace aclnn_test
