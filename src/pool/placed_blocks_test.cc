// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placed_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace millpond::pool {
namespace {

constexpr size_t kUnitBytes = 512;
constexpr Address kBase = Address{1} << 30;

// Blocks are freed at random, often later than any plan could have known, and some outlive their run.
TEST(PlacedBlocks, AgreeWithComparingEveryPair) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    Plan plan{.places = {}, .area_bytes = {kUnitBytes * 64}};
    for (int i = 0; i < 200; ++i) {
      const size_t units = 1 + random() % 6;
      plan.places.push_back({.bytes = units * kUnitBytes - random() % 100,
                             .stream = 0,
                             .offset = kUnitBytes * (random() % (64 - units))});
    }
    PlacedBlocks blocks(plan, {kBase});
    std::map<Address, Address> live;  // begin and end
    size_t refused = 0;
    size_t placed = 0;
    for (int run = 0; run < 8; ++run) {
      blocks.BeginRun();
      for (size_t place = 0; place < plan.places.size(); ++place) {
        const PlacedBlocks::Spot& spot = blocks.at(place);
        bool expected = true;
        for (const auto& [begin, end] : live) {
          expected = expected && (end <= spot.address || begin >= spot.address + spot.bytes);
        }
        ASSERT_EQ(blocks.IsFree(place), expected) << "round " << round << ", run " << run << ", place " << place;
        if (!expected) {  // the run's planning ends here
          ++refused;
          break;
        }
        blocks.Insert(place);
        live[spot.address] = spot.address + spot.bytes;
        ++placed;
        while (!live.empty() && random() % 20 != 0) {
          const auto freed = std::next(live.begin(), static_cast<ptrdiff_t>(random() % live.size()));
          const PlacedBlocks::Spot* const found = blocks.Find(freed->first);
          ASSERT_NE(found, nullptr);
          EXPECT_EQ(found->address + found->bytes, freed->second);
          blocks.Erase(*found);
          EXPECT_EQ(blocks.Find(freed->first), nullptr);
          live.erase(freed);
        }
        ASSERT_EQ(blocks.count(), live.size());
      }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(placed, 0u);
  }
}

TEST(PlacedBlocks, ClearForgetsWhatIsLive) {
  const Plan plan{.places = {{.bytes = 1, .stream = 0, .offset = 0}, {.bytes = 1, .stream = 1, .offset = 0}},
                  .area_bytes = {kUnitBytes, kUnitBytes}};
  PlacedBlocks blocks(plan, {kBase, 2 * kBase});
  blocks.BeginRun();
  blocks.Insert(0);
  blocks.Insert(1);
  EXPECT_EQ(blocks.Find(2 * kBase)->area, 1u);
  blocks.Clear();
  EXPECT_EQ(blocks.count(), 0u);
  EXPECT_EQ(blocks.Find(2 * kBase), nullptr);
  EXPECT_TRUE(blocks.IsFree(1));
}

}  // namespace
}  // namespace millpond::pool
