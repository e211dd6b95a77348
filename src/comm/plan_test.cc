// SPDX-License-Identifier: Apache-2.0
#include "src/comm/plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "src/comm/traffic.h"

namespace millpond::comm {
namespace {

constexpr Operation kEach[] = {Operation::kAllReduce,  Operation::kReduce,        Operation::kReduceScatter,
                               Operation::kBroadcast,  Operation::kScatter,       Operation::kAllGather,
                               Operation::kAllGatherV, Operation::kAlltoAll,      Operation::kAlltoAllV,
                               Operation::kAlltoAllVC, Operation::kReduceScatterV};

std::vector<uint32_t> HostsOf(const std::vector<uint32_t>& ranks) {
  std::vector<uint32_t> hosts;
  for (uint32_t host = 0; host < ranks.size(); ++host) hosts.insert(hosts.end(), ranks[host], host);
  return hosts;
}

size_t Given(const JobPlan& plan, uint32_t giver, uint32_t taker) {
  size_t bytes = 0;
  for (size_t round = 0; round < plan.rounds(); ++round) bytes += NeededBy(plan.ShapeOf(giver), taker, round).bytes;
  return bytes;
}

// What `taker` needs of `giver` in the whole operation; of an AllReduce in two phases the phases together are asked.
size_t Expected(Operation operation, size_t bytes, uint32_t root, uint32_t giver, uint32_t taker) {
  if (giver == taker) return 0;
  switch (operation) {
    case Operation::kReduce:
      return taker == root ? bytes : 0;
    case Operation::kBroadcast:
    case Operation::kScatter:
      return giver == root ? bytes : 0;
    default:
      return bytes;
  }
}

TEST(Plan, EachRankIsGivenWhatItTakesOnceAndNothingElse) {
  for (const Operation operation : kEach) {
    for (const uint32_t ranks : {2U, 3U, 7U}) {
      for (const size_t bytes : {size_t{4}, size_t{60000}, size_t{5} << 20}) {
        const JobPlan plan({operation, bytes, ranks - 1, 1, HostsOf({1, ranks - 1})});
        if (plan.course() != Course::kRounds || InTwoPhases(plan.ShapeOf(0))) continue;
        for (uint32_t giver = 0; giver < ranks; ++giver) {
          for (uint32_t taker = 0; taker < ranks; ++taker) {
            EXPECT_EQ(Given(plan, giver, taker), Expected(operation, bytes, ranks - 1, giver, taker))
                << OperationName(static_cast<uint32_t>(operation)) << " of " << bytes << ", " << giver << " to "
                << taker;
          }
        }
      }
    }
  }
}

// First each rank is given its piece of everybody's chunk, then everybody the reduced pieces.
TEST(Plan, TwoPhasesOfAnAllReduceCoverTheBufferOnce) {
  constexpr size_t kBytes = (size_t{5} << 20) + 12;
  const JobPlan plan({Operation::kAllReduce, kBytes, 0, 1, HostsOf({1, 1, 1})});
  ASSERT_EQ(plan.course(), Course::kRounds);
  ASSERT_TRUE(InTwoPhases(plan.ShapeOf(0)));
  ASSERT_EQ(plan.rounds(), 6U);
  size_t first = 0, second = 0;
  for (size_t round = 0; round < plan.rounds(); ++round) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const uint32_t next = (rank + 1) % 3;
      (round % 2 == 0 ? first : second) += NeededBy(plan.ShapeOf(next), rank, round).bytes;
    }
    const size_t chunk = RoundOf(kBytes, StageBytesOf(plan.ShapeOf(0)), round / 2).bytes;
    size_t end = 0;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const Part piece = PieceOfChunk(plan.ShapeOf(0), chunk, rank);
      EXPECT_EQ(piece.offset, end);
      end += piece.bytes;
    }
    EXPECT_EQ(end, chunk);
  }
  EXPECT_EQ(first, kBytes);
  EXPECT_EQ(second, kBytes);
}

TEST(Plan, TheWayFollowsFromSizeOperationAndHosts) {
  constexpr size_t kLarge = 256 * 1024;
  const auto course = [](Operation operation, size_t bytes, const std::vector<uint32_t>& hosts) {
    return JobPlan({operation, bytes, 0, 1, hosts}).course();
  };
  const std::vector<uint32_t> one = HostsOf({4}), two = HostsOf({2, 2}), single = HostsOf({1, 1});
  EXPECT_EQ(course(Operation::kAllReduce, kLarge, one), Course::kDirect);
  EXPECT_EQ(course(Operation::kAllReduce, kLarge - 4, one), Course::kRounds);
  EXPECT_EQ(course(Operation::kAllReduce, kLarge, two), Course::kChain);
  EXPECT_EQ(course(Operation::kAllReduce, kLarge, single), Course::kRounds);
  EXPECT_EQ(course(Operation::kAllReduce, kLarge, {0, 1, 0, 1}), Course::kRounds);  // no host after the other
  EXPECT_EQ(course(Operation::kAllGather, kLarge, two), Course::kRounds);
  EXPECT_EQ(course(Operation::kAllGather, kLarge / 4, one), Course::kDirect);
  EXPECT_EQ(course(Operation::kAlltoAll, kLarge / 4, two), Course::kExchange);
  EXPECT_EQ(course(Operation::kAlltoAll, kLarge / 4 - 4, two), Course::kRounds);
  EXPECT_EQ(course(Operation::kBarrier, 0, one), Course::kRounds);
}

// A rank that has nothing to move keeps nobody from it.
TEST(Plan, ListsMayBeEmptyOnARank) {
  const std::vector<Part> none(2), few = {{0, 4}, {4, 4}};
  Shape shape{.operation = Operation::kAlltoAllV, .ranks = 2, .send_parts = none, .receive_parts = none};
  EXPECT_EQ(CourseOf(shape, {}), Course::kDirect);
  shape.send_parts = few;
  EXPECT_EQ(CourseOf(shape, {}), Course::kRounds);
}

TEST(Plan, TheChainSharesTheBufferAndItsEndsKnowEachOther) {
  constexpr size_t kBytes = (size_t{3} << 20) + 8;
  const JobPlan plan({Operation::kAllReduce, kBytes, 0, 2, HostsOf({2, 3, 2})});
  ASSERT_EQ(plan.course(), Course::kChain);
  EXPECT_EQ(plan.rounds(), 0U);
  for (uint32_t host = 0; host < 3; ++host) {
    size_t covered = 0;
    for (const uint32_t rank : plan.ranks_of(host)) {
      const ChainPlan chain = plan.ChainOf(rank);
      EXPECT_TRUE(chain.fits);
      EXPECT_EQ(chain.here, plan.ranks_of(host));
      size_t pieces = 0;
      for (size_t i = 0; i < chain.pieces; ++i) {
        EXPECT_EQ(chain.Piece(i).offset, chain.share.offset + pieces);
        pieces += chain.Piece(i).bytes;
      }
      EXPECT_EQ(pieces, chain.share.bytes);
      covered += pieces;
      EXPECT_TRUE(!chain.after || plan.ChainOf(*chain.after).before == rank);
      EXPECT_TRUE(!chain.before || plan.ChainOf(*chain.before).after == rank);
      EXPECT_LE(chain.piece_bytes * 2, kLaneBytes);  // twice as large on its way
    }
    EXPECT_EQ(covered, kBytes) << "host " << host;
  }
  EXPECT_EQ(plan.ChainOf(4).pieces, 0U);  // the third of its host has no counterpart
}

// What of the result of [0, kBytes) each rank is given, whether on the last host or on its way back.
TEST(Plan, TheChainBringsEachRankItsResultAndNoHostMore) {
  struct Case {
    Operation operation;
    uint32_t root;
  };
  constexpr size_t kPart = (size_t{5} << 20) + 4;
  for (const Case& now : {Case{Operation::kReduceScatter, 0}, Case{Operation::kReduce, 0}, Case{Operation::kReduce, 3},
                          Case{Operation::kReduce, 6}, Case{Operation::kAllReduce, 0}}) {
    for (const size_t scale : {size_t{1}, size_t{2}}) {
      const JobPlan plan({now.operation, kPart, now.root, scale, HostsOf({2, 3, 2})});
      const uint32_t last = plan.hosts() - 1;
      for (uint32_t host = 0; host <= last; ++host) {
        std::vector<size_t> given(7);
        size_t wanted_before = 0;
        for (const uint32_t rank : plan.ranks_of(host)) {
          const ChainPlan chain = plan.ChainOf(rank);
          ASSERT_TRUE(chain.fits);
          EXPECT_EQ(chain.results.size(), chain.here.size());
          if (chain.after) {
            const ChainPlan after = plan.ChainOf(*chain.after);
            EXPECT_EQ(after.passed(), chain.returned());
            EXPECT_EQ(after.passed_end, chain.returned_end);
          }
          EXPECT_LE(chain.passed(), host == last ? chain.pieces : chain.returned());
          for (size_t i = 0; i < chain.passed(); ++i) wanted_before += chain.Piece(i, chain.passed_end).bytes;
          for (size_t i = 0; i < (host == last ? chain.pieces : chain.returned()); ++i) {
            const Part piece = host == last ? chain.Piece(i) : chain.Piece(i, chain.returned_end);
            EXPECT_GT(piece.bytes, 0U);
            for (size_t j = 0; j < chain.here.size(); ++j) {
              const Part& result = chain.results[j];
              const size_t begin = std::max(piece.offset, result.offset);
              const size_t end = std::min(piece.offset + piece.bytes, result.offset + result.bytes);
              if (begin < end) given[chain.here[j]] += end - begin;
            }
          }
        }
        size_t expected_before = 0;
        for (uint32_t rank = 0; rank < plan.ranks(); ++rank) {
          const Part result = ResultOf(plan.ShapeOf(rank), rank);
          const bool is_here = rank >= plan.ranks_of(host).front() && rank <= plan.ranks_of(host).back();
          EXPECT_EQ(given[rank], is_here ? result.bytes : 0) << "rank " << rank << " on host " << host;
          if (rank < plan.ranks_of(host).front()) {
            expected_before = std::max(expected_before, result.offset + result.bytes);
          }
        }
        EXPECT_EQ(wanted_before, expected_before) << "host " << host;
      }
    }
  }
}

// The bytes of the host that carries most decide between the chain and rounds, where one rank or each wants a part.
TEST(Plan, AReductionForOneGoesTheWayThatCarriesLess) {
  const auto carried = [](const JobPlan& plan) {
    uint64_t most = 0;
    for (uint32_t host = 0; host < plan.hosts(); ++host) {
      uint64_t bytes = 0;
      for (const FrameKind kind : {FrameKind::kRound, FrameKind::kLane}) {
        bytes += plan.SentBy(host)[kind].bytes;
      }
      most = std::max(most, bytes);
    }
    return most;
  };
  constexpr size_t kLarge = size_t{8} << 20;
  const auto course = [&](Operation operation, size_t bytes, uint32_t root, size_t scale,
                          const std::vector<uint32_t>& ranks) {
    return JobPlan({operation, bytes, root, scale, HostsOf(ranks)}).course();
  };
  constexpr Operation kScatter = Operation::kReduceScatter, kReduce = Operation::kReduce;
  EXPECT_EQ(course(kScatter, kLarge, 0, 1, {2, 2}), Course::kChain);
  EXPECT_EQ(course(kScatter, kLarge, 0, 2, {2, 2}), Course::kRounds);  // what is passed on is twice as large
  EXPECT_EQ(course(kScatter, kLarge, 0, 2, {4, 4}), Course::kChain);
  EXPECT_EQ(course(kScatter, kLarge, 0, 1, {2, 2, 2}), Course::kRounds);
  EXPECT_EQ(course(kScatter, kLarge, 0, 1, {3, 3, 3}), Course::kChain);
  EXPECT_EQ(course(kScatter, 64 * 1024, 0, 1, {2, 2}), Course::kRounds);  // too little to wait for another host
  EXPECT_EQ(course(kScatter, size_t{1} << 20, 0, 1, std::vector<uint32_t>(8, 8)), Course::kChain);
  EXPECT_EQ(course(kScatter, 64 * 1024, 0, 1, std::vector<uint32_t>(64, 4)), Course::kRounds);  // too long
  EXPECT_EQ(course(kScatter, kLarge, 0, 1, {1, 1}), Course::kRounds);
  EXPECT_EQ(JobPlan({kScatter, kLarge, 0, 1, {0, 1, 0, 1}}).course(), Course::kRounds);
  EXPECT_EQ(course(kReduce, kLarge, 0, 1, {2, 2}), Course::kRounds);  // there and back, or twice there
  EXPECT_EQ(course(kReduce, kLarge, 3, 1, {2, 2}), Course::kChain);
  EXPECT_EQ(course(kReduce, kLarge, 0, 1, {4, 4}), Course::kChain);
  EXPECT_EQ(carried(JobPlan({kScatter, kLarge, 0, 1, HostsOf({4, 4})})), 8 * kLarge);  // of 16 in rounds
  EXPECT_EQ(carried(JobPlan({kReduce, kLarge, 7, 1, HostsOf({4, 4})})), kLarge);       // of 4
}

TEST(Plan, WhatAHostsRanksHaveInCommonIsSentOnce) {
  std::vector<Need> ranges;
  AddNeed({0, 0}, &ranges);
  AddNeed({0, 100}, &ranges);
  AddNeed({0, 100}, &ranges);
  AddNeed({100, 28}, &ranges);
  AddNeed({256, 10}, &ranges);
  AddNeed({kStageBytes, 1}, &ranges);  // beyond the staging memory
  AddNeed({kStageBytes - 1, kStageBytes}, &ranges);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].bytes, 128U);
  EXPECT_EQ(ranges[1].offset, 256U);
}

TEST(Plan, CountsFramesByHand) {
  // Each of two ranks tells three hosts of one call and one round, in which everybody takes its 4 bytes.
  const Traffic small = JobPlan({Operation::kAllReduce, 4, 0, 1, HostsOf({2, 2, 2, 2})}).SentBy(1);
  EXPECT_EQ(small[FrameKind::kArrive].frames, 6U);
  EXPECT_EQ(small[FrameKind::kRound].frames, 6U);
  EXPECT_EQ(small[FrameKind::kRound].bytes, 24U);
  EXPECT_EQ(small[FrameKind::kVerdict].frames, 0U);
  // In the middle of the chain each byte goes on, as float32, and back.
  const Traffic chain = JobPlan({Operation::kAllReduce, 4 << 20, 0, 2, HostsOf({2, 2, 2})}).SentBy(1);
  EXPECT_EQ(chain[FrameKind::kLane].bytes, 3U * (4 << 20));
  EXPECT_EQ(chain[FrameKind::kLane].frames, chain[FrameKind::kLaneTaken].frames);
  EXPECT_EQ(chain[FrameKind::kVerdict].frames, 4U);
  EXPECT_EQ(chain[FrameKind::kRound].frames, 0U);
  // Each rank of the host gives each rank elsewhere its part.
  const Traffic exchange = JobPlan({Operation::kAlltoAll, (1 << 20) + 4, 0, 1, HostsOf({2, 1})}).SentBy(0);
  EXPECT_EQ(exchange[FrameKind::kBlock].frames, 4U);
  EXPECT_EQ(exchange[FrameKind::kBlock].bytes, 2U * ((1 << 20) + 4));
  EXPECT_EQ(exchange[FrameKind::kExchanged].frames, 1U);
}

}  // namespace
}  // namespace millpond::comm
