// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/exception.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace millpond {
namespace {

class ExceptionTest : public testing::Test {
 protected:
  ~ExceptionTest() override { Listen(nullptr); }
  static void Listen(std::function<void(const TaskException&)> listener) {
    EXPECT_TRUE(SetExceptionListener(std::move(listener)).ok());
  }
};

TEST_F(ExceptionTest, ReachesTheListenerWithEveryField) {
  std::vector<TaskException> seen;
  Listen([&](const TaskException& exception) { seen.push_back(exception); });
  NotifyException({1, 2, 3, 4, Code::kTaskFailed});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].task, 1u);
  EXPECT_EQ(seen[0].stream, 2u);
  EXPECT_EQ(seen[0].thread, 3u);
  EXPECT_EQ(seen[0].device, 4u);
  EXPECT_EQ(seen[0].code, Code::kTaskFailed);
}

TEST_F(ExceptionTest, TheLastListenerCounts) {
  int first = 0, second = 0;
  Listen([&](const TaskException&) { ++first; });
  Listen([&](const TaskException&) { ++second; });
  NotifyException({});
  Listen(nullptr);
  NotifyException({});
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

// A client's callback may throw; the internal thread that calls it must survive.
TEST_F(ExceptionTest, WhatAListenerThrowsEndsHere) {
  Listen([](const TaskException&) { throw std::runtime_error("no"); });
  NotifyException({});
  Listen([](const TaskException&) { throw 7; });
  NotifyException({});
}

// A listener may replace itself: no lock is held while it runs.
TEST_F(ExceptionTest, AListenerMayRemoveItself) {
  int calls = 0;
  Listen([&](const TaskException&) {
    ++calls;
    Listen(nullptr);
  });
  NotifyException({});
  NotifyException({});
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace millpond
