// SPDX-License-Identifier: Apache-2.0
// Which interpreters' frames are read. That they are read rightly is tested with the interpreters that the machine has
// (tests/cli/test_python_frames.py).
#include "src/check/python_frames.h"

#include <gtest/gtest.h>

#include <string>

namespace millpond::check {
namespace {

std::string Known(const char* version) {
  const PythonLayout* layout = PythonLayoutOf(version);
  return layout == nullptr ? "none" : layout->version;
}

TEST(PythonFrames, TheLayoutIsChosenByTheRunningVersion) {
  EXPECT_EQ(Known("3.10.13 (main, Jan  1 2024, 00:00:00) [GCC 12.2.0]"), "3.10.");
  EXPECT_EQ(Known("3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]"), "3.11.");
  EXPECT_EQ(Known("3.12.0"), "3.12.");
  EXPECT_EQ(Known("3.13.5+ (heads/3.13:0123456, Jan  1 2026, 00:00:00) [Clang 19]"), "3.13.");
}

TEST(PythonFrames, VersionsThatNobodyLookedIntoHaveNone) {
  EXPECT_EQ(Known("3.9.18 (main)"), "none");
  EXPECT_EQ(Known("3.14.0"), "none");
  EXPECT_EQ(Known("3.1.5"), "none");
  EXPECT_EQ(Known("3.110.0"), "none");
  EXPECT_EQ(Known(""), "none");
  EXPECT_EQ(Known("3.13.0 experimental free-threading build (main, Oct  8 2024) [GCC 12.2.0]"), "none");
}

TEST(PythonFrames, AProcessWithoutPythonHasNoStack) {
  PythonFrames frames;
  EXPECT_EQ(frames.Current(), 0U);
  EXPECT_EQ(frames.unread_version(), "");
}

}  // namespace
}  // namespace millpond::check
