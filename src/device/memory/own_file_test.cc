// SPDX-License-Identifier: Apache-2.0
// Blocks that move to a file of their own while they are in use. Issue 13, point 2.
#include "src/device/memory/own_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "src/device/device.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/range_heap.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"
#include "src/device/testing.h"

namespace millpond {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Mappings of the heaps' half of A: what a move parts and a free joins again.
size_t HeapMappings() {
  const auto begin = reinterpret_cast<uintptr_t>(Reachable(reinterpret_cast<char*>(HeapBegin(0))));
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += std::stoull(line, nullptr, 16) - begin < GetAddressLayout().heap_span;
  }
  return count;
}

class OwnFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    memory_ = MemoryOfDeviceZero();
    ASSERT_NE(memory_, nullptr);
    InstallFaultHandler();
  }
  void TearDown() override { memory_->FreeAll(); }
  char* Allocate(size_t bytes) { return AllocatePages(memory_, bytes); }
  SharedFd Move(char* block) {
    SharedFd file;
    const Status status = memory_->OwnFileOf(block, LookUp(block).block, &file);
    EXPECT_TRUE(status.ok()) << status.message();
    return file;
  }
  static std::string Contents(const SharedFd& file) {
    struct stat facts {};
    EXPECT_EQ(fstat(file->get(), &facts), 0);
    std::string all(static_cast<size_t>(facts.st_size), '?');
    EXPECT_EQ(pread(file->get(), all.data(), all.size(), 0), facts.st_size);
    return all;
  }
  DeviceMemory* memory_ = nullptr;
};

TEST_F(OwnFileTest, TheFileHasTheBlockAndNothingElse) {
  char* before = Allocate(10000);
  char* block = Allocate(10000);
  char* after = Allocate(10000);
  FillBytes(before, 'b', 10000);
  FillBytes(after, 'a', 10000);
  FillBytes(block, 'x', 10000);
  const SharedFd file = Move(block);
  EXPECT_EQ(Contents(file), std::string(10000, 'x') + std::string(2288, '\0')) << "whole pages, the rest of them empty";
  FillBytes(block, 'y', 10000);
  EXPECT_EQ(Contents(file).substr(0, 10000), std::string(10000, 'y')) << "the address shows the new file";
  for (char* neighbour : {before, after}) {
    EXPECT_EQ(Reachable(neighbour)[0], neighbour == before ? 'b' : 'a');
    EXPECT_EQ(Reachable(neighbour)[9999], neighbour == before ? 'b' : 'a');
  }
  EXPECT_EQ(Move(block), file) << "it moves once";
}

TEST_F(OwnFileTest, ThePlaceOfAFreedBlockIsTheHeapsAgainAndItsFileKeepsTheOldBytes) {
  Allocate(4096);  // so that the heap goes on on both sides
  const size_t mappings = HeapMappings(), counted = Vmm::Get().kernel_mappings();
  const uint64_t free_bytes = memory_->free_bytes();
  char* block = Allocate(3 * kMiB);
  FillBytes(block, 'o', 3 * kMiB);
  const SharedFd file = Move(block);
  EXPECT_EQ(memory_->free_bytes(), free_bytes - 3 * kMiB) << "charged once";
  EXPECT_EQ(HeapMappings(), mappings + 2);
  EXPECT_EQ(Vmm::Get().kernel_mappings(), counted + 2);
  ASSERT_TRUE(memory_->Free(block).ok());
  EXPECT_EQ(HeapMappings(), mappings) << "one mapping again";
  EXPECT_EQ(Vmm::Get().kernel_mappings(), counted);
  EXPECT_EQ(memory_->free_bytes(), free_bytes);
  EXPECT_FALSE(memory_->Free(block).ok()) << "twice";
  ASSERT_EQ(Allocate(3 * kMiB), block) << "the same place";
  FillBytes(block, 's', 3 * kMiB);  // what the next owner writes is no business of an importer
  EXPECT_EQ(Contents(file), std::string(3 * kMiB, 'o'));
}

TEST_F(OwnFileTest, UntouchedPagesStayUntouched) {
  char* block = Allocate(256 * kMiB);
  Reachable(block)[100 * kMiB] = 'x';
  const SharedFd file = Move(block);
  struct stat facts {};
  ASSERT_EQ(fstat(file->get(), &facts), 0);
  EXPECT_EQ(facts.st_size, static_cast<off_t>(256 * kMiB));
  EXPECT_LE(static_cast<size_t>(facts.st_blocks) * 512, 4 * kMiB);
  EXPECT_EQ(Reachable(block)[100 * kMiB], 'x');
}

// Every thread counts up words of its own all the time; a write that the move lost would leave a word behind.
TEST_F(OwnFileTest, NoWriteIsLostByTheMove) {
  constexpr size_t kBytes = 32 * kMiB, kStep = 64 * 1024, kWriters = 3;
  for (int round = 0; round < 5; ++round) {
    char* block = Allocate(kBytes);
    FillBytes(block, 0, kBytes);
    std::atomic<bool> stop{false};
    std::atomic<size_t> running{0};
    std::vector<uint64_t> rounds(kWriters, 0);
    std::vector<std::thread> writers;
    for (size_t w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        while (!stop.load(std::memory_order_relaxed)) {
          for (size_t at = 0; at < kBytes; at += kStep) {
            auto* word = reinterpret_cast<volatile uint64_t*>(Reachable(block) + at + w * 64);
            *word = *word + 1;
          }
          if (rounds[w]++ == 0) running.fetch_add(1);
        }
      });
    }
    while (running.load() < kWriters) std::this_thread::yield();
    const SharedFd file = Move(block);
    stop = true;
    for (std::thread& writer : writers) writer.join();
    const std::string contents = Contents(file);
    for (size_t w = 0; w < kWriters; ++w) {
      for (size_t at = 0; at < kBytes; at += kStep) {
        uint64_t count = 0;
        memcpy(&count, contents.data() + at + w * 64, sizeof(count));
        ASSERT_EQ(count, rounds[w]) << "writer " << w << " at " << at << ", round " << round;
      }
    }
    ASSERT_TRUE(memory_->Free(block).ok());
  }
}

std::atomic<int> g_client_handler_calls{0};
void ClientHandler(int) {
  g_client_handler_calls.fetch_add(1);
  _exit(9);
}

// A client's crash handler that does not call the one before it must not see our faults, and must be there afterwards.
TEST_F(OwnFileTest, AClientsFaultHandlerIsNotCalledForAMoveAndIsKept) {
  struct sigaction client {};
  client.sa_handler = ClientHandler;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGSEGV, &client, &before), 0);
  constexpr size_t kBytes = 32 * kMiB;
  char* block = Allocate(kBytes);
  FillBytes(block, 1, kBytes);
  std::atomic<bool> stop{false}, running{false};
  std::thread writer([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (size_t at = 0; at < kBytes; at += 4096) *static_cast<volatile char*>(Reachable(block) + at) = 2;
      running = true;
    }
  });
  while (!running.load()) std::this_thread::yield();
  Move(block);
  stop = true;
  writer.join();
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGSEGV, &before, &now), 0);
  EXPECT_EQ(now.sa_handler, ClientHandler);
  EXPECT_EQ(g_client_handler_calls.load(), 0);
}

TEST_F(OwnFileTest, AWildAccessAfterAMoveIsStillTold) {
  Move(Allocate(4096));
  void* reserved = nullptr;
  ASSERT_TRUE(Vmm::Get().Reserve(0, kHugePageBytes, nullptr, &reserved).ok());
  EXPECT_FALSE(RunOnCaller([&] { *static_cast<volatile char*>(Reachable(reserved)) = 1; }).ok());
  EXPECT_TRUE(Vmm::Get().Release(reserved).ok());
}

TEST_F(OwnFileTest, AFreeOnAnotherThreadComesBeforeOrAfterTheMoveNeverWithin) {
  const size_t mappings = HeapMappings();
  for (int round = 0; round < 200; ++round) {
    char* block = Allocate(64 * 1024);
    FillBytes(block, 'x', 64 * 1024);
    const uint64_t number = LookUp(block).block;
    std::atomic<bool> go{false};
    std::thread freeing([&] {
      while (!go.load()) {
      }
      EXPECT_TRUE(memory_->Free(block).ok());
    });
    go = true;
    SharedFd file;
    const Status status = memory_->OwnFileOf(block, number, &file);
    EXPECT_EQ(status.ok(), file != nullptr);
    EXPECT_TRUE(status.ok() || status.code() == Code::kRuntimeArgument) << status.message();
    freeing.join();
  }
  EXPECT_EQ(HeapMappings(), mappings);
}

TEST_F(OwnFileTest, TheRuntimesOwnSmallBlocksDoNotMove) {
  void* address = nullptr;
  ASSERT_TRUE(memory_->Allocate(512, "inner", &address).ok());
  SharedFd file;
  const Status status = memory_->OwnFileOf(address, LookUp(address).block, &file);
  EXPECT_EQ(status.code(), Code::kRuntimeArgument);
  EXPECT_NE(status.message().find("aclrtMalloc"), std::string::npos) << status.message();
}

TEST_F(OwnFileTest, ClientsBlocksShareNoPage) {
  std::vector<uintptr_t> pages;
  for (const size_t bytes : {1, 512, 513, 4096, 4097, 100}) {
    const auto at = reinterpret_cast<uintptr_t>(Allocate(bytes));
    EXPECT_EQ(at % 4096, 0u) << bytes;
    for (uintptr_t page = at / 4096; page <= (at + bytes - 1) / 4096; ++page) pages.push_back(page);
  }
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(std::adjacent_find(pages.begin(), pages.end()), pages.end());
}

TEST_F(OwnFileTest, AMoveThatTheMappingBudgetForbidsChangesNothing) {
  char* block = Allocate(kMiB);
  FillBytes(block, 'k', kMiB);
  const size_t mappings = HeapMappings();
  Vmm::Get().SetMappingBudgetForTest(Vmm::Get().kernel_mappings() + 1);
  SharedFd file;
  const Status status = memory_->OwnFileOf(block, LookUp(block).block, &file);
  Vmm::Get().SetMappingBudgetForTest(50000);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(HeapMappings(), mappings);
  EXPECT_EQ(Reachable(block)[kMiB - 1], 'k');
  FillBytes(block, 'l', kMiB);
  EXPECT_EQ(Contents(Move(block)), std::string(kMiB, 'l')) << "later it can";
}

TEST_F(OwnFileTest, NobodyChangesTheFilesSizeOrShutsOthersOut) {
  const SharedFd file = Move(Allocate(kMiB));
  EXPECT_NE(ftruncate(file->get(), 0), 0);
  EXPECT_NE(ftruncate(file->get(), 2 * kMiB), 0);
  EXPECT_NE(fcntl(file->get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
}

TEST_F(OwnFileTest, AllBlocksGoAtAResetMovedOrNot) {
  const size_t mappings = HeapMappings();
  std::weak_ptr<const UniqueFd> files[20];
  for (auto& file : files) file = Move(Allocate(5000));
  Allocate(5000);
  EXPECT_EQ(memory_->FreeAll(), 21u);
  EXPECT_EQ(HeapMappings(), mappings);
  for (const auto& file : files) EXPECT_TRUE(file.expired());
}

}  // namespace
}  // namespace millpond
