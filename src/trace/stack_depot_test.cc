// SPDX-License-Identifier: Apache-2.0
#include "src/trace/stack_depot.h"

#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace millpond::trace {
namespace {

[[gnu::noinline]] uint32_t Here() {
  const uint32_t stack = CurrentStack();
  asm volatile("" ::: "memory");  // no tail call: this frame is part of the stack
  return stack;
}

[[gnu::noinline]] uint32_t Deeper(int depth) {
  const uint32_t stack = depth == 0 ? Here() : Deeper(depth - 1);
  asm volatile("" ::: "memory");
  return stack;
}

// What a call of Here() gave, and how often the process had unwound then. Nothing is special about the first round of a
// loop that notes these: a compiler that took such a round out of the loop would have made it another place.
struct Note {
  uint32_t stack;
  uint64_t walks;
};

TEST(StackDepot, OnePlaceHasOneNumberAndIsWalkedOnce) {
  std::vector<Note> notes;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t stack = Here();
    notes.push_back({stack, StackWalks()});
  }
  EXPECT_NE(notes[0].stack, 0u);
  for (const Note& note : notes) {
    ASSERT_EQ(note.stack, notes[0].stack);
#if defined(__x86_64__)
    ASSERT_EQ(note.walks, notes[0].walks);
#endif
  }
}

TEST(StackDepot, PlacesOfOneFunctionAreToldApartWithoutWalkingAgain) {
  std::vector<std::vector<uint32_t>> rounds;
  std::vector<uint64_t> walks;
  for (int i = 0; i < 100; ++i) {
    rounds.push_back({Here(), Here(), Here(), Here()});
    walks.push_back(StackWalks());
  }
  for (const std::vector<uint32_t>& round : rounds) ASSERT_EQ(round, rounds[0]);
  for (size_t i = 0; i < rounds[0].size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(rounds[0][i], rounds[0][j]);
  }
#if defined(__x86_64__)
  EXPECT_EQ(walks.front(), walks.back());
#endif
}

TEST(StackDepot, DepthsAreToldApart) {
  uint32_t shallow = 0, deep = 0;
  for (int i = 0; i < 3; ++i) {
    const int depth = i;  // not known to the compiler in each call
    const uint32_t a = Deeper(depth), b = Deeper(depth + 5);
    EXPECT_NE(a, b);
    if (i == 0) shallow = a, deep = b;
  }
  EXPECT_NE(shallow, deep);
}

// The frames are those that backtrace finds, from the caller of CurrentStack on.
[[gnu::noinline]] void CompareWithBacktrace() {
  void* expected[kMaxStackFrames + 8];
  for (int round = 0; round < 3; ++round) {  // walked, then remembered
    const uint32_t stack = CurrentStack();
    const int depth = backtrace(expected, static_cast<int>(std::size(expected)));
    void* found[kMaxStackFrames];
    const size_t count = StackFrames(stack, found);
    ASSERT_GT(count, 3u);
    // The innermost frame differs by the place of the call within this function; a sanitizer adds frames of its own
    // below.
    void** const end = expected + depth;
    EXPECT_NE(std::search(expected, end, found + 1, found + count), end) << "round " << round;
  }
}

TEST(StackDepot, FramesAreReturnAddressesInnermostFirst) { CompareWithBacktrace(); }

TEST(StackDepot, ThreadsShareNumbersOfWhatTheyIntern) {
  void* frames[] = {reinterpret_cast<void*>(1), reinterpret_cast<void*>(2)};
  const uint32_t here = InternStack(frames);
  uint32_t there = 0;
  std::thread([&] { there = InternStack(frames); }).join();
  EXPECT_EQ(here, there);
  void* found[4];
  ASSERT_EQ(StackFrames(here, found), 2u);
  EXPECT_EQ(found[1], frames[1]);
  EXPECT_EQ(StackFrames(0, found), 0u);
  EXPECT_EQ(StackFrames(UINT32_MAX, found), 0u);
}

TEST(StackDepot, EveryThreadMayAsk) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int j = 0; j < 1000; ++j) ASSERT_NE(Deeper(j % 7), 0u);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millpond::trace
