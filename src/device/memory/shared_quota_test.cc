// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/shared_quota.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace millpond {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTotal = 1000;

class SharedQuotaTest : public testing::Test {
 protected:
  SharedQuotaTest() : folder_(fs::path(testing::TempDir()) / ("shared_quota_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~SharedQuotaTest() override { fs::remove_all(folder_); }

  std::string Path() const { return (folder_ / "run").string(); }
  std::unique_ptr<SharedQuota> Join(const std::string& machine = "one", uint64_t mine = kTotal) const {
    std::unique_ptr<SharedQuota> quota;
    const Status status = SharedQuota::Join(Path(), machine, mine, &quota);
    EXPECT_TRUE(status.ok()) << status.message();
    return quota;
  }

  // A process that joins, does its work, says so and stays until it is killed. Returns its pid.
  pid_t Start(const std::function<bool(SharedQuota&)>& work, uint64_t mine = kTotal) const {
    int said[2];
    EXPECT_EQ(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto quota = Join("one", mine);
      const char done = quota != nullptr && work(*quota) ? 'y' : 'n';
      if (write(said[1], &done, 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(said[1]);
    char done = 0;
    EXPECT_EQ(read(said[0], &done, 1), 1);
    EXPECT_EQ(done, 'y');
    close(said[0]);
    return child;
  }
  static void Kill(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const fs::path folder_;
};

TEST_F(SharedQuotaTest, WhatAnotherProcessHoldsIsNotFree) {
  const pid_t other = Start([](SharedQuota& quota) { return quota.Charge(0, 600); });
  auto mine = Join();
  EXPECT_EQ(mine->Used(0), 600u);
  EXPECT_EQ(mine->Used(1), 0u) << "another device";
  EXPECT_FALSE(mine->Charge(0, 401));
  EXPECT_EQ(mine->Used(0), 600u) << "what was refused is not held";
  EXPECT_TRUE(mine->Charge(0, 400));
  EXPECT_FALSE(mine->Charge(0, 1));
  const auto others = mine->Others(0);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].pid, static_cast<uint64_t>(other));
  EXPECT_EQ(others[0].bytes, 600u);
  Kill(other);
}

TEST_F(SharedQuotaTest, AProcessThatIsKilledGivesItsShareBack) {
  auto mine = Join();
  const pid_t other = Start([](SharedQuota& quota) { return quota.Charge(0, 900) && quota.Charge(3, 1000); });
  EXPECT_FALSE(mine->Charge(0, 200));
  EXPECT_FALSE(mine->Charge(3, 1));
  Kill(other);
  EXPECT_TRUE(mine->Charge(0, 200)) << "found out where memory is short";
  EXPECT_EQ(mine->Used(0), 200u);
  EXPECT_EQ(mine->Used(3), 0u) << "and where the figures are asked for";
}

TEST_F(SharedQuotaTest, ARowIsUsedAgain) {
  auto mine = Join();
  for (int round = 0; round < SharedQuota::kMaxProcesses + 8; ++round) {
    Kill(Start([](SharedQuota& quota) { return quota.Charge(0, 1000); }));
  }
  EXPECT_EQ(mine->Used(0), 0u);
}

TEST_F(SharedQuotaTest, WhatIsGivenBackIsFree) {
  auto mine = Join();
  ASSERT_TRUE(mine->Charge(0, 1000));
  mine->Uncharge(0, 300);
  EXPECT_EQ(mine->Used(0), 700u);
  EXPECT_TRUE(mine->Charge(0, 300));
  EXPECT_FALSE(mine->Charge(0, UINT64_MAX)) << "no sum wraps";
}

TEST_F(SharedQuotaTest, TheFirstProcessSaysHowMuchThereIs) {
  auto mine = Join("one", kTotal);
  EXPECT_EQ(mine->total(), kTotal);
  const pid_t other = Start([](SharedQuota& quota) { return quota.total() == kTotal; }, /*mine=*/5);
  Kill(other);
}

TEST_F(SharedQuotaTest, OtherSettingsAreAnotherMachine) {
  const pid_t other = Start([](SharedQuota& quota) { return quota.Charge(0, 1000); });
  EXPECT_EQ(Join("two")->Used(0), 0u);
  EXPECT_EQ(Join("one")->Used(0), 1000u);
  Kill(other);
}

TEST_F(SharedQuotaTest, AFolderThatIsNotThereIsNamed) {
  std::unique_ptr<SharedQuota> quota;
  const Status status = SharedQuota::Join((folder_ / "none" / "run").string(), "one", kTotal, &quota);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("none/run"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("--private-devices"), std::string::npos) << status.message();
}

// Threads of several processes take and give as fast as they can: never more than there is, and nothing is left.
TEST_F(SharedQuotaTest, NoMoreIsGivenThanThereIs) {
  const auto churn = [](SharedQuota& quota) {
    std::atomic<uint64_t> given{0};  // what this process holds: alone it may not hold more than there is
    std::atomic<bool> good{true};
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&quota, &given, &good, thread] {
        for (uint64_t turn = 0; turn < 2000; ++turn) {
          const uint64_t bytes = 300 + (turn * 7 + thread) % 300;
          if (!quota.Charge(0, bytes)) continue;
          if (given.fetch_add(bytes) + bytes > kTotal) good = false;
          given.fetch_sub(bytes);
          quota.Uncharge(0, bytes);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return good.load();
  };
  const pid_t first = Start(churn);
  const pid_t second = Start(churn);
  auto mine = Join();
  EXPECT_TRUE(churn(*mine));
  EXPECT_EQ(mine->Used(0), 0u);
  EXPECT_TRUE(mine->Charge(0, kTotal)) << "nobody holds anything";
  Kill(first);
  Kill(second);
}

}  // namespace
}  // namespace millpond
