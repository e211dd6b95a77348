// SPDX-License-Identifier: Apache-2.0
#include "src/check/shadow.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace millpond::check {
namespace {

using trace::Access;
using trace::Mode;

Access At(uintptr_t begin, size_t bytes, Mode mode) { return {reinterpret_cast<void*>(begin), bytes, mode}; }
Access Rows(uintptr_t begin, size_t bytes, uint32_t rows, size_t pitch, Mode mode) {
  return {reinterpret_cast<void*>(begin), bytes, mode, 0, rows, pitch};
}

class ShadowTest : public testing::Test {
 protected:
  // Whether the access conflicts with an earlier one.
  bool Touch(int32_t stream, const Access& access) {
    const uint64_t count = ++counts_[stream];
    conflicts_.clear();
    shadow_.Touch(access, {{stream, count}, ++tasks_, 0, 0}, &conflicts_);
    return !conflicts_.empty();
  }
  bool HostTouches(const Access& access) {
    conflicts_.clear();
    shadow_.TouchByHost(access, &conflicts_);
    return !conflicts_.empty();
  }
  // Stream `to` waits for all that `from` has done.
  void Hand(int32_t from, int32_t to) {
    const uint64_t generation = ++tasks_;
    order_.Record({trace::Edge::Kind::kRecord, trace::Link::kEvent, false, 0, 7, generation}, {from, ++counts_[from]});
    order_.Wait({trace::Edge::Kind::kWait, trace::Link::kEvent, false, 0, 7, generation}, {to, ++counts_[to]});
  }

  Order order_;
  Shadow shadow_{&order_};
  std::vector<Conflict> conflicts_;
  std::map<int32_t, uint64_t> counts_;
  uint64_t tasks_ = 0;
};

TEST_F(ShadowTest, ReadersDoNotDisturbEachOther) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kRead)));
  EXPECT_FALSE(Touch(2, At(1000, 100, Mode::kRead)));
}

// However many streams read: the one that nobody waited for is found.
TEST_F(ShadowTest, AWriteIsComparedWithEachOfManyReaders) {
  for (int32_t unordered = 1; unordered <= 12; ++unordered) {
    const uintptr_t begin = 1000 * static_cast<uintptr_t>(unordered);
    EXPECT_FALSE(Touch(20, At(begin, 100, Mode::kWrite)));
    for (int32_t reader = 1; reader <= 12; ++reader) Hand(20, reader);
    for (int32_t reader = 1; reader <= 12; ++reader) {
      EXPECT_FALSE(Touch(reader, At(begin, 100, Mode::kRead)));
      if (reader != unordered) Hand(reader, 20);
    }
    EXPECT_TRUE(Touch(20, At(begin, 100, Mode::kWrite)));
    ASSERT_FALSE(conflicts_.empty());
    EXPECT_EQ(conflicts_[0].earlier.at.stream, unordered);
    Hand(unordered, 20);
    EXPECT_FALSE(Touch(20, At(begin, 100, Mode::kWrite)));
  }
}

TEST_F(ShadowTest, AWriteAndAReadOfTwoStreamsConflictWhicheverComesFirst) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  EXPECT_TRUE(Touch(2, At(1099, 100, Mode::kRead)));
  EXPECT_EQ(conflicts_[0].earlier.at.stream, 1);
  EXPECT_TRUE(conflicts_[0].earlier_writes);
  EXPECT_FALSE(conflicts_[0].later_writes);
  EXPECT_EQ(conflicts_[0].begin, 1099u);
  EXPECT_EQ(conflicts_[0].end, 1100u);
  EXPECT_FALSE(Touch(1, At(5000, 8, Mode::kRead)));
  EXPECT_TRUE(Touch(2, At(5004, 8, Mode::kWrite)));
}

TEST_F(ShadowTest, NeighboursDoNotConflict) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  EXPECT_FALSE(Touch(2, At(1100, 100, Mode::kWrite)));
  EXPECT_FALSE(Touch(2, At(900, 100, Mode::kWrite)));
}

TEST_F(ShadowTest, AnOrderBetweenThemSettlesIt) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  Hand(1, 2);
  EXPECT_FALSE(Touch(2, At(1000, 100, Mode::kReadWrite)));
  EXPECT_TRUE(Touch(1, At(1000, 100, Mode::kRead))) << "nothing orders it after stream 2's write";
}

TEST_F(ShadowTest, AWriteConflictsWithEveryReaderSinceTheLastWrite) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  Hand(1, 2);
  Hand(1, 3);
  EXPECT_FALSE(Touch(2, At(1000, 50, Mode::kRead)));
  EXPECT_FALSE(Touch(3, At(1050, 50, Mode::kRead)));
  Hand(2, 1);
  EXPECT_TRUE(Touch(1, At(1000, 100, Mode::kWrite)));
  EXPECT_EQ(conflicts_[0].earlier.at.stream, 3);
  EXPECT_EQ(conflicts_[0].begin, 1050u);
}

TEST_F(ShadowTest, TheHostConflictsWithWhatItHasNotWaitedFor) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  EXPECT_TRUE(HostTouches(At(1000, 1, Mode::kRead)));
  order_.HostKnows({1, counts_[1]});
  EXPECT_FALSE(HostTouches(At(1000, 1, Mode::kRead)));
}

TEST_F(ShadowTest, ColumnsOfOneMatrixOnTwoStreamsDoNotConflict) {
  EXPECT_FALSE(Touch(1, Rows(0x10000, 64, 4096, 128, Mode::kWrite)));
  EXPECT_FALSE(Touch(2, Rows(0x10040, 64, 4096, 128, Mode::kWrite)));
  EXPECT_TRUE(Touch(3, Rows(0x1003f, 2, 4096, 128, Mode::kRead)));
  EXPECT_FALSE(Touch(3, At(0x10000 + 4096 * 128, 64, Mode::kRead)));
  EXPECT_TRUE(Touch(3, At(0x10000 + 4095 * 128 + 64, 64, Mode::kRead)));
}

TEST_F(ShadowTest, ARangeThatMayBeTouchedProvesNothing) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  EXPECT_FALSE(Touch(2, {reinterpret_cast<void*>(1000), 100, Mode::kWrite, trace::kMayTouch}));
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
}

TEST_F(ShadowTest, ANewLifeOfTheBytesForgetsTheOldUses) {
  EXPECT_FALSE(Touch(1, At(1000, 100, Mode::kWrite)));
  shadow_.Forget(1040, 1060);
  EXPECT_FALSE(Touch(2, At(1040, 20, Mode::kWrite)));
  EXPECT_TRUE(Touch(2, At(1039, 1, Mode::kWrite)));
  EXPECT_TRUE(Touch(2, At(1060, 1, Mode::kWrite)));
}

TEST_F(ShadowTest, SweepingDropsWhatIsDoneAndKeepsTheRest) {
  for (uintptr_t n = 0; n < 100; ++n) EXPECT_FALSE(Touch(1, At(1000 + 10 * n, 10, Mode::kRead)));
  order_.HostKnows({1, 50});
  shadow_.Sweep();
  EXPECT_EQ(shadow_.cells(), 50u);
  EXPECT_FALSE(Touch(2, At(1000, 500, Mode::kWrite)));
  EXPECT_TRUE(Touch(2, At(1500, 10, Mode::kWrite)));
}

// Against a model that keeps, for every byte, every access ever made.
TEST_F(ShadowTest, RandomAccessesConflictExactlyWhenSomeByteHasAnUnorderedPartner) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    Order order;
    Shadow shadow(&order);
    struct Seen {
      Epoch at;
      bool writes;
    };
    std::vector<std::vector<Seen>> bytes(64);
    std::map<int32_t, uint64_t> counts;
    for (uint64_t task = 1; task <= 60; ++task) {
      const int32_t stream = static_cast<int32_t>(random() % 3);
      if (random() % 4 == 0) {
        const int32_t other = static_cast<int32_t>(random() % 3);
        order.Record({trace::Edge::Kind::kRecord, trace::Link::kEvent, false, 0, 7, task}, {stream, ++counts[stream]});
        order.Wait({trace::Edge::Kind::kWait, trace::Link::kEvent, false, 0, 7, task}, {other, ++counts[other]});
        continue;
      }
      if (random() % 8 == 0) {
        order.HostKnows({stream, counts[stream]});
        shadow.Sweep();
        continue;
      }
      const size_t begin = random() % 56, size = 1 + random() % 8;
      const Mode mode = static_cast<Mode>(random() % 3);
      const bool writes = mode != Mode::kRead;
      const Epoch at{stream, ++counts[stream]};
      bool expected = false;
      for (size_t byte = begin; byte < begin + size; ++byte) {
        for (const Seen& seen : bytes[byte]) {
          expected |= (seen.writes || writes) && order.RelationTo(seen.at, stream) == Order::Relation::kUnordered;
        }
        bytes[byte].push_back({at, writes});
      }
      std::vector<Conflict> found;
      shadow.Touch(At(1000 + begin, size, mode), {at, task, 0, 0}, &found);
      // An older partner may hide behind a younger one: where the shadow is silent, the model's partner lies behind a
      // conflict that was told. So silence may only follow an earlier finding about these bytes.
      if (!expected) {
        EXPECT_TRUE(found.empty()) << "seed " << seed << ", task " << task;
      }
      if (expected && found.empty()) {
        bool behind = false;
        for (size_t byte = begin; byte < begin + size; ++byte) behind |= bytes[byte].size() > 2;
        EXPECT_TRUE(behind) << "seed " << seed << ", task " << task;
      }
    }
  }
}

// Against a twin that is told of every range of every replay, and so tells a conflict anew with each: once is enough.
TEST_F(ShadowTest, AReplayThatLooksOnlyAtWhatChangedFindsWhatOneThatLooksAtAllFinds) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    Order order;
    Shadow shadow(&order), twin(&order);
    const auto any = [&](bool may_have_rows) {
      const uintptr_t begin = 1000 + random() % 56;
      const size_t size = 1 + random() % 8;
      const Mode mode = static_cast<Mode>(random() % 3);
      return may_have_rows && random() % 4 == 0 ? Rows(begin, 1 + size / 4, 3, 4, mode) : At(begin, size, mode);
    };
    std::vector<std::vector<Access>> graphs(2);
    for (auto& accesses : graphs) {
      for (uint32_t i = 0; i < 6; ++i) accesses.push_back(any(seed % 2 == 1));
    }
    const Repeated repeated[] = {Repeated(graphs[0]), Repeated(graphs[1])};
    std::map<int32_t, uint64_t> counts;
    std::set<std::pair<uint32_t, const Access*>> told;  // one conflict of an access may hide behind another
    for (uint64_t task = 1; task <= 80; ++task) {
      const auto stream = static_cast<int32_t>(random() % 3);
      std::vector<Conflict> found, expected;
      uint32_t graph = 0;
      bool fresh = false;
      switch (random() % 8) {
        case 0: {
          const auto other = static_cast<int32_t>(random() % 3);
          order.Record({trace::Edge::Kind::kRecord, trace::Link::kEvent, false, 0, 7, task},
                       {stream, ++counts[stream]});
          order.Wait({trace::Edge::Kind::kWait, trace::Link::kEvent, false, 0, 7, task}, {other, ++counts[other]});
          continue;
        }
        case 1:
          order.HostKnows({stream, counts[stream]});
          if (random() % 4 == 0) shadow.Sweep();
          continue;
        case 2: {
          const uintptr_t begin = 1000 + random() % 60;
          shadow.Forget(begin, begin + 3);
          twin.Forget(begin, begin + 3);
          continue;
        }
        case 3: {
          const Access access = any(seed % 2 == 1);
          const Use use{{stream, ++counts[stream]}, task, 0, 0};
          shadow.Touch(access, use, &found);
          twin.Touch(access, use, &expected);
          break;
        }
        default: {
          graph = 1 + static_cast<uint32_t>(random() % 2);
          const int32_t on = random() % 4 == 0 ? stream : static_cast<int32_t>(graph);
          const Use use{{on, ++counts[on]}, task, 0, 0};
          const Repeated& ranges = repeated[graph - 1];
          shadow.TouchAgain(graph, ranges, use, &found);
          for (const auto* accesses : {&ranges.plain, &ranges.strided}) {
            for (const Access& access : *accesses) {
              const size_t before = expected.size();
              twin.Touch(access, use, &expected);
              fresh |= expected.size() > before && told.insert({graph, &access}).second;
            }
          }
          break;
        }
      }
      if (graph == 0) {
        EXPECT_EQ(found.empty(), expected.empty()) << "seed " << seed << ", task " << task;
        continue;
      }
      if (fresh) {
        EXPECT_FALSE(found.empty()) << "seed " << seed << ", task " << task;
      }
      if (expected.empty()) {
        EXPECT_TRUE(found.empty()) << "seed " << seed << ", task " << task;
      }
    }
  }
}

TEST_F(ShadowTest, AReplayIsComparedWithWhatAnotherStreamDidSinceTheLastOne) {
  const Repeated ranges({At(1000, 100, Mode::kWrite), At(5000, 100, Mode::kRead)});
  const auto replay = [&] {
    conflicts_.clear();
    shadow_.TouchAgain(1, ranges, {{1, ++counts_[1]}, ++tasks_, 0, 0}, &conflicts_);
    return !conflicts_.empty();
  };
  EXPECT_FALSE(replay());
  EXPECT_FALSE(replay());
  EXPECT_TRUE(Touch(2, At(1050, 1, Mode::kRead))) << "the second replay is not ordered before it";
  EXPECT_TRUE(replay());
  Hand(1, 2);
  EXPECT_FALSE(Touch(2, At(1000, 100, Mode::kRead)));
  EXPECT_FALSE(Touch(2, At(5000, 100, Mode::kRead)));
  Hand(2, 1);
  EXPECT_FALSE(replay());
  EXPECT_TRUE(Touch(2, At(5000, 1, Mode::kWrite))) << "the last replay reads it";
}

// A shadow that was cleared because it was full has no uses that a graph could go on with.
TEST_F(ShadowTest, AReplayBehindAnOverflowIsComparedAnew) {
  const Repeated ranges({At(1000, 100, Mode::kWrite)});
  const auto replay = [&] {
    conflicts_.clear();
    shadow_.TouchAgain(1, ranges, {{1, ++counts_[1]}, ++tasks_, 0, 0}, &conflicts_);
    return !conflicts_.empty();
  };
  EXPECT_FALSE(replay());
  for (uintptr_t range = 1; shadow_.forgotten() == 0; ++range) {
    ASSERT_LE(range, uintptr_t{1} << 20);
    EXPECT_FALSE(Touch(2, At(range << 12, 8, Mode::kWrite)));
  }
  EXPECT_FALSE(replay());
  EXPECT_TRUE(Touch(2, At(1000, 1, Mode::kRead))) << "the replay behind the overflow writes it";
}

}  // namespace
}  // namespace millpond::check
