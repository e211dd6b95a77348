// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/device/memory/memory.h"

namespace millpond {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// A made-up /proc and /sys/fs/cgroup.
class HostFigures : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("millpond-quota-" + std::to_string(getpid()) + "-" +
                                                      ::testing::UnitTest::GetInstance()->current_test_info()->name());
    Write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:   33554432 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  HostMemoryFigures Read() { return ReadHostMemory(root_ / "proc", root_ / "cgroup"); }
  std::filesystem::path root_;
};

TEST_F(HostFigures, WithoutCgroupsAreThoseOfTheHost) {
  EXPECT_EQ(Read().total, 64 * kGiB);
  EXPECT_EQ(Read().available, 32 * kGiB);
}

TEST_F(HostFigures, AVersion2LimitOfAnyAncestorBinds) {
  Write("proc/self/cgroup", "0::/outer/inner\n");
  Write("cgroup/outer/memory.max", std::to_string(8 * kGiB) + "\n");
  Write("cgroup/outer/memory.current", std::to_string(3 * kGiB) + "\n");
  Write("cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(Read().total, 8 * kGiB);
  EXPECT_EQ(Read().available, 5 * kGiB);
}

TEST_F(HostFigures, AVersion1LimitBindsAlsoFromTheContainersOwnRoot) {
  Write("proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/docker/0123\n");
  Write("cgroup/memory/memory.limit_in_bytes", std::to_string(4 * kGiB) + "\n");
  Write("cgroup/memory/memory.usage_in_bytes", std::to_string(kGiB) + "\n");
  EXPECT_EQ(Read().total, 4 * kGiB);
  EXPECT_EQ(Read().available, 3 * kGiB);
}

TEST_F(HostFigures, ALimitAboveTheHostChangesNothing) {
  Write("proc/self/cgroup", "5:memory:/\n");
  Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read().total, 64 * kGiB);
  EXPECT_EQ(Read().available, 32 * kGiB);
}

TEST_F(HostFigures, UseAboveTheLimitLeavesNothing) {
  Write("proc/self/cgroup", "0::/a\n");
  Write("cgroup/a/memory.max", std::to_string(kGiB));
  Write("cgroup/a/memory.current", std::to_string(2 * kGiB));
  EXPECT_EQ(Read().available, 0u);
}

TEST(DeviceQuotaTest, IsTheSmallerOfTheWishAndTheHostsShare) {
  uint64_t bytes = 0;
  ASSERT_TRUE(DeviceQuota("64MiB", 64 * kGiB, 1, &bytes).ok());
  EXPECT_EQ(bytes, uint64_t{64} << 20);
  ASSERT_TRUE(DeviceQuota("", uint64_t{48} << 20, 1, &bytes).ok());
  EXPECT_EQ(bytes, uint64_t{48} << 20) << "the profile's memory when nothing is asked for";
  ASSERT_TRUE(DeviceQuota("1000TiB", kGiB, 2, &bytes).ok());
  EXPECT_LE(bytes * 2, ReadHostMemory().total) << "never more than the host has";
  EXPECT_EQ(bytes % (2 << 20), 0u);
}

TEST(DeviceQuotaTest, ABadSettingIsNamed) {
  uint64_t bytes = 0;
  for (const char* text : {"lots", "0", "-1", "1MiB", "12XiB"}) {
    const Status status = DeviceQuota(text, kGiB, 1, &bytes);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace millpond
