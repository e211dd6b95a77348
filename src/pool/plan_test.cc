// SPDX-License-Identifier: Apache-2.0
// Issue 4: "a recorded run can be turned into a plan". MakePlan validates every plan it returns with Plan::Validate;
// Validate itself is tested with plans that are wrong.
#include "src/pool/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace millpond::pool {
namespace {

constexpr size_t kAlignment = 512;

size_t Rounded(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Writes recordings step by step.
class RunWriter {
 public:
  uint32_t Allocate(size_t bytes, uint32_t stream = 0) {
    blocks_.push_back({bytes, stream});
    recording_.steps.push_back({true, static_cast<uint32_t>(blocks_.size() - 1), stream, bytes});
    return static_cast<uint32_t>(blocks_.size() - 1);
  }
  void Free(uint32_t id) { recording_.steps.push_back({false, id, blocks_[id].stream, blocks_[id].bytes}); }
  size_t bytes(uint32_t id) const { return blocks_[id].bytes; }
  const Recording& recording() const { return recording_; }

 private:
  struct Block {
    size_t bytes;
    uint32_t stream;
  };
  std::vector<Block> blocks_;
  Recording recording_;
};

// Sum over the streams of the peak of live bytes, rounded to whole units: no plan can be smaller.
size_t LowerBound(const Recording& recording) {
  std::vector<size_t> live, peak;
  for (const Step& step : recording.steps) {
    if (step.stream >= live.size()) live.resize(step.stream + 1), peak.resize(step.stream + 1);
    step.allocate ? live[step.stream] += Rounded(step.bytes) : live[step.stream] -= Rounded(step.bytes);
    peak[step.stream] = std::max(peak[step.stream], live[step.stream]);
  }
  size_t sum = 0;
  for (const size_t bytes : peak) sum += bytes;
  return sum;
}

Plan PlanOf(const Recording& recording, uint64_t steps = kPlanSteps) {
  Plan plan;
  const Status status = MakePlan(recording, kAlignment, &plan, steps);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GE(plan.total_bytes(), LowerBound(recording));
  return plan;
}

// The allocation pattern of training: forward with workspaces, backward in the reverse order, then the optimizer.
Recording TrainingRun(uint32_t seed, int layers, int steps) {
  std::mt19937 random(seed);
  const auto size = [&](int low, int high) {  // log-uniform, without the standard distributions: the same everywhere
    const size_t base = size_t{1} << (low + static_cast<int>(random() % static_cast<unsigned>(high - low)));
    return base + random() % base;
  };
  RunWriter run;
  std::vector<uint32_t> weights;
  for (int i = 0; i < layers; ++i) weights.push_back(run.Allocate(size(8, 22)));
  for (int step = 0; step < steps; ++step) {
    std::vector<uint32_t> activations, statistics, gradients;
    for (int i = 0; i < layers; ++i) {
      const uint32_t workspace = run.Allocate(size(9, 24));
      activations.push_back(run.Allocate(size(12, 24)));
      statistics.push_back(run.Allocate(size(4, 12)));
      run.Free(workspace);
    }
    uint32_t flowing = run.Allocate(4096);
    for (int i = layers; i-- > 0;) {
      const size_t at = static_cast<size_t>(i);
      const uint32_t workspace = run.Allocate(size(9, 24));
      const uint32_t next = run.Allocate(run.bytes(activations[at]));
      gradients.push_back(run.Allocate(run.bytes(weights[at])));
      for (const uint32_t done : {workspace, flowing, activations[at], statistics[at]}) run.Free(done);
      flowing = next;
    }
    run.Free(flowing);
    const uint32_t reduced = run.Allocate(size(12, 20), 1);  // another stream, for communication
    for (const uint32_t gradient : gradients) {
      run.Free(run.Allocate(run.bytes(gradient)));
      run.Free(gradient);
    }
    run.Free(reduced);
  }
  return run.recording();
}

Status ParseError(const std::string& text) {
  Recording recording;
  Status status = Recording::Parse(text, &recording);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  return status;
}

void ExpectSays(const Status& status, const std::string& part) {
  EXPECT_NE(status.message().find(part), std::string::npos) << "'" << part << "' is not in: " << status.message();
}

TEST(PoolRecording, ArbitraryIdsAndStreamsAreRenumberedInTheirOrder) {
  Recording recording;
  const Status status = Recording::Parse(
      "op,id,size,stream\r\na,900,1000,77\na,5,20,18446744073709551615\nf,900,1000,77\n\na,900,3,77\nf,5,,9",
      &recording);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << "an empty size is not a number";
  ASSERT_TRUE(
      Recording::Parse(
          "op,id,size,stream\r\na,900,1000,77\na,5,20,18446744073709551615\nf,900,1000,77\n\na,900,3,77\nf,5,20,9",
          &recording)
          .ok());
  EXPECT_EQ(recording.ToText(), "op,id,size,stream\na,0,1000,0\na,1,20,1\nf,0,1000,0\na,2,3,0\nf,1,20,1\n");
}

TEST(PoolRecording, TextIsReadBackAsItWasWritten) {
  const Recording recording = TrainingRun(3, 12, 2);
  Recording again;
  ASSERT_TRUE(Recording::Parse(recording.ToText(), &again).ok());
  EXPECT_EQ(again.ToText(), recording.ToText());
}

TEST(PoolRecording, WhatCannotBeReplayedIsRefusedByLine) {
  ExpectSays(ParseError("op,id,size,stream\na,1,8,0\nf,2,8,0\n"), "line 3: frees id 2");
  ExpectSays(ParseError("a,1,8,0\nf,1,8,0\nf,1,8,0\n"), "line 3: frees id 1");
  ExpectSays(ParseError("op,id,size,stream\na,1,8,0\n\na,1,8,0\n"),
             "line 4: allocates id 1, which is live since line 2");
  ExpectSays(ParseError("op,id,size,stream\na,1,eight,0\n"), "line 2: the size is 'eight'");
  ExpectSays(ParseError("a,1,8\n"), "line 1");
  ExpectSays(ParseError("a,1,8,0,0\n"), "line 1");
  ExpectSays(ParseError("a,-1,8,0\n"), "line 1: the id is '-1'");
  ExpectSays(ParseError("a,1,8,99999999999999999999\n"), "line 1: the stream");
  ExpectSays(ParseError("a,1,0,0\n"), "line 1: the size is 0");
  ExpectSays(ParseError("a,1,18446744073709551615,0\n"), "line 1: the size is 18446744073709551615");
  ExpectSays(ParseError("x,1,8,0\n"), "line 1: the operation is 'x'");
  ExpectSays(ParseError("a,1,8,0\nop,id,size,stream\n"), "line 2");
  ExpectSays(ParseError(""), "empty");
  ExpectSays(ParseError("op,id,size,stream\n\n"), "empty");
}

TEST(PoolPlan, BlocksThatAreNeverLiveTogetherShareTheirBytes) {
  RunWriter run;
  run.Free(run.Allocate(1000));
  run.Free(run.Allocate(1024));
  const Plan plan = PlanOf(run.recording());
  EXPECT_EQ(plan.area_bytes, std::vector<size_t>{1024});
  EXPECT_EQ(plan.places[0].offset, 0u);
  EXPECT_EQ(plan.places[1].offset, 0u);
}

TEST(PoolPlan, BlockThatIsNotFreedLivesToTheEnd) {
  RunWriter run;
  run.Allocate(512);
  run.Free(run.Allocate(512));
  run.Allocate(512);
  EXPECT_EQ(PlanOf(run.recording()).total_bytes(), 1024u);
}

TEST(PoolPlan, StreamsDoNotShareMemory) {
  RunWriter run;
  run.Free(run.Allocate(512, 0));
  run.Free(run.Allocate(1536, 1));
  const Plan plan = PlanOf(run.recording());
  EXPECT_EQ(plan.area_bytes, (std::vector<size_t>{512, 1536}));
}

// An online allocator needs 4 units: the small block ends up where the large one should go.
TEST(PoolPlan, LifetimesKnownInAdvanceBeatOnlinePlacement) {
  RunWriter run;
  const uint32_t a = run.Allocate(512);
  const uint32_t b = run.Allocate(512);
  run.Free(a);
  const uint32_t c = run.Allocate(1024);
  run.Free(b);
  run.Free(c);
  EXPECT_EQ(PlanOf(run.recording()).total_bytes(), 3 * 512u);
}

TEST(PoolPlan, EmptyRecordingGivesAnEmptyPlan) {
  const Plan plan = PlanOf(Recording{});
  EXPECT_EQ(plan.total_bytes(), 0u);
  EXPECT_TRUE(plan.places.empty());
}

TEST(PoolPlan, RandomRunsAreValidAndCloseToTheLowerBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    RunWriter run;
    std::vector<uint32_t> live;
    const int steps = 20 + static_cast<int>(random() % 400);
    const auto streams = static_cast<uint32_t>(1 + random() % 3);
    for (int i = 0; i < steps; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        const size_t at = random() % live.size();
        run.Free(live[at]);
        live.erase(live.begin() + static_cast<ptrdiff_t>(at));
      } else {
        live.push_back(
            run.Allocate(1 + random() % (size_t{1} << (4 + random() % 20)), static_cast<uint32_t>(random() % streams)));
      }
    }
    const Plan plan = PlanOf(run.recording(), 5000);
    const double ratio = static_cast<double>(plan.total_bytes()) / static_cast<double>(LowerBound(run.recording()));
    EXPECT_LE(ratio, 1.05) << "round " << round;
    EXPECT_LE(plan.total_bytes(), PlanOf(run.recording(), 0).total_bytes()) << "searching made it worse";
  }
}

TEST(PoolPlan, TrainingRunsAreWithinHalfAPercentOfTheLowerBound) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const Recording recording = TrainingRun(seed, 60, 3);
    const Plan plan = PlanOf(recording);
    const double ratio = static_cast<double>(plan.total_bytes()) / static_cast<double>(LowerBound(recording));
    EXPECT_LE(ratio, 1.005) << "seed " << seed;
  }
}

TEST(PoolPlan, SameRecordingGivesTheSamePlan) {
  const Recording recording = TrainingRun(11, 40, 2);
  EXPECT_EQ(PlanOf(recording).ToText(), PlanOf(recording).ToText());
}

TEST(PoolPlan, LongTrainingRunIsWithinHalfAPercentOfTheLowerBound) {
  const Recording recording = TrainingRun(2, 2000, 3);
  EXPECT_GT(recording.steps.size(), 70'000u);
  const Plan plan = PlanOf(recording);
  EXPECT_LE(static_cast<double>(plan.total_bytes()), 1.005 * static_cast<double>(LowerBound(recording)));
}

// Random sizes and lifetimes, far from the bound: every method of the planner runs to the end of its budget.
TEST(PoolPlan, LongHardRunIsWithinAFifthOfTheLowerBound) {
  std::mt19937 random(9);
  RunWriter run;
  std::vector<uint32_t> live;
  for (int i = 0; i < 200'000; ++i) {
    if (live.size() < 50 || (live.size() < 100 && random() % 2 == 0)) {
      live.push_back(run.Allocate(kAlignment * (1000 + random() % 1000)));
      continue;
    }
    std::swap(live[random() % live.size()], live.back());
    run.Free(live.back());
    live.pop_back();
  }
  const Plan plan = PlanOf(run.recording());
  EXPECT_LE(static_cast<double>(plan.total_bytes()), 1.20 * static_cast<double>(LowerBound(run.recording())));
}

TEST(PoolPlan, ValidateNamesTheTwoBlocksThatOverlap) {
  RunWriter run;
  run.Allocate(512);
  run.Allocate(1024);
  run.Allocate(512);
  Plan plan = PlanOf(run.recording());
  plan.places[0].offset = 0;
  plan.places[1].offset = 512;
  plan.places[2].offset = 1024;
  const Status after = plan.Validate(run.recording(), kAlignment);
  EXPECT_EQ(after.code(), Code::kInvalidArgument);
  ExpectSays(after, "allocations 1 (1024 bytes at offset 512) and 2 (512 bytes at offset 1024) of stream 0");
  plan.places[1].offset = 0;
  ExpectSays(plan.Validate(run.recording(), kAlignment), "allocations 0 (512 bytes at offset 0) and 1 (1024 bytes");
  plan.places[0].offset = 512;
  ExpectSays(plan.Validate(run.recording(), kAlignment), "allocations 0 (512 bytes at offset 512) and 1 (1024 bytes");
}

TEST(PoolPlan, ValidateRefusesPlansOfAnotherRunAndPlacesOutsideTheirArea) {
  RunWriter run;
  run.Allocate(512);
  run.Allocate(512);
  const Plan good = PlanOf(run.recording());
  Plan plan = good;
  plan.area_bytes[0] = 512;
  ExpectSays(plan.Validate(run.recording(), kAlignment), "ends past the 512 bytes");
  plan = good;
  plan.places[1].offset += 8;
  ExpectSays(plan.Validate(run.recording(), kAlignment), "not a multiple of 512");
  plan = good;
  plan.places[1].bytes = 500;
  ExpectSays(plan.Validate(run.recording(), kAlignment), "for another run");
  plan = good;
  plan.places.pop_back();
  ExpectSays(plan.Validate(run.recording(), kAlignment), "places 1 allocations, but the recording has more");
  plan = good;
  plan.places.push_back(plan.places[0]);
  ExpectSays(plan.Validate(run.recording(), kAlignment), "places 3 allocations");
  Recording twice = run.recording();
  twice.steps.push_back({false, 0, 0, 512});
  twice.steps.push_back({false, 0, 0, 512});
  ExpectSays(good.Validate(twice, kAlignment), "step 3 frees allocation 0, which is not live");
}

TEST(PoolPlan, TextIsReadBackAsItWasWritten) {
  const Plan plan = PlanOf(TrainingRun(5, 10, 1));
  Plan again;
  const Status status = Plan::Parse(plan.ToText(), &again);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(again.ToText(), plan.ToText());
  EXPECT_EQ(again.area_bytes, plan.area_bytes);
}

TEST(PoolPlan, DamagedTextIsRefused) {
  const std::string good = "millpond-plan 1\nareas 1 places 2\n1024\n512,0,0\n512,0,512\n";
  Plan plan;
  ASSERT_TRUE(Plan::Parse(good, &plan).ok());
  const auto refused = [](const std::string& text) {
    Plan untouched;
    Status status = Plan::Parse(text, &untouched);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_TRUE(untouched.places.empty());
    return status;
  };
  ExpectSays(refused(""), "line 1");
  ExpectSays(refused("millpond-plan 2\n"), "'millpond-plan 2'");
  ExpectSays(refused("millpond-plan 1\n"), "ends after line 1");
  ExpectSays(refused("millpond-plan 1\nareas one places 2\n"), "line 2");
  ExpectSays(refused("millpond-plan 1\nareas 1 places 2 more\n"), "line 2");
  ExpectSays(refused(good.substr(0, good.size() - 10)), "ends after 1 of 2 places");
  ExpectSays(refused(good + "1,0,0\n"), "line 6");
  ExpectSays(refused("millpond-plan 1\nareas 1 places 1\n1024\n512,1,0\n"), "stream 1, but the plan has 1 areas");
  ExpectSays(refused("millpond-plan 1\nareas 1 places 1\n1024\n512,0,1000\n"), "line 4");
  ExpectSays(refused("millpond-plan 1\nareas 1 places 1\n1024\n512,0,-512\n"), "line 4");
  ExpectSays(refused("millpond-plan 1\nareas 1 places 1\n1024\n512,0,18446744073709551615\n"), "line 4");
  ExpectSays(refused("millpond-plan 1\nareas 99999999999 places 1\n1024\n"), "ends after 1 of 99999999999 areas");
}

}  // namespace
}  // namespace millpond::pool
