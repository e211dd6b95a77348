// SPDX-License-Identifier: Apache-2.0
// Issue 13: a plan is a file that someone may have edited. Whatever it says, it is refused, or every block that it
// places is aligned, lies in memory that is there, and shares no byte with another live one.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "src/pool/fake_source.h"
#include "src/pool/plan.h"
#include "src/pool/pool.h"

namespace millpond::pool {
namespace {

constexpr StreamKey kStreams[] = {0x1000, 0x2000};
constexpr size_t kPages = 64;

// Some blocks on two streams, of sizes that do not fill their last unit.
Recording SomeRun() {
  Recording recording;
  const Status status = Recording::Parse(
      "a,0,1000,0\na,1,4096,0\na,2,700,1\nf,0,0,0\na,3,513,0\na,4,100000,1\nf,1,0,0\na,5,8192,0\nf,2,0,0\na,6,1,1\n"
      "f,3,0,0\na,7,3000000,0\nf,7,0,0\nf,4,0,0\na,8,999,0\nf,5,0,0\nf,6,0,0\nf,8,0,0\n",
      &recording);
  EXPECT_TRUE(status.ok()) << status.message();
  return recording;
}

class PlanEdits : public testing::TestWithParam<bool> {
 protected:
  // True: the plan was accepted, and the run was made.
  bool Use(const std::string& text) {
    Plan plan;
    if (!Plan::Parse(text, &plan).ok()) return false;
    FakeSource source(kPages, GetParam());
    {
      Pool pool(&source, Settings(), 0);
      if (!pool.Follow(plan).ok()) return false;
      EXPECT_TRUE(pool.BeginRun().ok());
      Run(pool, source);
      EXPECT_TRUE(pool.EndRun().ok());
      EXPECT_TRUE(pool.Unfollow().ok());
    }
    EXPECT_EQ(source.complaints(), std::vector<std::string>());
    EXPECT_EQ(source.pages_out(), 0u);
    return true;
  }

  static void Run(Pool& pool, FakeSource& source) {
    std::map<Address, size_t> live;
    std::vector<Address> got;
    for (const Step& step : SomeRun().steps) {
      const StreamKey stream = kStreams[step.stream];
      if (!step.allocate) {
        live.erase(got[step.id]);
        EXPECT_TRUE(pool.Free(got[step.id], stream).ok());
        continue;
      }
      Address address = 0;
      ASSERT_TRUE(pool.Allocate(step.bytes, stream, &address).ok());
      got.push_back(address);
      EXPECT_EQ(address % Pool::kAlignment, 0u) << "allocation " << step.id;
      const size_t whole = (step.bytes + Pool::kAlignment - 1) / Pool::kAlignment * Pool::kAlignment;
      source.Launch(stream, address, whole);  // complains when there is no memory
      source.Finish(stream);
      const auto next = live.lower_bound(address);
      EXPECT_TRUE(next == live.end() || address + whole <= next->first) << "allocation " << step.id;
      EXPECT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= address)
          << "allocation " << step.id;
      live.emplace(address, whole);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(PagesAndSegments, PlanEdits, testing::Bool(),
                         [](const auto& info) { return info.param ? "Pages" : "Segments"; });

// One number of the plan becomes another: near the old one, a round one, or one of the limits.
std::string Edited(const std::string& plan, std::mt19937* random) {
  const auto below = [&](size_t bound) { return static_cast<size_t>((*random)() % bound); };
  std::vector<std::pair<size_t, size_t>> numbers;
  for (size_t at = plan.find('\n'); at < plan.size(); ++at) {  // after the version
    const size_t end = std::min(plan.find_first_not_of("0123456789", at), plan.size());
    if (end > at) numbers.emplace_back(at, end - at);
    at = end;
  }
  const auto [at, length] = numbers[below(numbers.size())];
  const uint64_t old = std::stoull(plan.substr(at, length));
  static constexpr uint64_t kOthers[] = {0,
                                         1,
                                         8,
                                         64,
                                         511,
                                         512,
                                         513,
                                         1024,
                                         4096,
                                         1 << 20,
                                         (uint64_t{64} << 21) - 512,
                                         uint64_t{1} << 40,
                                         uint64_t{1} << 61,
                                         uint64_t{1} << 63,
                                         UINT64_MAX - 511,
                                         UINT64_MAX};
  uint64_t changed = kOthers[below(std::size(kOthers))];
  if (below(2) == 0) changed = old + kOthers[below(10)] * (below(2) == 0 ? 1 : UINT64_MAX);
  return plan.substr(0, at) + std::to_string(changed) + plan.substr(at + length);
}

TEST_P(PlanEdits, AnEditedPlanIsRefusedOrItsBlocksAreGood) {
  Plan plan;
  ASSERT_TRUE(MakePlan(SomeRun(), Pool::kAlignment, &plan).ok());
  const std::string good = plan.ToText();
  ASSERT_TRUE(Use(good));
  std::mt19937 random(20260013);
  size_t used = 0;
  constexpr size_t kEdits = 600;
  for (size_t edit = 0; edit < kEdits; ++edit) {
    std::string text = good;
    for (size_t change = 0; change <= random() % 2; ++change) text = Edited(text, &random);
    used += Use(text) ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "edit " << edit << ":\n" << text;
  }
  EXPECT_GT(used, kEdits / 20) << "most edits are refused as text: they test little";
  EXPECT_LT(used, kEdits);
}

TEST_P(PlanEdits, AnAreaThatEndsWithinABlocksLastUnitIsRefused) {
  const auto refusal = [&](const Plan& plan) {
    FakeSource source(kPages, GetParam());
    Pool pool(&source, Settings(), 0);
    return std::string(pool.Follow(plan).message());
  };
  const std::string past = refusal({.places = {{.bytes = 500, .stream = 0, .offset = 512}}, .area_bytes = {1012}});
  EXPECT_NE(past.find("1012 bytes"), std::string::npos) << past;
  EXPECT_EQ(refusal({.places = {{.bytes = 500, .stream = 0, .offset = 512}}, .area_bytes = {1024}}), "");
}

}  // namespace
}  // namespace millpond::pool
