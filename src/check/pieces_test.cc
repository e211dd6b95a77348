// SPDX-License-Identifier: Apache-2.0
#include "src/check/pieces.h"

#include <gtest/gtest.h>

namespace millpond::check {
namespace {

Piece Make(uintptr_t begin, uintptr_t end, uint64_t sequence = 0, bool pluggable = false) {
  Piece piece;
  piece.begin = begin;
  piece.end = end;
  piece.sequence = sequence;
  piece.pluggable = pluggable;
  return piece;
}

TEST(Pieces, AnAddressBelongsToThePieceThatIsLive) {
  Pieces pieces;
  pieces.Add(Make(100, 200));
  pieces.Add(Make(200, 300));
  EXPECT_EQ(pieces.Find(99), nullptr);
  EXPECT_EQ(pieces.Find(199)->number, 1U);
  EXPECT_EQ(pieces.Find(200)->number, 2U);
  EXPECT_EQ(pieces.Find(300), nullptr);
  ASSERT_TRUE(pieces.Remove(100, 7).has_value());
  EXPECT_EQ(pieces.Find(150), nullptr);
  EXPECT_FALSE(pieces.Remove(100, 7).has_value());
}

TEST(Pieces, WhatSharesAByteOverlaps) {
  Pieces pieces;
  pieces.Add(Make(100, 200));
  EXPECT_EQ(pieces.Overlapping(0, 100), nullptr);
  EXPECT_NE(pieces.Overlapping(0, 101), nullptr);
  EXPECT_NE(pieces.Overlapping(199, 400), nullptr);
  EXPECT_NE(pieces.Overlapping(50, 400), nullptr);
  EXPECT_EQ(pieces.Overlapping(200, 400), nullptr);
}

TEST(Pieces, TheFormerOwnerIsTheOneThatATaskCanHaveSeen) {
  Pieces pieces;
  for (const uint64_t sequence : {1, 5}) {
    pieces.Add(Make(100, 200, sequence));
    pieces.Remove(100, 7);
  }
  EXPECT_EQ(pieces.FindFormer(150, 9)->sequence, 5U);
  EXPECT_EQ(pieces.FindFormer(150, 5)->sequence, 1U);  // its task came before the second was given out
  EXPECT_EQ(pieces.FindFormer(150, 1), nullptr);
  EXPECT_EQ(pieces.FindFormer(200, 9), nullptr);
}

TEST(Pieces, ANewPieceTakesThePlaceOfWhatWasSaidOfItsBytes) {
  Pieces pieces;
  pieces.Add(Make(100, 200));
  pieces.Add(Make(200, 300));
  pieces.Add(Make(150, 250));
  EXPECT_EQ(pieces.live().size(), 1U);
  pieces.Forget(0, 151);
  EXPECT_TRUE(pieces.live().empty());
}

TEST(Pieces, TheLastUserOfEachStreamIsKeptForPluggableAllocators) {
  Pieces pieces;
  pieces.Add(Make(100, 200, 0, true));
  pieces.Add(Make(200, 300));
  const auto touch = [&](uintptr_t address, int32_t stream, uint64_t count) {
    Use use;
    use.at = {stream, count};
    pieces.Touch({reinterpret_cast<const void*>(address), 8, trace::Mode::kRead}, use);
  };
  touch(100, 1, 1);
  touch(110, 1, 2);
  touch(120, 3, 1);
  touch(200, 3, 2);
  const Piece* piece = pieces.Find(100);
  ASSERT_EQ(piece->users.size(), 2U);
  EXPECT_EQ(piece->users[0].at.count, 2U);
  EXPECT_EQ(piece->users[1].at.stream, 3);
  EXPECT_TRUE(pieces.Find(200)->users.empty());
}

}  // namespace
}  // namespace millpond::check
