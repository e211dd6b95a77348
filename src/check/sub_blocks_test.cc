// SPDX-License-Identifier: Apache-2.0
#include "src/check/sub_blocks.h"

#include <gtest/gtest.h>

#include <string>

namespace millpond::check {
namespace {

SubBlock Part(uintptr_t begin, uintptr_t end, std::string name = "") {
  return {.begin = begin, .end = end, .name = std::move(name), .stream = -1, .sequence = 0, .stack = 0};
}

std::string NameAt(const SubBlocks& parts, uintptr_t address) {
  const SubBlock* found = parts.Find(address);
  return found != nullptr ? found->name : "none";
}

TEST(SubBlocksTest, ARangeStaysInThePartThatItBeginsIn) {
  SubBlocks parts;
  EXPECT_TRUE(parts.empty());
  parts.Begin(Part(100, 200, "a"));
  parts.Begin(Part(200, 300, "b"));
  EXPECT_EQ(parts.LeftBy(100, 200), nullptr);
  EXPECT_EQ(parts.LeftBy(150, 200), nullptr);
  ASSERT_NE(parts.LeftBy(150, 201), nullptr);
  EXPECT_EQ(parts.LeftBy(150, 201)->name, "a");
  EXPECT_EQ(parts.LeftBy(50, 250), nullptr) << "begins in none";
  EXPECT_EQ(parts.LeftBy(300, 400), nullptr);
  EXPECT_EQ(NameAt(parts, 199), "a");
  EXPECT_EQ(NameAt(parts, 200), "b");
  EXPECT_EQ(parts.Within(0, 1000), 2U);
  parts.End(100);
  EXPECT_EQ(parts.LeftBy(150, 201), nullptr) << "it has ended";
  EXPECT_EQ(NameAt(parts, 150), "none");
}

TEST(SubBlocksTest, PartsLieInParts) {
  SubBlocks parts;
  parts.Begin(Part(100, 400, "outer"));
  parts.Begin(Part(150, 200, "inner"));
  EXPECT_EQ(NameAt(parts, 160), "inner");
  EXPECT_EQ(NameAt(parts, 250), "outer");
  EXPECT_EQ(parts.LeftBy(160, 300), nullptr) << "it stays in the outer one";
  ASSERT_NE(parts.LeftBy(160, 500), nullptr);
  EXPECT_EQ(parts.LeftBy(160, 500)->name, "outer");
  parts.End(150);
  EXPECT_EQ(NameAt(parts, 160), "outer");
  parts.Begin(Part(100, 200, "first"));
  parts.End(100);
  EXPECT_EQ(NameAt(parts, 100), "outer") << "the innermost that begins there ends first";
  parts.Begin(Part(120, 140, "inner"));
  parts.End(100);
  EXPECT_EQ(NameAt(parts, 130), "none") << "what lies in it ends with it";
}

TEST(SubBlocksTest, WhatWasNotEndedGivesWay) {
  SubBlocks parts;
  parts.Begin(Part(100, 200, "old"));
  parts.Begin(Part(100, 200, "same"));
  EXPECT_EQ(NameAt(parts, 100), "same");
  parts.Begin(Part(150, 250, "across"));
  EXPECT_EQ(NameAt(parts, 120), "none");
  EXPECT_EQ(NameAt(parts, 150), "across");
  parts.Begin(Part(0, 1000, "around"));
  EXPECT_EQ(NameAt(parts, 150), "around");
  parts.Begin(Part(10, 10, "empty"));
  EXPECT_EQ(parts.Within(0, 1000), 1U);
  parts.Forget(0, 10);
  EXPECT_TRUE(parts.empty());
}

TEST(SubBlocksTest, DeeperThanItCountsTheLastOneStands) {
  SubBlocks parts;
  for (uintptr_t i = 0; i < 10; ++i) parts.Begin(Part(i, 1000 - i, std::to_string(i)));
  EXPECT_EQ(NameAt(parts, 500), "9");
  EXPECT_EQ(parts.LeftBy(500, 1000), nullptr);
  EXPECT_NE(parts.LeftBy(500, 1001), nullptr);
}

}  // namespace
}  // namespace millpond::check
