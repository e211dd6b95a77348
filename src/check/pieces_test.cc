// SPDX-License-Identifier: Apache-2.0
#include "src/check/pieces.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace millpond::check {
namespace {

Piece Make(uintptr_t begin, uintptr_t end, uint64_t sequence = 0, Maker maker = Maker::kTorch) {
  Piece piece;
  piece.begin = begin;
  piece.end = end;
  piece.maker = maker;
  piece.sequence = sequence;
  return piece;
}

Piece Told(uintptr_t begin, uintptr_t end, std::string name = "") {
  Piece piece = Make(begin, end, 0, Maker::kProgram);
  piece.name = std::move(name);
  return piece;
}

std::string NameAt(Pieces& pieces, uintptr_t address) {
  const Piece* found = pieces.Find(address);
  return found != nullptr ? found->name : "none";
}

TEST(Pieces, AnAddressBelongsToThePieceThatIsLive) {
  Pieces pieces;
  pieces.Add(Make(100, 200));
  pieces.Add(Make(200, 300));
  EXPECT_EQ(pieces.Find(99), nullptr);
  EXPECT_EQ(pieces.Find(199)->number, 1U);
  EXPECT_EQ(pieces.Find(200)->number, 2U);
  EXPECT_EQ(pieces.Find(300), nullptr);
  ASSERT_TRUE(pieces.Remove(100, false, 7).has_value());
  EXPECT_EQ(pieces.Find(150), nullptr);
  EXPECT_FALSE(pieces.Remove(100, false, 7).has_value());
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

TEST(Pieces, WhatWasLeftIsNobodysUntilItsBytesAreGivenOutAgain) {
  Pieces pieces;
  for (const uintptr_t begin : {100, 200, 300}) {
    pieces.Add(Told(begin, begin + 100));
    pieces.Leave(*pieces.Remove(begin, true, 7));
  }
  EXPECT_EQ(pieces.FindGone(99), nullptr);
  EXPECT_EQ(pieces.FindGone(399)->begin, 300U);
  EXPECT_EQ(pieces.FindGone(150)->freed, 7U);
  EXPECT_TRUE(pieces.has_programs());
  pieces.Add(Told(150, 210));
  EXPECT_EQ(pieces.FindGone(100), nullptr);
  EXPECT_EQ(pieces.FindGone(250), nullptr);
  EXPECT_NE(pieces.FindGone(300), nullptr);
  pieces.Remove(150, true, 7);
  EXPECT_TRUE(pieces.has_programs());
  pieces.Forget(0, 1000);
  EXPECT_EQ(pieces.FindGone(300), nullptr);
  EXPECT_FALSE(pieces.has_programs());
}

TEST(Pieces, TheFormerOwnerIsTheOneThatATaskCanHaveSeen) {
  Pieces pieces;
  for (const uint64_t sequence : {1, 5}) {
    pieces.Add(Make(100, 200, sequence));
    pieces.Remove(100, false, 7);
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
  EXPECT_EQ(pieces.size(), 1U);
  pieces.Forget(0, 151);
  EXPECT_TRUE(pieces.empty());
}

TEST(Pieces, TheLastUserOfEachStreamIsKeptForPluggableAllocators) {
  Pieces pieces;
  pieces.Add(Make(100, 200, 0, Maker::kPluggable));
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

TEST(Pieces, ARangeStaysInThePieceThatItBeginsIn) {
  Pieces pieces;
  EXPECT_TRUE(pieces.empty());
  pieces.Add(Told(100, 200, "a"));
  pieces.Add(Told(200, 300, "b"));
  EXPECT_EQ(pieces.LeftBy(100, 200), nullptr);
  EXPECT_EQ(pieces.LeftBy(150, 200), nullptr);
  ASSERT_NE(pieces.LeftBy(150, 201), nullptr);
  EXPECT_EQ(pieces.LeftBy(150, 201)->name, "a");
  EXPECT_EQ(pieces.LeftBy(50, 250), nullptr) << "begins in none";
  EXPECT_EQ(pieces.LeftBy(300, 400), nullptr);
  EXPECT_EQ(NameAt(pieces, 199), "a");
  EXPECT_EQ(NameAt(pieces, 200), "b");
  EXPECT_EQ(pieces.ProgramsWithin(0, 1000), 2U);
  pieces.Remove(100, true, 7);
  EXPECT_EQ(pieces.LeftBy(150, 201), nullptr) << "it has ended";
  EXPECT_EQ(NameAt(pieces, 150), "none");
}

TEST(Pieces, PiecesOfTheProgramLieInPieces) {
  Pieces pieces;
  pieces.Add(Told(100, 400, "outer"));
  pieces.Add(Told(150, 200, "inner"));
  EXPECT_EQ(NameAt(pieces, 160), "inner");
  EXPECT_EQ(NameAt(pieces, 250), "outer");
  EXPECT_EQ(pieces.LeftBy(160, 300), nullptr) << "it stays in the outer one";
  ASSERT_NE(pieces.LeftBy(160, 500), nullptr);
  EXPECT_EQ(pieces.LeftBy(160, 500)->name, "outer");
  pieces.Remove(150, true, 7);
  EXPECT_EQ(NameAt(pieces, 160), "outer");
  pieces.Add(Told(100, 200, "first"));
  pieces.Remove(100, true, 7);
  EXPECT_EQ(NameAt(pieces, 100), "outer") << "the innermost that begins there ends first";
  pieces.Add(Told(120, 140, "inner"));
  pieces.Remove(100, true, 7);
  EXPECT_EQ(NameAt(pieces, 130), "none") << "what lies in it ends with it";
}

TEST(Pieces, WhatWasNotEndedGivesWay) {
  Pieces pieces;
  pieces.Add(Told(100, 200, "old"));
  pieces.Add(Told(100, 200, "same"));
  EXPECT_EQ(NameAt(pieces, 100), "same");
  pieces.Add(Told(150, 250, "across"));
  EXPECT_EQ(NameAt(pieces, 120), "none");
  EXPECT_EQ(NameAt(pieces, 150), "across");
  pieces.Add(Told(0, 1000, "around"));
  EXPECT_EQ(NameAt(pieces, 150), "around");
  pieces.Add(Told(10, 10, "empty"));
  EXPECT_EQ(pieces.ProgramsWithin(0, 1000), 1U);
  pieces.Forget(0, 10);
  EXPECT_TRUE(pieces.empty());
}

TEST(Pieces, DeeperThanItCountsTheLastOneStands) {
  Pieces pieces;
  for (uintptr_t i = 0; i < 10; ++i) pieces.Add(Told(i, 1000 - i, std::to_string(i)));
  EXPECT_EQ(NameAt(pieces, 500), "9");
  EXPECT_EQ(pieces.LeftBy(500, 1000), nullptr);
  EXPECT_NE(pieces.LeftBy(500, 1001), nullptr);
}

TEST(Pieces, APoolOfTheProgramMayStandOnTorchs) {
  Pieces pieces;
  pieces.Add(Make(100, 400, 0, Maker::kPluggable));
  pieces.Add(Told(100, 200, "inner"));
  EXPECT_EQ(pieces.FindTorchs(150)->maker, Maker::kPluggable);
  EXPECT_EQ(pieces.FindPrograms(150)->name, "inner");
  EXPECT_EQ(pieces.FindPrograms(250), nullptr);
  ASSERT_NE(pieces.LeftBy(150, 300), nullptr);
  EXPECT_EQ(pieces.LeftBy(150, 300)->name, "inner") << "torch_npu's own pieces bound nothing";
  EXPECT_EQ(pieces.LeftBy(250, 500), nullptr);
  EXPECT_EQ(pieces.ProgramsWithin(0, 1000), 1U);
  EXPECT_FALSE(pieces.Remove(250, true, 7).has_value());
  EXPECT_EQ(pieces.Remove(100, false, 7)->end, 400U);
  EXPECT_TRUE(pieces.empty());
  EXPECT_FALSE(pieces.has_programs());
  EXPECT_NE(pieces.FindFormer(150, 1), nullptr);
}

TEST(Pieces, AFunctionThatTellsWhatItGivesTorchOverlapsNothing) {
  Pieces pieces;
  pieces.Add(Told(100, 400, "told in my_malloc"));
  EXPECT_EQ(pieces.Overlapping(100, 400), nullptr);
  pieces.Add(Make(100, 400, 0, Maker::kPluggable));
  EXPECT_EQ(pieces.FindPrograms(150)->name, "told in my_malloc");
  EXPECT_NE(pieces.Overlapping(399, 500), nullptr);
  EXPECT_TRUE(pieces.Remove(100, false, 7).has_value());
  EXPECT_TRUE(pieces.Remove(100, true, 7).has_value());
  EXPECT_TRUE(pieces.empty());
}

}  // namespace
}  // namespace millpond::check
