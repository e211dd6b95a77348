// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out in an operator's two phases: each request of the calling thread fails in turn, from the
// objects that describe tensors to the launch. The call that could not do its work says so, nothing is lost, and the
// same operator runs right afterwards. Issue 13.
#include <optional>
#include <thread>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_stack.h"
#include "src/base/failing_new.h"
#include "tests/aclnn/aclnn_test.h"

namespace aclnn_test {
namespace {

using acl_test::RecentMessage;
using Values = std::vector<float>;

// One operator from its descriptions to its result, in calls that may each fail; the first failure is kept, what was
// made until then is destroyed. It allocates nothing itself.
class OneCall {
 public:
  explicit OneCall(aclrtStream stream) : stream_(stream) {}

  aclTensor* Of(const void* memory, int64_t rows, int64_t columns, aclDataType type = ACL_FLOAT) {
    const int64_t shape[] = {rows, columns}, strides[] = {columns, 1}, storage = rows * columns;
    const auto from = rows == 1 ? 1 : 0;  // a row alone has one dimension
    aclTensor* const made = aclCreateTensor(shape + from, 2U - from, type, strides + from, 0, ACL_FORMAT_ND, &storage,
                                            1, const_cast<void*>(memory));
    if (made == nullptr) Keep(ACL_ERROR_BAD_ALLOC);
    return made;
  }
  aclScalar* Scalar(float value) {
    aclScalar* const made = aclCreateScalar(&value, ACL_FLOAT);
    if (made == nullptr) Keep(ACL_ERROR_BAD_ALLOC);
    return made;
  }
  bool good() const { return code_ == ACL_SUCCESS; }
  int code() const { return code_; }
  void Keep(int code) {
    if (code_ == ACL_SUCCESS) code_ = code;
  }
  // The second phase ends the executor, however it goes.
  template <class Second>
  void Launch(const Second& second, int first, aclOpExecutor* executor) {
    Keep(first);
    if (first != ACL_SUCCESS) return;
    Keep(second(nullptr, 0, executor, stream_));
    Keep(aclrtSynchronizeStream(stream_));
  }
  template <class... Tensors>
  void Destroy(const Tensors*... tensors) {
    (Keep(tensors != nullptr ? aclDestroyTensor(tensors) : ACL_SUCCESS), ...);
  }

 private:
  const aclrtStream stream_;
  int code_ = ACL_SUCCESS;
};

class HostFaultTest : public AclnnTest {
 public:  // for pointers to them
  void SetUp() override {
    AclnnTest::SetUp();
    for (size_t i = 0; i < 4; ++i)
      memory_[i].emplace(std::vector<std::vector<float>>{{1, 2}, {10, 20}, Values(4), {0}}[i]);
  }
  void TearDown() override {
    for (std::optional<DeviceFloats>& memory : memory_) memory.reset();
    AclnnTest::TearDown();
  }

  int AddOnce() {
    OneCall call(stream_);
    aclTensor *self = call.Of(memory_[0]->address(), 1, 2), *other = call.Of(memory_[1]->address(), 1, 2);
    aclTensor* out = call.Of(memory_[2]->address(), 1, 2);
    aclScalar* alpha = call.Scalar(2);
    if (call.good()) {
      uint64_t workspace = 0;
      aclOpExecutor* executor = nullptr;
      const int first = aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace, &executor);
      EXPECT_EQ(first == ACL_SUCCESS, executor != nullptr);
      call.Launch(aclnnAdd, first, executor);
    }
    if (alpha != nullptr) call.Keep(aclDestroyScalar(alpha));
    call.Destroy(self, other, out);
    return call.code();
  }
  // A list owns its members; one that could not be made owns nothing.
  int StackOnce() {
    OneCall call(stream_);
    const aclTensor* members[] = {call.Of(memory_[0]->address(), 1, 2), call.Of(memory_[1]->address(), 1, 2)};
    aclTensorList* list = call.good() ? aclCreateTensorList(members, 2) : nullptr;
    if (list == nullptr) {
      call.Keep(ACL_ERROR_BAD_ALLOC);
      call.Destroy(members[0], members[1]);
      return call.code();
    }
    aclTensor* out = call.Of(memory_[2]->address(), 2, 2);
    if (call.good()) {
      uint64_t workspace = 0;
      aclOpExecutor* executor = nullptr;
      const int first = aclnnStackGetWorkspaceSize(list, 0, out, &workspace, &executor);
      call.Launch(aclnnStack, first, executor);
    }
    call.Keep(aclDestroyTensorList(list));
    call.Destroy(out);
    return call.code();
  }
  // Waits for its result, whose shape it writes to the tensor.
  int SelectOnce() {
    OneCall call(stream_);
    aclTensor *self = call.Of(memory_[0]->address(), 1, 2), *mask = call.Of(memory_[3]->address(), 1, 2, ACL_BOOL);
    aclTensor* out = call.Of(memory_[2]->address(), 1, 2);
    if (call.good()) {
      uint64_t workspace = 0;
      aclOpExecutor* executor = nullptr;
      const int first = aclnnMaskedSelectGetWorkspaceSize(self, mask, out, &workspace, &executor);
      call.Launch(aclnnMaskedSelect, first, executor);
    }
    call.Destroy(self, mask, out);
    return call.code();
  }
  // One that may be launched often, and is destroyed.
  int RepeatOnce() {
    OneCall call(stream_);
    aclTensor *self = call.Of(memory_[0]->address(), 1, 2), *out = call.Of(memory_[2]->address(), 1, 2);
    aclScalar* alpha = call.Scalar(1);
    if (call.good()) {
      uint64_t workspace = 0;
      aclOpExecutor* executor = nullptr;
      call.Keep(aclnnAddGetWorkspaceSize(self, self, alpha, out, &workspace, &executor));
      if (call.good()) {
        call.Keep(aclSetAclOpExecutorRepeatable(executor));
        for (int run = 0; run < 2; ++run) call.Launch(aclnnAdd, call.code(), executor);
        call.Keep(aclDestroyAclOpExecutor(executor));
      }
    }
    if (alpha != nullptr) call.Keep(aclDestroyScalar(alpha));
    call.Destroy(self, out);
    return call.code();
  }

  // On a thread of its own, which has none of the objects that a thread keeps for its next call; `nth` 0: nothing
  // fails.
  int OnItsOwnThread(int (HostFaultTest::*once)(), int64_t nth, bool* out_reached) {
    int code = ACL_SUCCESS;
    std::thread client([&] {
      ACL_OK(aclrtSetDevice(0));
      if (nth == 0) {
        code = (this->*once)();
      } else {
        *out_reached = failing_new::FailNth(nth, [&] { code = (this->*once)(); });
      }
      RecentMessage();
    });
    client.join();
    return code;
  }
  // Each request fails once; how many there were, and how many calls said so.
  void FailOnce(const char* what, int (HostFaultTest::*once)(), const Values& right, int64_t* requests, int64_t* told) {
    *told = *requests = 0;
    for (bool reached = true; reached; *requests += reached ? 1 : 0) {
      const int code = OnItsOwnThread(once, *requests + 1, &reached);
      *told += code != ACL_SUCCESS ? 1 : 0;
      EXPECT_TRUE(reached || code == ACL_SUCCESS) << what << ": " << code;
      ACL_OK((this->*once)());
      Values seen = memory_[2]->Values();
      seen.resize(right.size());
      EXPECT_EQ(seen, right);
      if (HasFailure()) FAIL() << what << ": request " << *requests + 1;
    }
  }
  // What a thread keeps stays when it ends, or is taken by the next one, as it happens: the host memory of as many
  // threads without a fault is the measure, and what is lost with each fault is lost in every attempt.
  void FailEach(const char* what, int (HostFaultTest::*once)(), const Values& right) {
    constexpr int kAttempts = 12;
    int64_t told = 0, requests = 0, lost = 0, all_told = 0;
    FailOnce(what, once, right, &requests, &all_told);  // warms up
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const int64_t before = failing_new::live.load();
      FailOnce(what, once, right, &requests, &told);
      if (HasFailure()) return;
      all_told += told;
      const int64_t between = failing_new::live.load();
      for (int64_t i = 0; i <= requests; ++i) ACL_OK(OnItsOwnThread(once, 0, nullptr));
      lost = (between - before) - (failing_new::live.load() - between);
      if (lost <= requests / 2) break;
    }
    EXPECT_GT(all_told, 0) << what << ": no failure was ever told";
    if (MP_SANITIZED) return;  // LeakSanitizer is the better judge, and its build keeps other things
    EXPECT_LE(lost, requests / 2) << what << ": of " << requests << " faults, in each of " << kAttempts << " attempts";
    std::printf("%s: %lld requests, %lld told\n", what, static_cast<long long>(requests), static_cast<long long>(told));
  }

  std::optional<DeviceFloats> memory_[4];  // two operands, the result, a mask
};

TEST_F(HostFaultTest, EveryRequestOfAnOperatorMayFail) { FailEach("aclnnAdd", &HostFaultTest::AddOnce, {21, 42}); }

TEST_F(HostFaultTest, EveryRequestOfAnOperatorWithAListMayFail) {
  FailEach("aclnnStack", &HostFaultTest::StackOnce, {1, 2, 10, 20});
}

TEST_F(HostFaultTest, EveryRequestOfAnOperatorThatWaitsMayFail) {
  const bool keep[] = {false, true};
  ACL_OK(aclrtMemcpy(memory_[3]->address(), 2, keep, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  FailEach("aclnnMaskedSelect", &HostFaultTest::SelectOnce, {2});
}

TEST_F(HostFaultTest, EveryRequestOfARepeatableExecutorMayFail) {
  FailEach("a repeatable executor", &HostFaultTest::RepeatOnce, {2, 4});
}

}  // namespace
}  // namespace aclnn_test

MP_TEST_MAIN()
