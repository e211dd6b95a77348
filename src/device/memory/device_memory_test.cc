// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "src/base/threads_testing.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/memory.h"
#include "src/device/testing.h"
#include "src/trace/sink.h"

namespace millpond {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class DeviceMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    memory_ = MemoryOfDeviceZero();
    ASSERT_NE(memory_, nullptr);
  }
  void TearDown() override { memory_->FreeAll(); }
  char* Allocate(size_t bytes) {
    void* address = nullptr;
    const Status status = memory_->Allocate(bytes, "test", &address);
    EXPECT_TRUE(status.ok()) << status.message();
    return static_cast<char*>(address);
  }
  void ExpectFreeFails(void* address, const std::string& text) {
    const Status status = FreeDeviceAddress(address);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }
  DeviceMemory* memory_ = nullptr;
};

TEST_F(DeviceMemoryTest, BytesWrittenThroughTheAliasStayUntilTheFree) {
  char* block = Allocate(4096);
  EXPECT_TRUE(IsDeviceAddress(block));
  EXPECT_NE(Reachable(block), block);
  FillBytes(block, 0x5a, 4096);
  char copy[4096] = {};
  CopyBytes(copy, block, sizeof(copy));
  for (const char byte : copy) ASSERT_EQ(byte, 0x5a);
  EXPECT_TRUE(memory_->Free(block).ok());
}

TEST_F(DeviceMemoryTest, LookUpKnowsBaseSizeDeviceAndNumber) {
  char* block = Allocate(1000);
  const PointerInfo info = LookUp(block + 999);
  EXPECT_EQ(info.kind, PointerKind::kDevice);
  EXPECT_EQ(info.device, 0);
  EXPECT_EQ(info.base, block);
  EXPECT_EQ(info.bytes, 1000u);
  EXPECT_GT(info.block, 0u);
  EXPECT_EQ(LookUp(block + 1000).kind, PointerKind::kUnallocated);
  EXPECT_EQ(DeviceOfAddress(block), 0);
  EXPECT_EQ(DeviceOfAddress(&block), -1);
}

// Issue 3: "refusing foreign, interior, double and null pointers by name".
TEST_F(DeviceMemoryTest, FreeNamesWhatIsWrongWithAPointer) {
  char* block = Allocate(1024);
  ExpectFreeFails(nullptr, "null");
  ExpectFreeFails(&block, "host memory");
  ExpectFreeFails(block + 256, "points 256 B into block #");
  ExpectFreeFails(block + 512, "points 512 B into block #");
  EXPECT_TRUE(FreeDeviceAddress(block).ok());
  ExpectFreeFails(block, "was already freed (block #");
  ExpectFreeFails(block, "1024 B");
  ExpectFreeFails(block + 256, "already freed");
  ExpectFreeFails(reinterpret_cast<void*>(HeapBegin(0) + GetAddressLayout().heap_span - 512), "not a block");
  ExpectFreeFails(reinterpret_cast<void*>(GetAddressLayout().virtual_begin), "reservation");
  void* pinned = nullptr;
  ASSERT_TRUE(AllocatePinned(64, &pinned).ok());
  ExpectFreeFails(pinned, "aclrtFreeHost");
  EXPECT_TRUE(FreePinned(pinned).ok());
}

TEST_F(DeviceMemoryTest, TheQuotaCountsGranulesOrPagesAndFreeGivesThemBack) {
  const uint64_t before = memory_->free_bytes();
  char* small = Allocate(1);
  EXPECT_EQ(memory_->free_bytes(), before - 512);
  void* huge = nullptr;
  ASSERT_TRUE(memory_->AllocatePages(3 * kMiB, PageClass::kHuge, "test", &huge).ok());
  EXPECT_EQ(memory_->free_bytes(), before - 512 - 4 * kMiB);
  EXPECT_GE(memory_->peak_bytes(), 512 + 4 * kMiB);
  EXPECT_TRUE(memory_->Free(huge).ok());
  EXPECT_TRUE(memory_->Free(small).ok());
  EXPECT_EQ(memory_->free_bytes(), before);
}

TEST_F(DeviceMemoryTest, OverTheQuotaIsOutOfMemoryWithFiguresAndChangesNothing) {
  const uint64_t before = memory_->free_bytes();
  void* address = &address;
  for (const size_t bytes : {before + 1, memory_->total_bytes() * 2, SIZE_MAX / 2, SIZE_MAX}) {
    const Status status = memory_->Allocate(bytes, "test", &address);
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_NE(status.message().find("asked for"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("MILLPOND_MEMORY"), std::string::npos) << status.message();
  }
  EXPECT_EQ(address, &address);
  EXPECT_EQ(memory_->free_bytes(), before);
}

TEST_F(DeviceMemoryTest, TheWholeQuotaCanBeAllocatedInOneBlockAndInPieces) {
  void* all = nullptr;
  ASSERT_TRUE(memory_->Allocate(memory_->total_bytes(), "test", &all).ok());
  EXPECT_EQ(memory_->free_bytes(), 0u);
  EXPECT_TRUE(memory_->Free(all).ok());
  // Every second of many pieces freed: half the quota is free in small runs, and a block of that size still fits.
  std::vector<char*> pieces;
  const size_t piece = memory_->total_bytes() / 64 / 512 * 512;
  for (int i = 0; i < 64; ++i) pieces.push_back(Allocate(piece));
  for (size_t i = 0; i < pieces.size(); i += 2) EXPECT_TRUE(memory_->Free(pieces[i]).ok());
  void* half = nullptr;
  EXPECT_TRUE(memory_->Allocate(32 * piece, "test", &half).ok()) << "fragments must not cost what the quota has";
}

TEST_F(DeviceMemoryTest, ChargeForPhysicalMemorySharesTheQuota) {
  const uint64_t before = memory_->free_bytes();
  ASSERT_TRUE(memory_->Charge(before).ok());
  void* address = nullptr;
  EXPECT_EQ(memory_->Allocate(1, "test", &address).code(), Code::kOutOfMemory);
  memory_->Uncharge(before);
  EXPECT_EQ(memory_->free_bytes(), before);
}

TEST_F(DeviceMemoryTest, FileRangesAreSequentialReusedAndEmptiedWhenFreed) {
  uint64_t a = 0, b = 0, c = 0;
  ASSERT_TRUE(memory_->AllocateFileRange(2 * kMiB, &a).ok());
  ASSERT_TRUE(memory_->AllocateFileRange(4 * kMiB, &b).ok());
  EXPECT_EQ(b, a + 2 * kMiB) << "neighbours in the file make neighbouring mappings merge";
  EXPECT_EQ(a % kHugePageBytes, 0u);
  struct stat status {};
  ASSERT_EQ(fstat(memory_->file(), &status), 0);
  const auto blocks_before = status.st_blocks;
  void* place = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, 2 * kMiB, nullptr, &place).ok());
  ASSERT_TRUE(MapAlias(place, 2 * kMiB, memory_->file(), a).ok());
  FillBytes(place, 1, 2 * kMiB);
  ASSERT_EQ(fstat(memory_->file(), &status), 0);
  EXPECT_GE(status.st_blocks, blocks_before + static_cast<blkcnt_t>(2 * kMiB / 512));
  ASSERT_TRUE(UnmapAlias(place, 2 * kMiB).ok());
  ReleaseVirtual(place, 2 * kMiB);
  memory_->FreeFileRange(a, 2 * kMiB);
  ASSERT_EQ(fstat(memory_->file(), &status), 0);
  EXPECT_LE(status.st_blocks, blocks_before) << "the pages went back to the host";
  ASSERT_TRUE(memory_->AllocateFileRange(2 * kMiB, &c).ok());
  EXPECT_EQ(c, a) << "a freed range is used again";
  memory_->FreeFileRange(c, 2 * kMiB);
  memory_->FreeFileRange(b, 4 * kMiB);
}

TEST_F(DeviceMemoryTest, FreedPagesBeyondTheBoundGoBackToTheHost) {
  constexpr size_t kTouched = 400 * kMiB;  // the bound is 256 MiB unless somebody set it
  char* block = Allocate(kTouched);
  FillBytes(block, 1, kTouched);
  struct stat status {};
  ASSERT_EQ(fstat(memory_->file(), &status), 0);
  EXPECT_GE(static_cast<size_t>(status.st_blocks) * 512, kTouched);
  ASSERT_TRUE(memory_->Free(block).ok());
  // Beside the call: see PageReturner.
  const auto until = Clock::now() + std::chrono::seconds(60);
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(fstat(memory_->file(), &status), 0);
  } while (static_cast<size_t>(status.st_blocks) * 512 > 260 * kMiB && Clock::now() < until);
  EXPECT_LE(static_cast<size_t>(status.st_blocks) * 512, 260 * kMiB);
}

TEST_F(DeviceMemoryTest, FreeAllFreesEveryBlockOnce) {
  char* first = Allocate(100);
  for (int i = 0; i < 99; ++i) Allocate(1000);
  EXPECT_EQ(memory_->FreeAll(), 100u);
  EXPECT_EQ(memory_->FreeAll(), 0u);
  EXPECT_EQ(memory_->free_bytes(), memory_->total_bytes());
  ExpectFreeFails(first, "already freed");
}

TEST_F(DeviceMemoryTest, CheckRangeSaysByHowMuchARangeMisses) {
  char* block = Allocate(3584);
  EXPECT_TRUE(CheckRange("dst", block, 3584).ok());
  EXPECT_TRUE(CheckRange("dst", block + 3584, 0).code() != Code::kOk) << "one past the end is no address of the block";
  const std::string past = CheckRange("dst", block + 512, 4096).message();
  EXPECT_NE(past.find("dst: 4096 B from"), std::string::npos) << past;
  EXPECT_NE(past.find("run 1024 B past the end of block #"), std::string::npos) << past;
  EXPECT_NE(past.find("at most 3072 B fit"), std::string::npos) << past;
  EXPECT_EQ(CheckRange("src", nullptr, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckRange("src", reinterpret_cast<void*>(64), 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckRange("src", reinterpret_cast<void*>(0xdeadbeefdeadbeef), 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckRange("src", block, SIZE_MAX).code(), Code::kInvalidArgument);
  ASSERT_TRUE(memory_->Free(block).ok());
  const std::string freed = CheckRange("dst", block + 8, 8).message();
  EXPECT_NE(freed.find("which is freed"), std::string::npos) << freed;
  char host[16];
  EXPECT_TRUE(CheckRange("src", host, sizeof(host)).ok()) << "pageable memory passes";
  const auto begin = internal::g_address_map.begin;
  EXPECT_FALSE(CheckRange("src", reinterpret_cast<void*>(begin - 8), 16).ok()) << "host range that runs into D";
}

// DESIGN.md 3: MADV_DONTDUMP and MADV_DONTFORK on D and A.
TEST_F(DeviceMemoryTest, NoPartOfTheReservationIsDumpedOrInherited) {
  FillBytes(Allocate(4096), 1, 4096);
  const internal::AddressMap& map = internal::g_address_map;
  const auto in_space = [&](uintptr_t at) {
    return at - map.begin < map.size || at - (map.begin + static_cast<uintptr_t>(map.delta)) < map.size;
  };
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  int seen = 0;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) inside = in_space(from);
    if (!inside || line.rfind("VmFlags:", 0) != 0) continue;
    ++seen;
    EXPECT_NE(line.find(" dd"), std::string::npos) << line;
    EXPECT_NE(line.find(" dc"), std::string::npos) << line;
  }
  EXPECT_GE(seen, 2) << "D and A were looked at";
}

class RecordingSink : public trace::Sink {
 public:
  void OnMemory(const trace::MemoryChange& change) override {
    std::lock_guard guard(mutex_);
    changes.push_back(change);
  }
  std::mutex mutex_;
  std::vector<trace::MemoryChange> changes;
};

TEST_F(DeviceMemoryTest, EveryAllocationAndFreeReachesTheSink) {
  RecordingSink sink;
  trace::Attach(&sink);
  char* block = Allocate(100);
  ASSERT_TRUE(memory_->Free(block).ok());
  trace::Detach(&sink);
  ASSERT_EQ(sink.changes.size(), 2u);
  EXPECT_TRUE(sink.changes[0].allocated);
  EXPECT_FALSE(sink.changes[1].allocated);
  EXPECT_EQ(sink.changes[0].address, block);
  EXPECT_EQ(sink.changes[0].bytes, 100u);
  EXPECT_EQ(sink.changes[0].device, 0);
  EXPECT_EQ(sink.changes[0].device_live_bytes, 512u);
  EXPECT_EQ(sink.changes[1].device_live_bytes, 0u);
}

TEST_F(DeviceMemoryTest, EightThreadsKeepTheirBytesApart) {
  std::atomic<int> damaged{0};
  OnThreads(8, [&](unsigned id) {
    std::mt19937 random(id);
    for (int step = 0; step < 400; ++step) {
      const size_t bytes = 1 + random() % 5000;
      void* address = nullptr;
      if (!memory_->Allocate(bytes, "t", &address).ok()) {
        ++damaged;
        return;
      }
      FillBytes(address, static_cast<int>(id), bytes);
      std::vector<unsigned char> back(bytes);
      CopyBytes(back.data(), address, bytes);
      for (const unsigned char byte : back) damaged += byte != id;
      if (!memory_->Free(address).ok()) ++damaged;
    }
  });
  EXPECT_EQ(damaged, 0);
  EXPECT_EQ(memory_->free_bytes(), memory_->total_bytes());
}

TEST(AddressSpace, VirtualRangesAreAlignedDisjointMergedAndAtTheHintWhenFree) {
  Runtime* runtime = nullptr;
  ASSERT_TRUE(Runtime::Get(&runtime).ok());
  void *a = nullptr, *b = nullptr, *c = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, 1, nullptr, &a).ok());
  ASSERT_TRUE(ReserveVirtual(0, 3 * kMiB, nullptr, &b).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % kHugePageBytes, 0u);
  EXPECT_GE(static_cast<char*>(b), static_cast<char*>(a) + 2 * kMiB);
  EXPECT_EQ(DeviceOfAddress(static_cast<char*>(b) + 3 * kMiB), 0) << "rounded up to 4 MiB";
  char* wish = static_cast<char*>(b) + 64 * kMiB;
  ASSERT_TRUE(ReserveVirtual(0, 2 * kMiB, wish, &c).ok());
  EXPECT_EQ(c, wish);
  void* taken = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, 2 * kMiB, wish, &taken).ok()) << "a hint that is taken is only a hint";
  EXPECT_NE(taken, wish);
  EXPECT_EQ(ReserveVirtual(0, SIZE_MAX, nullptr, &taken).code(), Code::kOutOfMemory);
  ReleaseVirtual(taken, 2 * kMiB);
  ReleaseVirtual(b, 3 * kMiB);
  ReleaseVirtual(c, 2 * kMiB);
  ReleaseVirtual(a, 1);
  EXPECT_EQ(DeviceOfAddress(a), -1);
  void* whole = nullptr;
  ASSERT_TRUE(ReserveVirtual(0, GetAddressLayout().virtual_bytes, nullptr, &whole).ok()) << "all released is one piece";
  ReleaseVirtual(whole, GetAddressLayout().virtual_bytes);
}

}  // namespace
}  // namespace millpond
