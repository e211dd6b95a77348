// SPDX-License-Identifier: Apache-2.0
// Orders that are written down: how they are read, and that tasks run in them.
#include "src/device/stream/planned.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millpond {
namespace {

TEST(ScheduleTest, ReadsWhatExplorePrints) {
  Schedule hold;
  ASSERT_TRUE(Schedule::Parse("hold:3:12", &hold).ok());
  EXPECT_TRUE(hold.holds);
  EXPECT_EQ(hold.stream, 3);
  EXPECT_EQ(hold.task, 12U);
  Schedule random;
  ASSERT_TRUE(Schedule::Parse("pct:7:120,455", &random).ok());
  EXPECT_FALSE(random.holds);
  EXPECT_EQ(random.seed, 7U);
  EXPECT_EQ(random.changes, (std::vector<uint64_t>{120, 455}));
  Schedule plain;
  ASSERT_TRUE(Schedule::Parse("pct:0", &plain).ok());
  EXPECT_TRUE(plain.changes.empty());
}

TEST(ScheduleTest, AnythingElseIsRefusedWithTheFormsThatAreKnown) {
  for (const char* text : {"", "hold", "hold:3", "hold:3:", "hold:3:4:5", "hold:-1:2", "hold:x:2", "hold:4294967296:1",
                           "pct", "pct:", "pct:a", "pct:1:", "pct:1:2,", "pct:1:5,5", "pct:1:6,5", "pct:1:2:3",
                           "seed:7", "hold:3:12 ", "pct:99999999999999999999"}) {
    Schedule schedule;
    const Status status = Schedule::Parse(text, &schedule);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("hold:STREAM:TASK"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace millpond
