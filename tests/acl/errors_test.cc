// SPDX-License-Identifier: Apache-2.0
// Last error, recent message, exception callbacks.
#include <mutex>
#include <stdexcept>

#include "acl/acl_rt_allocator.h"
#include "src/base/regex_testing.h"
#include "tests/acl/acl_test.h"

namespace {

using acl_test::RecentMessage;
using acl_test::Unlisted;
using millpond::Matches;

class ErrorsTest : public acl_test::AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    RecentMessage();
    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  }
};

// CANN's chapter on exceptions: GetLastError returns and clears, PeekAtLastError only returns; without a new error the
// answer is success.
TEST_F(ErrorsTest, LastErrorClearsAndPeekDoesNot) {
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(12345));
  ACL_OK(aclrtSynchronizeDevice());  // a success in between does not clear it
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

// CANN's chapter on exceptions: the error of the calling thread, and of the runtime: acl's own argument checks are not
// the runtime's.
TEST_F(ErrorsTest, LastErrorIsTheThreadsAndTheRuntimes) {
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(12345));
  std::thread([] { EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); }).join();
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorUnregister(nullptr));
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

// docs/compat.md, "What clients rely on": "level must be 0".
TEST_F(ErrorsTest, OnlyTheThreadLevelExists) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetLastError(Unlisted<aclrtLastErrLevel>(1)));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtPeekAtLastError(Unlisted<aclrtLastErrLevel>(1)));
}

// docs/compat.md, "Recent error message": NULL when there is nothing; reading clears; the documented shape, with the
// date torch_npu looks for.
TEST_F(ErrorsTest, RecentMessageHasTheDocumentedShape) {
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorUnregister(nullptr));
  const std::string text = RecentMessage();
  EXPECT_TRUE(Matches(text, "^\\[PID: [0-9]+] " MP_DATE_PATTERN
                            " Invalid_Argument_Null_Pointer\\(EH0008\\): aclrtAllocatorUnregister failed "
                            "because stream cannot be a NULL pointer\\.\nTraceBack \\(most recent call last\\):\n$"))
      << text;
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

// CANN's chapter on exceptions: of several messages the newest is on top; the string stays valid until the thread's
// next call.
TEST_F(ErrorsTest, RecentMessagesAreNewestFirst) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorUnregister(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorDestroyDesc(nullptr));
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  std::thread([] {
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);  // another thread's
    aclrtAllocatorUnregister(nullptr);
  }).join();
  const std::string kept = text;
  EXPECT_LT(kept.find("aclrtAllocatorDestroyDesc"), kept.find("aclrtAllocatorUnregister"));
  EXPECT_NE(kept.find("\n        [PID: "), std::string::npos) << kept;
}

// --- exception callbacks ---

struct Seen {
  uint32_t task, stream, thread, device, code;
};
std::mutex g_mutex;
std::vector<Seen> g_seen;

void Remember(aclrtExceptionInfo* info) {
  std::lock_guard lock(g_mutex);
  g_seen.push_back({aclrtGetTaskIdFromExceptionInfo(info), aclrtGetStreamIdFromExceptionInfo(info),
                    aclrtGetThreadIdFromExceptionInfo(info), aclrtGetDeviceIdFromExceptionInfo(info),
                    aclrtGetErrorCodeFromExceptionInfo(info)});
}
void RememberToo(aclrtExceptionInfo* info) { Remember(info); }
void Throw(aclrtExceptionInfo*) { throw std::runtime_error("callbacks must not"); }

class ExceptionCallbackTest : public ErrorsTest {
 protected:
  void SetUp() override {
    ErrorsTest::SetUp();
    g_seen.clear();
    stream_ = NewStream();
  }
  void TearDown() override {
    ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
    ErrorsTest::TearDown();
  }
  // A task that fails; its failure surfaces at the synchronisation (docs/compat.md, "What clients rely on").
  int Fail() {
    EXPECT_EQ(acl_test::Launch(
                  stream_, [] { throw std::runtime_error("on purpose"); }, "Failing"),
              ACL_SUCCESS);
    const int code = aclrtSynchronizeStream(stream_);
    EXPECT_NE(code, ACL_SUCCESS);
    return code;
  }
  static size_t Count() {
    std::lock_guard lock(g_mutex);
    return g_seen.size();
  }
  aclrtStream stream_ = nullptr;
};

// CANN's chapter on exceptions: the callback gets task, stream, thread, device and code of the task that failed.
TEST_F(ExceptionCallbackTest, ReportsWhichTaskFailed) {
  ACL_OK(aclrtSetExceptionInfoCallback(Remember));
  const int code = Fail();
  ASSERT_EQ(Count(), 1u);
  int32_t stream_id = -1;
  ACL_OK(aclrtStreamGetId(stream_, &stream_id));
  EXPECT_EQ(g_seen[0].stream, static_cast<uint32_t>(stream_id));
  EXPECT_EQ(g_seen[0].device, 0u);
  EXPECT_EQ(g_seen[0].code, static_cast<uint32_t>(code));
  EXPECT_NE(g_seen[0].thread, 0u);
  EXPECT_NE(g_seen[0].thread, 0xFFFFFFFFu);
}

// CANN's chapter on exceptions: one slot, the last set counts, NULL clears it.
TEST_F(ExceptionCallbackTest, TheSlotHoldsOne) {
  ACL_OK(aclrtSetExceptionInfoCallback(Throw));
  ACL_OK(aclrtSetExceptionInfoCallback(Remember));
  Fail();
  EXPECT_EQ(Count(), 1u);
  ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
  Fail();
  EXPECT_EQ(Count(), 1u);
}

// CANN's chapter on exceptions: different functions are different callbacks, the same one registered again counts once,
// and one that is both in the slot and in the list is called twice.
TEST_F(ExceptionCallbackTest, TheListHoldsMany) {
  ACL_OK(aclrtExceptionInfoCallbackRegister(Remember));
  ACL_OK(aclrtExceptionInfoCallbackRegister(Remember));
  Fail();
  EXPECT_EQ(Count(), 1u);
  ACL_OK(aclrtExceptionInfoCallbackRegister(RememberToo));
  Fail();
  EXPECT_EQ(Count(), 3u);
  ACL_OK(aclrtSetExceptionInfoCallback(Remember));
  Fail();
  EXPECT_EQ(Count(), 6u);
  ACL_OK(aclrtExceptionInfoCallbackUnregister(Remember));
  ACL_OK(aclrtExceptionInfoCallbackUnregister(RememberToo));
  Fail();
  EXPECT_EQ(Count(), 7u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtExceptionInfoCallbackUnregister(Remember));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtExceptionInfoCallbackRegister(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtExceptionInfoCallbackUnregister(nullptr));
}

// The documents warn that a throwing callback may stop the others; here it does not.
TEST_F(ExceptionCallbackTest, OneThatThrowsDoesNotKeepOthersFromBeingCalled) {
  ACL_OK(aclrtExceptionInfoCallbackRegister(Throw));
  ACL_OK(aclrtExceptionInfoCallbackRegister(Remember));
  Fail();
  EXPECT_EQ(Count(), 1u);
  ACL_OK(aclrtExceptionInfoCallbackUnregister(Throw));
  ACL_OK(aclrtExceptionInfoCallbackUnregister(Remember));
}

// docs/compat.md, "What clients rely on": the getters "return 0xFFFFFFFF on a NULL info".
TEST(ExceptionInfo, GettersAnswerNull) {
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetStreamIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetThreadIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetDeviceIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);
  EXPECT_EQ(aclrtGetErrorCodeFromExceptionInfo(nullptr), 0xFFFFFFFFu);
}

}  // namespace
