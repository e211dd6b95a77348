// SPDX-License-Identifier: Apache-2.0
#include "src/base/cann_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

namespace millpond::cann {
namespace {

constexpr Door kDoors[] = {Door::kGraph,   Door::kAtc,       Door::kInit,  Door::kModel,  Door::kModelRun,
                           Door::kCompile, Door::kParameter, Door::kLimit, Door::kStream, Door::kComm};

TEST(CannOptions, EveryRowHasAReasonAndANameOfItsOwn) {
  for (const Door door : kDoors) {
    std::set<std::string_view> seen;
    EXPECT_FALSE(Options(door).empty()) << static_cast<int>(door);
    for (const Option& option : Options(door)) {
      EXPECT_EQ(option.door, door);
      EXPECT_GT(option.reason.size(), 5u) << option.key;
      EXPECT_TRUE(seen.insert(option.key).second) << option.key << " stands twice";
      EXPECT_EQ(Find(door, option.key), &option);
    }
  }
}

// A row says one thing about each value: what asks for nothing is among the values that there are.
TEST(CannOptions, QuietValuesAreValues) {
  for (const Door door : kDoors) {
    for (const Option& option : Options(door)) {
      std::string_view rest = option.quiet;
      while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('|'));
        EXPECT_EQ(WrongValue(option, one), "") << option.key << "=" << one;
        EXPECT_EQ(Refusal(option, one), nullptr) << option.key << "=" << one;
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      }
      EXPECT_EQ(Refusal(option, ""), nullptr) << option.key;
    }
  }
}

TEST(CannOptions, ValuesAreJudgedByTheirForm) {
  const auto wrong = [](std::string_view values, std::string_view value) {
    return WrongValue({Door::kGraph, "key", values, Treatment::kHonoured, "", "reason"}, value);
  };
  EXPECT_EQ(wrong("", "anything"), "");
  EXPECT_EQ(wrong("0|1", "1"), "");
  EXPECT_EQ(wrong("0|1", "2"), "it must be one of: 0, 1");
  EXPECT_EQ(wrong("|a", "b"), "it must be one of: nothing, a");
  EXPECT_EQ(wrong("-1..4", "-1"), "");
  for (const char* value : {"5", "-2", "", "1x", "99999999999999999999"}) {
    EXPECT_EQ(wrong("-1..4", value), "it must be a whole number from -1 to 4") << value;
  }
  EXPECT_EQ(wrong("#indexes", "0;1,2"), "");
  EXPECT_NE(wrong("#indexes", "0;-1"), "");
  EXPECT_EQ(wrong("#length 3", "abc"), "");
  EXPECT_EQ(wrong("#length 3", "abcd"), "it has 4 characters, and at most 3 are allowed");
  EXPECT_EQ(wrong("#word 3", "a_-"), "");
  EXPECT_NE(wrong("#word 3", "a b"), "");
}

TEST(CannOptions, ARefusalNamesTheOptionItsValueAndTheReason) {
  const Option& dump = *Find(Door::kGraph, "ge.exec.enableDumpDebug");
  const Status status = Accept(dump, "1");
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("ge.exec.enableDumpDebug"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("\"1\""), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("aclmdlSetDump"), std::string::npos) << status.message();
  EXPECT_TRUE(Accept(dump, "0").ok());
  EXPECT_EQ(Accept(dump, "2").code(), Code::kInvalidArgument);
}

// In a process of its own: the log reads its settings at its first line, and other tests set them.
TEST(CannOptionsDeathTest, WhatIsToldIsToldOnce) {
  const Option& option = *Find(Door::kParameter, "ACL_OPT_STRONG_CONSISTENCY");
  ASSERT_EQ(option.treatment, Treatment::kTold);
  const auto accept_twice = [&] {
    const bool accepted = Accept(option, "1").ok() && Accept(option, "1").ok();
    _exit(accepted ? 0 : 1);
  };
  EXPECT_EXIT(accept_twice(), testing::ExitedWithCode(0),
              "^millpond: parameter ACL_OPT_STRONG_CONSISTENCY=1 is not carried out: [^\n]*\n$");
}

TEST(CannOptions, AnUnknownNameIsToldOnceWithTheNearestThatThereIs) {
  std::string line;
  EXPECT_TRUE(FirstTimeUnknown(Door::kGraph, "ge.exec.enableDumb", &line));
  EXPECT_NE(line.find("did you mean ge.exec.enableDump?"), std::string::npos) << line;
  EXPECT_FALSE(FirstTimeUnknown(Door::kGraph, "ge.exec.enableDumb", &line));
  EXPECT_TRUE(FirstTimeUnknown(Door::kAtc, "nothing_like_it", &line));
  EXPECT_EQ(line.find("did you mean"), std::string::npos) << line;
  EXPECT_EQ(Nearest(Door::kAtc, std::string(100000, 'x')), "");
}

}  // namespace
}  // namespace millpond::cann
