// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/workers.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/device/stream/stream.h"

namespace millpond {
namespace {

TEST(RunQueue, LevelsFirstThenArrival) {
  RunQueue queue;
  std::vector<Stream> streams(6);
  queue.Push(&streams[0], 7);
  queue.Push(&streams[1], 3);
  queue.Push(&streams[2], 0);
  queue.Push(&streams[3], 3);
  queue.Push(&streams[4], 0);
  queue.Push(&streams[5], 99);  // beyond the last level counts as the last
  EXPECT_EQ(queue.size(), 6u);
  for (const size_t expected : {2, 4, 1, 3, 0, 5}) EXPECT_EQ(queue.Pop(), &streams[expected]);
  EXPECT_EQ(queue.Pop(), nullptr);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(RunQueue, GrowsWithoutLosingItsOrder) {
  RunQueue queue;
  std::vector<Stream> streams(1984);
  size_t next_in = 0;
  size_t next_out = 0;
  // In and out in unequal steps, so that the ring's head is anywhere when it grows.
  while (next_out < streams.size()) {
    for (int i = 0; i < 70 && next_in < streams.size(); ++i) queue.Push(&streams[next_in++], 2);
    for (int i = 0; i < 33 && next_out < next_in; ++i) ASSERT_EQ(queue.Pop(), &streams[next_out++]);
  }
  EXPECT_EQ(queue.Pop(), nullptr);
}

}  // namespace
}  // namespace millpond
