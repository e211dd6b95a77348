// SPDX-License-Identifier: Apache-2.0
#include "src/check/written.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millpond::check {
namespace {

constexpr uintptr_t kBegin = 0x1000;

TEST(Written, ARangeIsUntouchedUntilOneOfItsBytesIsWritten) {
  Written written;
  EXPECT_FALSE(written.IsUntouched(kBegin, kBegin + 1)) << "of what is not known nothing is said";
  written.Begin(kBegin, kBegin + 100);
  EXPECT_TRUE(written.IsUntouched(kBegin, kBegin + 100));
  EXPECT_FALSE(written.IsUntouched(kBegin + 50, kBegin + 101)) << "it runs past what is known";
  written.Write(kBegin + 40, kBegin + 41);
  EXPECT_FALSE(written.IsUntouched(kBegin, kBegin + 100));
  EXPECT_FALSE(written.IsUntouched(kBegin + 40, kBegin + 41));
  EXPECT_TRUE(written.IsUntouched(kBegin, kBegin + 40));
  EXPECT_TRUE(written.IsUntouched(kBegin + 41, kBegin + 100));
  written.End(kBegin);
  EXPECT_FALSE(written.IsUntouched(kBegin, kBegin + 1));
  written.Begin(kBegin, kBegin + 100);
  EXPECT_TRUE(written.IsUntouched(kBegin, kBegin + 100)) << "a new life has no bytes of the former";
  written.WriteAll();
  EXPECT_FALSE(written.IsUntouched(kBegin, kBegin + 1));
}

TEST(Written, WhatIsMergedToStaySmallCountsAsWritten) {
  Written written;
  written.Begin(kBegin, kBegin + 1000);
  for (uintptr_t at = kBegin + 100; at < kBegin + 900; at += 4) written.Write(at, at + 1);
  EXPECT_TRUE(written.IsUntouched(kBegin, kBegin + 100)) << "outside of all of them";
  EXPECT_FALSE(written.IsUntouched(kBegin + 101, kBegin + 104)) << "between two of them: missed, not accused";
}

TEST(Written, RangesAgreeWithOneFlagForEachByte) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    constexpr size_t kBytes = 200;
    Written written;
    written.Begin(kBegin, kBegin + kBytes);
    std::vector<bool> flags(kBytes);
    for (int step = 0; step < 20; ++step) {
      const size_t begin = random() % kBytes, end = begin + 1 + random() % std::min<size_t>(10, kBytes - begin);
      written.Write(kBegin + begin, kBegin + end);
      std::fill(flags.begin() + static_cast<ptrdiff_t>(begin), flags.begin() + static_cast<ptrdiff_t>(end), true);
      const size_t from = random() % kBytes, to = from + 1 + random() % (kBytes - from);
      const bool untouched = std::none_of(flags.begin() + static_cast<ptrdiff_t>(from),
                                          flags.begin() + static_cast<ptrdiff_t>(to), [](bool flag) { return flag; });
      ASSERT_EQ(written.IsUntouched(kBegin + from, kBegin + to), untouched);
    }
  }
}

}  // namespace
}  // namespace millpond::check
