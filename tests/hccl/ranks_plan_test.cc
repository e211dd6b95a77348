// SPDX-License-Identifier: Apache-2.0
// The plan of an operation (src/comm/plan.h), on which the simulation of many ranks rests, beside what two hosts with
// two ranks each have really sent: frames and bytes, counted where they leave.
#include <barrier>

#include "src/comm/element.h"
#include "src/comm/traffic.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using millpond::comm::Course;
using millpond::comm::FrameCount;
using millpond::comm::FrameKind;
using millpond::comm::JobPlan;
using millpond::comm::Operation;
using millpond::comm::SentSoFar;
using millpond::comm::Traffic;

// Of each of these there are as many as planned. Of the others there may be fewer: who is late sees two steps as one.
constexpr FrameKind kExact[] = {FrameKind::kArrive, FrameKind::kRound, FrameKind::kVerdict,
                                FrameKind::kLane,   FrameKind::kBlock, FrameKind::kExchanged};
constexpr FrameKind kAtMost[] = {FrameKind::kLast, FrameKind::kPublished, FrameKind::kConsumed, FrameKind::kLaneTaken};

FrameCount Since(const Traffic& before, FrameKind kind) {
  const Traffic now = SentSoFar();
  return {now[kind].frames - before[kind].frames, now[kind].bytes - before[kind].bytes};
}

// The two ranks of this process.
std::barrier g_both(2);  // NOLINT
Traffic g_before;        // NOLINT

struct Case {
  const char* name;
  Operation operation;
  Course course;
  size_t bytes;
  uint32_t root = 1;
};
constexpr Case kCases[] = {
    {"a small AllReduce", Operation::kAllReduce, Course::kRounds, 4},
    {"an AllReduce in two phases", Operation::kAllReduce, Course::kRounds, 100'000},
    {"an AllReduce along the chain", Operation::kAllReduce, Course::kChain, 5'000'000},
    {"a Broadcast", Operation::kBroadcast, Course::kRounds, 5'000'000},
    {"an AllGather", Operation::kAllGather, Course::kRounds, 3'000'000},
    {"a ReduceScatter", Operation::kReduceScatter, Course::kRounds, 200'000},
    {"a ReduceScatter along the chain", Operation::kReduceScatter, Course::kChain, 3'000'000},
    {"a Reduce to the first host", Operation::kReduce, Course::kRounds, 6'000'000},
    {"a Reduce along the chain", Operation::kReduce, Course::kChain, 6'000'000, 2},
    {"a small AlltoAll", Operation::kAlltoAll, Course::kRounds, 4000},
    {"an AlltoAll from buffer to buffer", Operation::kAlltoAll, Course::kExchange, 3'000'000},
};

int Call(Rank& r, const Case& now, float* send, float* receive) {
  const uint64_t count = now.bytes / sizeof(float);
  constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;
  switch (now.operation) {
    case Operation::kBroadcast:
      return HcclBroadcast(send, count, kFloat, now.root, r.comm, r.stream);
    case Operation::kReduce:
      return HcclReduce(send, receive, count, kFloat, HCCL_REDUCE_SUM, now.root, r.comm, r.stream);
    case Operation::kAllGather:
      return HcclAllGather(send, receive, count, kFloat, r.comm, r.stream);
    case Operation::kReduceScatter:
      return HcclReduceScatter(send, receive, count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream);
    case Operation::kAlltoAll:
      return HcclAlltoAll(send, count, kFloat, receive, count, kFloat, r.comm, r.stream);
    default:
      return HcclAllReduce(send, receive, count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream);
  }
}

void Compare(Rank& r, const Case& now) {
  const JobPlan plan({now.operation, now.bytes, now.root, 1, {0, 0, 1, 1}});
  if (plan.course() != now.course) r.Complain(std::string(now.name) + " is to go another way");
  const Traffic planned = plan.SentBy(r.rank / 2);
  const auto differs = [&](FrameKind kind) {
    const FrameCount sent = Since(g_before, kind);
    return sent.frames != planned[kind].frames || sent.bytes != planned[kind].bytes;
  };
  const auto all_sent = [&] { return std::none_of(std::begin(kExact), std::end(kExact), differs); };
  acl_test::Eventually(all_sent);
  const auto complain = [&](FrameKind kind, const char* what) {
    const FrameCount sent = Since(g_before, kind);
    r.Complain(std::string(now.name) + ": of frames of kind " + std::to_string(static_cast<uint32_t>(kind)) + " " +
               std::to_string(sent.frames) + " with " + std::to_string(sent.bytes) + " bytes were sent, and " + what +
               std::to_string(planned[kind].frames) + " with " + std::to_string(planned[kind].bytes) + " planned");
  };
  for (const FrameKind kind : kExact) {
    if (differs(kind)) complain(kind, "");
  }
  for (const FrameKind kind : kAtMost) {
    if (Since(g_before, kind).frames > planned[kind].frames) complain(kind, "at most ");
  }
}

// The last of three is counted: by then each buffer lies where the other ranks find it, and its line is known.
RANK_BODY(CountedFrames) {
  for (const Case& now : kCases) {
    const std::vector<float> values(now.bytes / sizeof(float) * r.ranks, 1.0F);
    const Values<float> send(values), receive(values);
    for (int i = 0; i < 3; ++i) {
      if (i == 2) {
        // Whatever was said of the one before: nothing more comes when nothing has for a while.
        Traffic last = SentSoFar();
        for (int quiet = 0; quiet < 10; ++quiet) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          const Traffic seen = SentSoFar();
          if (seen.Sum().frames != last.Sum().frames) quiet = 0;
          last = seen;
        }
        g_both.arrive_and_wait();
        if (r.rank % 2 == 0) g_before = SentSoFar();
        g_both.arrive_and_wait();
      }
      RANK_OK(r, Call(r, now, send.get(), receive.get()));
      r.Sync();
    }
    if (r.rank % 2 == 0) Compare(r, now);
    g_both.arrive_and_wait();
  }
}

TEST(Plan, IsWhatTwoHostsOfTwoRanksSend) { EXPECT_EQ(Complaints(RunHosts({{"0,1"}, {"2,3"}}, "CountedFrames")), ""); }

MP_ROLE(rank) { return BeRank(); }

}  // namespace

MP_TEST_MAIN()
