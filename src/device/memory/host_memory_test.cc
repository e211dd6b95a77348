// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/host_memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "src/base/threads_testing.h"

namespace millpond {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(PinnedMemory, IsAlignedTouchableAndKnown) {
  void* address = nullptr;
  ASSERT_TRUE(AllocatePinned(100, &address).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0u);
  std::memset(address, 1, 100);
  const PointerInfo info = LookUp(static_cast<char*>(address) + 99);
  EXPECT_EQ(info.kind, PointerKind::kPinned);
  EXPECT_EQ(info.base, address);
  EXPECT_EQ(info.bytes, 100u);
  EXPECT_FALSE(CheckRange("src", address, 101).ok());
  EXPECT_TRUE(FreePinned(address).ok());
  EXPECT_EQ(LookUp(address).kind, PointerKind::kUnallocated);
  EXPECT_FALSE(CheckRange("src", address, 1).ok()) << "freed pinned memory is refused";
}

TEST(PinnedMemory, FreeNamesWhatIsWrong) {
  void* address = nullptr;
  ASSERT_TRUE(AllocatePinned(1024, &address).ok());
  const auto message = [](void* p) { return FreePinned(p).message(); };
  EXPECT_NE(message(nullptr).find("null"), std::string::npos);
  EXPECT_NE(message(static_cast<char*>(address) + 8).find("8 B into host block"), std::string::npos);
  int local = 0;
  EXPECT_NE(message(&local).find("did not come from aclrtMallocHost"), std::string::npos);
  ASSERT_TRUE(FreePinned(address).ok());
  EXPECT_NE(message(address).find("already freed"), std::string::npos);
}

TEST(PinnedMemory, MoreThanTheHostHasIsRefused) {
  void* address = nullptr;
  EXPECT_EQ(AllocatePinned(SIZE_MAX / 2, &address).code(), Code::kHostOutOfMemory);
  EXPECT_EQ(AllocatePinned(size_t{1} << 50, &address).code(), Code::kHostOutOfMemory);
  ASSERT_TRUE(AllocatePinned(1, &address).ok()) << "a refusal changes nothing";
  EXPECT_TRUE(FreePinned(address).ok());
}

TEST(RegisteredMemory, OverlapAndUnknownRangesHaveCodesOfTheirOwn) {
  std::vector<char> memory(4 * 4096);
  char* at = memory.data();
  ASSERT_TRUE(RegisterHost(at + 4096, 8192).ok());
  EXPECT_EQ(RegisterHost(at + 4096, 8192).code(), Code::kHostRegistered);
  EXPECT_EQ(RegisterHost(at, 4097).code(), Code::kHostRegistered);
  EXPECT_EQ(RegisterHost(at + 12287, 10).code(), Code::kHostRegistered);
  EXPECT_TRUE(RegisterHost(at, 4096).ok()) << "neighbours do not overlap";
  const PointerInfo info = LookUp(at + 5000);
  EXPECT_EQ(info.kind, PointerKind::kRegistered);
  EXPECT_EQ(info.base, at + 4096);
  EXPECT_EQ(UnregisterHost(at + 5000).code(), Code::kHostNotRegistered) << "not the address that was registered";
  void* device = nullptr;
  ASSERT_TRUE(RegisteredDeviceAddress(at + 5000, &device).ok());
  EXPECT_EQ(device, at + 5000) << "the same address";
  EXPECT_TRUE(UnregisterHost(at + 4096).ok());
  EXPECT_EQ(UnregisterHost(at + 4096).code(), Code::kHostNotRegistered);
  EXPECT_EQ(RegisteredDeviceAddress(at + 5000, &device).code(), Code::kHostNotRegistered);
  EXPECT_TRUE(UnregisterHost(at).ok());
  EXPECT_EQ(LookUp(at).kind, PointerKind::kPageable);
}

TEST(RegisteredMemory, ARangeThatIsOnlyPartlyRegisteredCountsAsPageable) {
  std::vector<char> memory(2 * 4096);
  ASSERT_TRUE(RegisterHost(memory.data(), 4096).ok());
  PointerInfo info;
  ASSERT_TRUE(CheckRange("src", memory.data(), 4096, &info).ok());
  EXPECT_EQ(info.kind, PointerKind::kRegistered);
  ASSERT_TRUE(CheckRange("src", memory.data(), 8192, &info).ok());
  EXPECT_EQ(info.kind, PointerKind::kPageable);
  EXPECT_TRUE(UnregisterHost(memory.data()).ok());
}

TEST(RegisteredMemory, WithoutMappingDevicesHaveNoAddress) {
  std::vector<char> memory(4096);
  ASSERT_TRUE(RegisterHost(memory.data(), 4096, /*mapped=*/false).ok());
  void* device = nullptr;
  EXPECT_EQ(RegisteredDeviceAddress(memory.data(), &device).code(), Code::kHostNotRegistered);
  EXPECT_TRUE(UnregisterHost(memory.data()).ok());
}

TEST(ManagedMemory, IsRoundedTo2MiBAndTouchableByBothSides) {
  void* address = nullptr;
  ASSERT_TRUE(AllocateManaged(2 * kMiB + 1, &address).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % (2 * kMiB), 0u);
  EXPECT_EQ(LookUp(address).bytes, 4 * kMiB);
  EXPECT_EQ(LookUp(address).kind, PointerKind::kManaged);
  static_cast<char*>(address)[5] = 7;
  char back = 0;
  CopyBytes(&back, static_cast<char*>(address) + 5, 1);
  EXPECT_EQ(back, 7);
  EXPECT_EQ(FreePinned(address).code(), Code::kInvalidArgument);
  EXPECT_TRUE(FreeDeviceAddress(address).ok()) << "aclrtFree gives managed memory back";
  EXPECT_FALSE(FreeDeviceAddress(address).ok());
}

TEST(ManagedMemory, AdviceIsPerPageAndDiffersMeansNone) {
  void* address = nullptr;
  ASSERT_TRUE(AllocateManaged(6 * kMiB, &address).ok());
  char* at = static_cast<char*>(address);
  ASSERT_TRUE(AdviseManaged(at, 4 * kMiB, ManagedAdvice::kSetPreferred, 0).ok());
  ASSERT_TRUE(AdviseManaged(at, 6 * kMiB, ManagedAdvice::kSetReadMostly, kLocationNone).ok());
  ASSERT_TRUE(AdviseManaged(at, 2 * kMiB, ManagedAdvice::kSetAccessedBy, kLocationHost).ok());
  ManagedFacts facts;
  ASSERT_TRUE(QueryManaged(at, 2 * kMiB, &facts).ok());
  EXPECT_EQ(facts.preferred, 0);
  EXPECT_TRUE(facts.read_mostly);
  EXPECT_TRUE(facts.accessed_by_host);
  ASSERT_TRUE(QueryManaged(at, 6 * kMiB, &facts).ok());
  EXPECT_EQ(facts.preferred, kLocationNone) << "the last page has no preference";
  EXPECT_TRUE(facts.read_mostly);
  EXPECT_FALSE(facts.accessed_by_host);
  ASSERT_TRUE(AdviseManaged(at + 2 * kMiB, 2 * kMiB, ManagedAdvice::kUnsetReadMostly, kLocationNone).ok());
  ASSERT_TRUE(QueryManaged(at, 6 * kMiB, &facts).ok());
  EXPECT_FALSE(facts.read_mostly);
  EXPECT_FALSE(QueryManaged(at, 8 * kMiB, &facts).ok()) << "past the end";
  int local = 0;
  EXPECT_FALSE(QueryManaged(&local, 4, &facts).ok());
  ASSERT_TRUE(FreeManaged(address).ok());
  ASSERT_TRUE(AllocateManaged(2 * kMiB, &address).ok());
  ASSERT_TRUE(QueryManaged(address, 2 * kMiB, &facts).ok());
  EXPECT_FALSE(facts.read_mostly) << "advice goes with its block";
  EXPECT_TRUE(FreeManaged(address).ok());
}

TEST(HostMemory, EightThreadsAllocateRegisterAndLookUp) {
  std::atomic<int> wrong{0};
  OnThreads(8, [&](unsigned id) {
    std::mt19937 random(id);
    std::vector<char> mine(8192);
    for (int step = 0; step < 500; ++step) {
      void* address = nullptr;
      const size_t bytes = 1 + random() % 100'000;
      if (!AllocatePinned(bytes, &address).ok()) ++wrong;
      if (!RegisterHost(mine.data(), mine.size()).ok()) ++wrong;
      if (LookUp(static_cast<char*>(address) + bytes - 1).base != address) ++wrong;
      if (LookUp(mine.data() + 100).kind != PointerKind::kRegistered) ++wrong;
      if (!UnregisterHost(mine.data()).ok()) ++wrong;
      if (!FreePinned(address).ok()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace millpond
