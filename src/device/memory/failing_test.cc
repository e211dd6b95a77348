// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/failing.h"

#include <gtest/gtest.h>

#include <string>

namespace millpond {
namespace {

// "+" for each request that goes on, "x" for each that fails.
std::string Requests(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += MayFail(64).ok() ? "+" : "x";
  return text;
}

class Failing : public testing::Test {
 protected:
  ~Failing() override { millpond_fail_allocations(0, 0); }
};

TEST_F(Failing, NoneFailsUnlessAsked) { EXPECT_EQ(Requests(4), "++++"); }

TEST_F(Failing, EveryNthFailsBehindThoseThatAreSkipped) {
  millpond_fail_allocations(3, 2);
  EXPECT_EQ(Requests(9), "++++x++x+");
  EXPECT_EQ(millpond_failed_allocations(), 2U);
  millpond_fail_allocations(1, 0);
  EXPECT_EQ(Requests(2), "xx");
  EXPECT_EQ(millpond_failed_allocations(), 2U);
  millpond_fail_allocations(0, 0);
  EXPECT_EQ(Requests(2), "++");
}

TEST_F(Failing, TheFailureIsThatOfADeviceWithoutMemory) {
  millpond_fail_allocations(1, 0);
  const Status status = MayFail(4096);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("4096 bytes"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millpond
