// SPDX-License-Identifier: Apache-2.0
#include "src/comm/match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "src/comm/call_sites.h"
#include "src/comm/element.h"

namespace millpond::comm {
namespace {

constexpr uint32_t kRanks = 3;
constexpr uint64_t kSequence = 4;

class MatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(World::MakeFile(&file_).ok());
    ASSERT_TRUE(World::Map(file_->get(), kRanks, &world_).ok());
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      Asked(rank) = Call(Operation::kAllReduce, 10, Reduction::kSum);
      Counts(rank, {});
    }
  }
  static Descriptor Call(Operation operation, uint64_t count, Reduction reduction = Reduction::kNone) {
    Descriptor what;
    what.sequence = kSequence;
    what.count = count;
    what.operation = static_cast<uint32_t>(operation);
    what.type = static_cast<uint32_t>(Element::kFloat32);
    what.reduction = static_cast<uint32_t>(reduction);
    return what;
  }
  Descriptor& Asked(uint32_t rank) { return world_->cell(rank).descriptors[kSequence % kHalves]; }
  // What it sends to each rank, then what it expects from each.
  void Counts(uint32_t rank, std::vector<uint64_t> counts) {
    counts.resize(2 * size_t{kRanks}, 0);
    std::copy(counts.begin(), counts.end(), world_->counts(rank, kSequence));
  }
  std::string Said() const { return Match(*world_, "world", kSequence).message(); }

  SharedFd file_;
  std::shared_ptr<World> world_;
};

TEST_F(MatchTest, EqualCallsAgree) { EXPECT_EQ(Said(), ""); }

TEST_F(MatchTest, EachOfWhatIsComparedIsEnoughToDisagree) {
  const Descriptor usual = Asked(2);
  const auto expect = [&](const char* text, Descriptor changed) {
    Asked(2) = changed;
    EXPECT_NE(Said().find(text), std::string::npos) << text << " is not in: " << Said();
    Asked(2) = usual;
  };
  Descriptor changed = usual;
  changed.count = 11;
  expect("count: 10 (ranks 0, 1), 11 (rank 2)", changed);
  changed = usual;
  changed.type = static_cast<uint32_t>(Element::kInt32);
  expect("data type: fp32 (ranks 0, 1), int32 (rank 2)", changed);
  changed = usual;
  changed.reduction = static_cast<uint32_t>(Reduction::kMax);
  expect("reduction: max (rank 2), sum (ranks 0, 1)", changed);
  for (uint32_t rank = 0; rank < kRanks; ++rank) Asked(rank) = Call(Operation::kBroadcast, 10);
  changed = Asked(2);
  changed.root = 1;
  expect("root: 0 (ranks 0, 1), 1 (rank 2)", changed);
}

TEST_F(MatchTest, WhatAnOperationDoesNotHaveIsNone) {
  Asked(1) = Call(Operation::kBroadcast, 10);
  Asked(2) = Call(Operation::kBarrier, 0);
  const std::string said = Said();
  for (const char* text : {"operation: HcclAllReduce (rank 0), HcclBarrier (rank 2), HcclBroadcast (rank 1)",
                           "count: 10 (ranks 0, 1), none (rank 2)", "data type: fp32 (ranks 0, 1), none (rank 2)",
                           "reduction: none (ranks 1, 2), sum (rank 0)", "root: 0 (rank 1), none (ranks 0, 2)"}) {
    EXPECT_NE(said.find(text), std::string::npos) << text << " is not in: " << said;
  }
}

TEST_F(MatchTest, ListsAreComparedEntryByEntry) {
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    Asked(rank) = Call(Operation::kAllGatherV, 0);
    Counts(rank, {1, 2, 3});
  }
  EXPECT_EQ(Said(), "");
  Counts(1, {1, 2, 4});
  EXPECT_NE(Said().find("count for rank 2: 3 (ranks 0, 2), 4 (rank 1)"), std::string::npos) << Said();
}

TEST_F(MatchTest, WhatOneSendsTheOtherMustExpect) {
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    Asked(rank) = Call(Operation::kAlltoAllV, 0);
    Counts(rank, {rank, rank, rank, 0, 1, 2});
  }
  EXPECT_EQ(Said(), "");
  Counts(0, {0, 0, 0, 0, 1, 5});
  EXPECT_NE(Said().find("rank 2 sends 2 elements to rank 0, which expects 5"), std::string::npos) << Said();
}

TEST_F(MatchTest, TheLastOperationIsUnderWayDoneOrFailed) {
  CallSites sites;
  RankCell& cell = world_->cell(0);
  EXPECT_EQ(LastOperation(*world_, 0), "no operation yet");
  const uint64_t first = sites.Begin(&cell, Asked(0));
  EXPECT_EQ(LastOperation(*world_, 0), "HcclAllReduce (10 of fp32, sum; its operation 4, under way)");
  sites.Over(&cell, first);
  EXPECT_EQ(LastOperation(*world_, 0), "HcclAllReduce (10 of fp32, sum; its operation 4, done)");
  sites.Over(&cell, sites.Begin(&cell, Asked(0)), /*well=*/false);
  EXPECT_EQ(LastOperation(*world_, 0), "HcclAllReduce (10 of fp32, sum; its operation 4, failed)");
}

}  // namespace
}  // namespace millpond::comm
