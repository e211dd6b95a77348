// SPDX-License-Identifier: Apache-2.0
#include "src/api/common/guard.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "src/api/common/acl_guard.h"
#include "src/trace/sink.h"

namespace millpond {
namespace {

enum class Answer { kFine, kArgument, kBroken, kFull, kOwn };

std::string g_kept;
bool g_keeping_throws = false;

struct OwnAbi : WithoutRuntime {
  using Result = Answer;
  static constexpr Answer kSuccess = Answer::kFine;
  static constexpr Answer kNoMemory = Answer::kFull;
  static Answer Number(const Status& failure) {
    if (failure.code() == Code::kHostOutOfMemory) return Answer::kFull;
    return failure.code() == Code::kInvalidArgument ? Answer::kArgument : Answer::kBroken;
  }
  static void Keep(const char* api, Answer, const Status& failure) {
    if (g_keeping_throws) throw std::bad_alloc();
    g_kept = std::string(api) + ": " + failure.message();
  }
};

struct HeardAbi : OwnAbi {
  static constexpr bool kInRuntime = true;
  static bool Refuses() { return refuses; }
  static bool Heard() { return heard; }
  static uint64_t StampNs() { return 7; }
  static void Emit(const char* api, uint64_t start_ns, int result) {
    EXPECT_STREQ(api, "Call");
    EXPECT_EQ(start_ns, 7u);
    emitted = result;
  }
  static inline bool refuses = false, heard = false;
  static inline int emitted = -1;
};

class GuardTest : public testing::Test {
 protected:
  GuardTest() {
    g_kept.clear();
    g_keeping_throws = HeardAbi::refuses = HeardAbi::heard = false;
    HeardAbi::emitted = -1;
  }
};

TEST_F(GuardTest, AFailureIsKeptAndNumbered) {
  EXPECT_EQ(Guard(OwnAbi(), "Call", [] { return Ok(); }), Answer::kFine);
  EXPECT_EQ(g_kept, "");
  EXPECT_EQ(Guard(OwnAbi(), "Call", [] { return InvalidArgument("too few"); }), Answer::kArgument);
  EXPECT_EQ(g_kept, "Call: too few");
}

TEST_F(GuardTest, AnOutcomeMayHaveANumberOfItsOwn) {
  const auto own = [] { return BasicOutcome<Answer>(Answer::kOwn, InvalidArgument("again")); };
  EXPECT_EQ(Guard(OwnAbi(), "Call", own), Answer::kOwn);
  EXPECT_EQ(g_kept, "Call: again");
  EXPECT_EQ(Guard(OwnAbi(), "Call", [] { return BasicOutcome<Answer>(InternalError("plain")); }), Answer::kBroken);
  EXPECT_EQ(Guard(OwnAbi(), "Call", [] { return BasicOutcome<Answer>(Ok()); }), Answer::kFine);
}

TEST_F(GuardTest, WhatIsThrownEndsHereAndIsNamed) {
  EXPECT_EQ(Guard(OwnAbi(), "Call", []() -> Status { throw std::runtime_error("what it says"); }), Answer::kBroken);
  EXPECT_EQ(g_kept, "Call: an unexpected exception reached the API boundary: what it says");
  EXPECT_EQ(Guard(OwnAbi(), "Call", []() -> Status { throw 1; }), Answer::kBroken);
  EXPECT_EQ(g_kept, "Call: an exception that is not a std::exception reached the API boundary");
  EXPECT_EQ(Guard(OwnAbi(), "Call", []() -> Status { throw std::bad_alloc(); }), Answer::kFull);
  EXPECT_NE(g_kept.find("the host is out of memory"), std::string::npos);
}

TEST_F(GuardTest, TheNumberComesBackWhenTheMessageCannotBeKept) {
  g_keeping_throws = true;
  EXPECT_EQ(Guard(OwnAbi(), "Call", [] { return InvalidArgument("x"); }), Answer::kArgument);
  EXPECT_EQ(Guard(OwnAbi(), "Call", []() -> Status { throw 1; }), Answer::kBroken);
}

TEST_F(GuardTest, AForkedChildIsRefusedBeforeTheBodyRuns) {
  HeardAbi::refuses = true;
  bool ran = false;
  const auto body = [&] {
    ran = true;
    return Ok();
  };
  EXPECT_EQ(Guard(HeardAbi(), "Call", body), Answer::kBroken);
  EXPECT_FALSE(ran);
  EXPECT_NE(g_kept.find("forked"), std::string::npos);
}

TEST_F(GuardTest, TheTraceHearsTheNumberThatTheCallerGets) {
  EXPECT_EQ(Guard(HeardAbi(), "Call", [] { return Ok(); }), Answer::kFine);
  EXPECT_EQ(HeardAbi::emitted, -1);
  HeardAbi::heard = true;
  EXPECT_EQ(Guard(HeardAbi(), "Call", [] { return InvalidArgument("x"); }), Answer::kArgument);
  EXPECT_EQ(HeardAbi::emitted, static_cast<int>(Answer::kArgument));
  EXPECT_EQ(Guard(HeardAbi(), "Call", []() -> Status { throw 1; }), Answer::kBroken);
  EXPECT_EQ(HeardAbi::emitted, static_cast<int>(Answer::kBroken));
}

// A code without a row would be answered like an internal error.
TEST(ErrorMap, EveryCodeHasItsNumber) {
  const std::string unknown = CodeName(static_cast<Code>(100000));
  int count = 0;
  for (int code = 0; CodeName(static_cast<Code>(code)) != unknown; ++code, ++count) {
    if (static_cast<Code>(code) == Code::kInternal) continue;
    EXPECT_NE(acl::AclErrorFrom(static_cast<Code>(code)), ACL_ERROR_INTERNAL_ERROR)
        << CodeName(static_cast<Code>(code));
  }
  EXPECT_GT(count, 60);
}

}  // namespace
}  // namespace millpond
