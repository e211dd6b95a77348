// SPDX-License-Identifier: Apache-2.0
// The page source from inside: what a pool relies on and a client cannot see.
#include "src/device/memory/device_page_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "src/device/memory/address_space.h"
#include "src/device/memory/memory.h"
#include "src/device/testing.h"

namespace millpond {
namespace {

using pool::Address;
using pool::PageHandle;
using pool::StreamKey;
using pool::Ticket;

constexpr size_t kPage = kHugePageBytes;

class DevicePageSourceTest : public DeviceTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DeviceTest::SetUp());
    a_ = NewStream();
    b_ = NewStream();
    source_ = std::make_unique<DevicePageSource>(device_, this);
  }
  void TearDown() override {
    source_.reset();
    DeviceTest::TearDown();
  }
  static StreamKey Key(const Stream* stream) { return DevicePageSource::KeyOf(*stream); }
  Ticket Mark(const Stream* stream) {
    Ticket ticket = ~Ticket{0};
    EXPECT_TRUE(source_->Mark(Key(stream), &ticket).ok());
    return ticket;
  }

  Stream* a_ = nullptr;
  Stream* b_ = nullptr;
  std::unique_ptr<DevicePageSource> source_;
};

TEST_F(DevicePageSourceTest, PagesAreChargedMappedMovedAndGivenBack) {
  const uint64_t before = device_->memory().free_bytes();
  Address address = 0;
  ASSERT_TRUE(source_->Reserve(8 * kPage, &address).ok());
  EXPECT_EQ(address % kPage, 0u);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address)), this);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address + 8 * kPage - 1)), this);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address - 1)), nullptr);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address + 8 * kPage)), nullptr);
  EXPECT_EQ(device_->memory().free_bytes(), before) << "addresses are free of charge";
  PageHandle page = 0;
  ASSERT_TRUE(source_->NewPage(&page).ok());
  EXPECT_EQ(before - device_->memory().free_bytes(), kPage);
  ASSERT_TRUE(source_->Map(address, page).ok());
  FillBytes(reinterpret_cast<void*>(address), 0x5a, kPage);
  ASSERT_TRUE(source_->Unmap(address, page).ok());
  EXPECT_FALSE(CheckRange("p", reinterpret_cast<void*>(address), 1).ok());
  ASSERT_TRUE(source_->Map(address + 5 * kPage, page).ok());
  std::vector<uint8_t> data(kPage);
  CopyBytes(data.data(), reinterpret_cast<void*>(address + 5 * kPage), kPage);
  EXPECT_EQ(data, std::vector<uint8_t>(kPage, 0x5a)) << "contents go with the page";
  ASSERT_TRUE(source_->Unmap(address + 5 * kPage, page).ok());
  source_->DeletePage(page);
  source_->Unreserve(address, 8 * kPage);
  EXPECT_EQ(device_->memory().free_bytes(), before);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address)), nullptr);
}

TEST_F(DevicePageSourceTest, SegmentsAreHeapMemory) {
  const uint64_t before = device_->memory().free_bytes();
  Address address = 0;
  ASSERT_TRUE(source_->NewSegment(3 * kPage, &address).ok());
  EXPECT_EQ(before - device_->memory().free_bytes(), 3 * kPage);
  EXPECT_EQ(DevicePageSource::OwnerOf(reinterpret_cast<void*>(address + 3 * kPage - 1)), this);
  source_->DeleteSegment(address, 3 * kPage);
  EXPECT_EQ(device_->memory().free_bytes(), before);
  EXPECT_EQ(source_->NewSegment(source_->total_bytes() + kPage, &address).code(), Code::kOutOfMemory);
}

TEST_F(DevicePageSourceTest, TicketPassesWhenTheStreamGetsThere) {
  EXPECT_EQ(Mark(a_), 0u) << "nothing was launched";
  std::atomic<bool> open{false};
  Block(a_, &open);
  const Ticket ticket = Mark(a_);
  EXPECT_NE(ticket, 0u);
  EXPECT_FALSE(source_->Passed(ticket));
  EXPECT_EQ(Mark(b_), 0u);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    open = true;
  });
  EXPECT_TRUE(source_->Await(ticket).ok());
  EXPECT_TRUE(open);
  opener.join();
  EXPECT_TRUE(source_->Passed(ticket));
  EXPECT_TRUE(source_->Passed(0));
  source_->Drop(ticket);
}

TEST_F(DevicePageSourceTest, WaitingCanBeForbidden) {
  std::atomic<bool> open{false};
  Block(a_, &open);
  const Ticket ticket = Mark(a_);
  source_->AllowWaiting(false);
  const Status refused = source_->Await(ticket);
  EXPECT_EQ(refused.code(), Code::kOutOfMemory);
  EXPECT_FALSE(source_->Passed(ticket));
  open = true;
  source_->AllowWaiting(true);
  EXPECT_TRUE(source_->Await(ticket).ok());
  source_->AllowWaiting(false);
  EXPECT_TRUE(source_->Await(ticket).ok()) << "nothing to wait for";
}

TEST_F(DevicePageSourceTest, OrderMakesAStreamWaitAndNotTheCaller) {
  std::atomic<bool> open{false}, ran{false};
  Block(a_, &open);
  ASSERT_TRUE(source_->Order(Key(b_), Mark(a_)).ok());
  ASSERT_TRUE(source_->Order(Key(a_), Mark(a_)).ok()) << "a stream does not wait for itself";
  ASSERT_TRUE(b_->Launch<TaskKind::kCompute>("After", {}, [&]() -> Status {
                  EXPECT_TRUE(open);
                  ran = true;
                  return Ok();
                }).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(ran);
  open = true;
  EXPECT_TRUE(b_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  EXPECT_TRUE(ran);
  EXPECT_TRUE(a_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
}

// A stream loses its handle when its destruction begins and its work when that ends.
TEST_F(DevicePageSourceTest, StreamUnderDestructionStillHasWork) {
  std::atomic<bool> open{false};
  Block(a_, &open);
  const StreamKey key = Key(a_);
  std::thread destroyer([&] { EXPECT_TRUE(device_->DestroyStream(a_, false).ok()); });
  while (Streams().Find(reinterpret_cast<void*>(key)) != nullptr) std::this_thread::yield();
  Ticket ticket = 0;
  EXPECT_TRUE(source_->Mark(key, &ticket).ok());
  EXPECT_NE(ticket, 0u);
  EXPECT_FALSE(source_->Passed(ticket));
  open = true;
  destroyer.join();
  EXPECT_TRUE(source_->Passed(ticket));
  EXPECT_TRUE(source_->Mark(key, &ticket).ok());
  EXPECT_EQ(ticket, 0u);
  EXPECT_FALSE(source_->Fill(0, 1, 0, key).ok());
}

// The object of a destroyed stream serves another; its work is not the old one's.
TEST_F(DevicePageSourceTest, KeyOfAFormerLifeHasPassed) {
  std::set<Stream*> seen;
  std::vector<StreamKey> keys;
  Stream* again = nullptr;
  while (again == nullptr) {
    ASSERT_LT(keys.size(), 1000u);
    Stream* stream = NewStream();
    if (!seen.insert(stream).second) again = stream;
    keys.push_back(Key(stream));
    if (again == nullptr) {
      ASSERT_TRUE(device_->DestroyStream(stream, false).ok());
    }
  }
  std::atomic<bool> open{false};
  Block(again, &open);
  EXPECT_NE(Mark(again), 0u);
  for (const StreamKey key : keys) {
    if (key == Key(again)) continue;
    Ticket ticket = 1;
    EXPECT_TRUE(source_->Mark(key, &ticket).ok());
    EXPECT_EQ(ticket, 0u);
  }
  open = true;
  EXPECT_TRUE(again->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
}

TEST_F(DevicePageSourceTest, FillAndReadFollowTheStream) {
  Address address = 0;
  PageHandle page = 0;
  ASSERT_TRUE(source_->Reserve(kPage, &address).ok());
  ASSERT_TRUE(source_->NewPage(&page).ok());
  ASSERT_TRUE(source_->Map(address, page).ok());
  std::atomic<bool> open{false};
  Block(a_, &open);
  ASSERT_TRUE(source_->Fill(address, 4096, 0xdb, Key(a_)).ok());
  const auto* first = static_cast<const uint8_t*>(Reachable(reinterpret_cast<void*>(address)));
  EXPECT_EQ(*first, 0) << "not before the stream gets there";
  open = true;
  std::vector<uint8_t> data(4096);
  ASSERT_TRUE(source_->Read(address, data.size(), data.data(), Key(a_)).ok());
  EXPECT_EQ(data, std::vector<uint8_t>(4096, 0xdb));
  ASSERT_TRUE(source_->Unmap(address, page).ok());
  EXPECT_FALSE(source_->Read(address, data.size(), data.data(), Key(a_)).ok());
  source_->DeletePage(page);
  source_->Unreserve(address, kPage);
}

}  // namespace
}  // namespace millpond
