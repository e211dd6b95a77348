// SPDX-License-Identifier: Apache-2.0
// The boundary: codes, the thread's last error, and the recent message's shape (docs/compat.md, "Recent error
// message").
#include "src/api/common/message.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "include/acl/acl_rt.h"
#include "include/acl/error_codes/rt_error_codes.h"
#include "src/api/common/acl_guard.h"
#include "src/base/failures.h"
#include "src/base/regex_testing.h"

namespace millpond::acl {
namespace {

class MessageTest : public testing::Test {
 protected:
  MessageTest() {
    TakeRecentMessage();
    LastError(true);
  }
  static std::string Take() {
    const char* text = TakeRecentMessage();
    return text == nullptr ? "(null)" : text;
  }
};

// Documents, aclGetRecentErrMsg: NULL when there is none; reading clears.
TEST_F(MessageTest, ReadingClears) {
  EXPECT_EQ(TakeRecentMessage(), nullptr);
  EXPECT_EQ(Guard("aclX", [] { return NullPointer("devPtr"); }), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(TakeRecentMessage(), nullptr);
  EXPECT_EQ(TakeRecentMessage(), nullptr);
}

TEST_F(MessageTest, UserErrorsHaveTheDocumentedShape) {
  Guard("aclrtAllocatorRegister", [] { return NullPointer("stream"); });
  const std::string text = Take();
  EXPECT_TRUE(Matches(text, "^\\[PID: [0-9]+] " MP_DATE_PATTERN
                            " Invalid_Argument_Null_Pointer\\(EH0008\\): aclrtAllocatorRegister failed "
                            "because stream cannot be a NULL pointer\\.\nTraceBack \\(most recent call last\\):\n$"))
      << text;
  EXPECT_NE(text.find("[PID: " + std::to_string(getpid()) + "]"), std::string::npos);
}

// torch_npu looks for ^E[1-9A-Z]9999, the date, and the text up to the traceback line.
TEST_F(MessageTest, InnerErrorsHaveTheDocumentedShape) {
  Guard("aclX", [] { return InternalError("a broken thing"); });
  const std::string text = Take();
  EXPECT_TRUE(Matches(text, "^E[1-9A-Z]9999: Internal error!\nE[1-9A-Z]9999\\[PID: [0-9]+] ")) << text;
  EXPECT_NE(text.find("a broken thing"), std::string::npos);
  EXPECT_NE(text.find("TraceBack (most recent call last):\n"), std::string::npos);
}

// Documents, aclGetRecentErrMsg: of several messages the newest is on top.
TEST_F(MessageTest, NewestFirstTheRestIndented) {
  Guard("aclOld", [] { return InvalidArgument("old"); });
  Guard("aclNew", [] { return InvalidArgument("new"); });
  const std::string text = Take();
  const size_t traceback = text.find("TraceBack (most recent call last):\n        [PID: ");
  ASSERT_NE(traceback, std::string::npos) << text;
  EXPECT_LT(text.find("aclNew"), traceback);
  EXPECT_GT(text.find("aclOld"), traceback);
}

TEST_F(MessageTest, UnreadMessagesDoNotPileUp) {
  for (int i = 0; i < 1000; ++i) Guard("aclX", [&] { return InvalidArgument("number " + std::to_string(i)); });
  const std::string text = Take();
  EXPECT_NE(text.find("number 999"), std::string::npos);
  EXPECT_EQ(text.find("number 10 "), std::string::npos);
  EXPECT_LT(text.size(), 4096u);
}

TEST_F(MessageTest, ThreadsHaveTheirOwn) {
  Guard("aclMain", [] { return InvalidArgument("main"); });
  std::thread([] {
    EXPECT_EQ(TakeRecentMessage(), nullptr);
    EXPECT_EQ(LastError(false), ACL_SUCCESS);
    Guard("aclOther", [] { return OutOfMemory("other"); });
    EXPECT_EQ(LastError(false), ACL_ERROR_RT_MEMORY_ALLOCATION);
    EXPECT_NE(Take().find("aclOther"), std::string::npos);
  }).join();
  EXPECT_NE(Take().find("aclMain"), std::string::npos);
  EXPECT_EQ(LastError(false), ACL_SUCCESS);
}

// Documents 02, err_msg_mode 1: messages of the whole process.
TEST_F(MessageTest, ProcessModeSharesThem) {
  failures::SetProcessWide(true);
  std::thread([] { Guard("aclOther", [] { return InvalidArgument("other"); }); }).join();
  EXPECT_NE(Take().find("aclOther"), std::string::npos);
  EXPECT_EQ(TakeRecentMessage(), nullptr);
  failures::SetProcessWide(false);
}

TEST_F(MessageTest, UntaggedMessagesNameTheFunction) {
  Guard("aclrtMalloc", [] { return OutOfMemory("1 GiB asked, 2 MiB free"); });
  EXPECT_NE(Take().find("Resource_Error(EE1023): aclrtMalloc failed. Reason: 1 GiB asked, 2 MiB free"),
            std::string::npos);
}

// Documents 13: the last *runtime* error; acl's own argument checks are not the runtime's.
TEST_F(MessageTest, LastErrorIsTheRuntimes) {
  Guard("aclX", [] { return InvalidArgument("mine"); });
  EXPECT_EQ(LastError(false), ACL_SUCCESS);
  Guard("aclX", [] { return Status(Code::kNoContext, "none"); });
  Guard("aclX", [] { return Ok(); });
  EXPECT_EQ(LastError(false), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(LastError(true), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(LastError(true), ACL_SUCCESS);
}

TEST_F(MessageTest, ExceptionsStopAtTheBoundary) {
  EXPECT_EQ(Guard("aclX", []() -> Status { throw std::bad_alloc(); }), 200000);
  EXPECT_EQ(Guard("aclX", []() -> Status { throw std::runtime_error("what it says"); }), 500000);
  EXPECT_NE(Take().find("what it says"), std::string::npos);
  EXPECT_EQ(Guard("aclX", []() -> Status { throw 1; }), 500000);
}

// docs/compat.md, "Recent error message": numbers clients test for.
TEST_F(MessageTest, Numbers) {
  EXPECT_EQ(AclErrorFrom(Code::kOk), 0);
  EXPECT_EQ(AclErrorFrom(Code::kInvalidArgument), 100000);
  EXPECT_EQ(AclErrorFrom(Code::kRuntimeArgument), 107000);
  EXPECT_EQ(AclErrorFrom(Code::kRepeatInitialize), 100002);
  EXPECT_EQ(AclErrorFrom(Code::kRepeatFinalize), 100037);
  EXPECT_EQ(AclErrorFrom(Code::kNoContext), 107002);
  EXPECT_EQ(AclErrorFrom(Code::kSysParamNotSet), 107021);
  EXPECT_EQ(AclErrorFrom(Code::kOutOfMemory), 207001);
  EXPECT_EQ(AclErrorFrom(Code::kUnsupported), 207000);
  EXPECT_EQ(AclErrorFrom(Code::kNoStream), 207008);
  EXPECT_EQ(AclErrorFrom(Code::kStreamSyncTimeout), 507046);
  EXPECT_EQ(AclErrorFrom(Code::kEventSyncTimeout), 507047);
  EXPECT_EQ(AclErrorFrom(Code::kReportTimeout), 507012);
  EXPECT_EQ(AclErrorFrom(Code::kCaptureUnjoined), 107025);
  EXPECT_EQ(AclErrorFrom(Code::kStreamNotCaptured), 107029);
  EXPECT_EQ(AclErrorFrom(Code::kCaptureWrongThread), 107038);
}

}  // namespace
}  // namespace millpond::acl
