// SPDX-License-Identifier: Apache-2.0
// A broker of the test's own has another number than the process's, so one process can play both sides.
#include "src/device/share/broker.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/device/share/broker_wire.h"

namespace millpond {
namespace {

class BrokerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeOwnFile("broker-test", 8192, &file_).ok());
    ASSERT_EQ(pwrite(file_->get(), "shared", 6, 4096), 6);
  }
  ShareOffer Offer() {
    ShareOffer offer;
    offer.kind = ShareKind::kNotify;
    offer.file = file_;
    offer.offset = 4096;
    offer.bytes = 6;
    offer.any_pid = true;
    memcpy(offer.payload, "payload", 8);
    return offer;
  }
  static ShareName Publish(Broker* broker, const ShareOffer& offer, bool short_name = false) {
    ShareName name;
    const Status status = broker->Publish(offer, short_name, &name);
    EXPECT_TRUE(status.ok()) << status.message();
    return name;
  }
  static void ExpectShared(const ShareGrant& grant) {
    char text[7] = {};
    EXPECT_EQ(pread(grant.file.get(), text, 6, static_cast<off_t>(grant.offset)), 6);
    EXPECT_STREQ(text, "shared");
    EXPECT_EQ(grant.bytes, 6u);
    EXPECT_STREQ(reinterpret_cast<const char*>(grant.payload), "payload");
  }
  SharedFd file_;
};

TEST_F(BrokerTest, KeySurvivesPrintingAndNothingElseIsAKey) {
  const ShareName name{ShareKind::kEvent, 0x12345, 4242, 1007, 0xABCDEF, 0x123456789};
  char key[kShareKeyBytes];
  name.Print(key);
  EXPECT_EQ(strlen(key), kShareKeyDigits);
  ShareName parsed;
  ASSERT_TRUE(ShareName::Parse(key, ShareKind::kEvent, &parsed).ok());
  EXPECT_EQ(parsed.broker, name.broker);
  EXPECT_EQ(parsed.pid, name.pid);
  EXPECT_EQ(parsed.uid, name.uid);
  EXPECT_EQ(parsed.high, name.high);
  EXPECT_EQ(parsed.low, name.low);
  EXPECT_EQ(ShareName::Parse(key, ShareKind::kMemory, &parsed).code(), Code::kRuntimeArgument);
  for (size_t i = 0; i < kShareKeyDigits; ++i) {
    std::string mangled(key);
    mangled[i] = mangled[i] == '0' ? '1' : '0';
    EXPECT_EQ(ShareName::Parse(mangled.c_str(), ShareKind::kEvent, &parsed).code(), Code::kRuntimeArgument) << i;
  }
  EXPECT_FALSE(ShareName::Parse("", ShareKind::kEvent, &parsed).ok());
  EXPECT_FALSE(ShareName::Parse(std::string(200, 'a').c_str(), ShareKind::kEvent, &parsed).ok());
  EXPECT_FALSE(ShareName::Parse((std::string(key) + "0").c_str(), ShareKind::kEvent, &parsed).ok());
}

TEST_F(BrokerTest, FetchHandsOverFileRangeAndPayload) {
  Broker broker;
  for (const bool short_name : {false, true}) {
    ShareName name = Publish(&broker, Offer(), short_name);
    if (short_name) {
      ShareName from_handle;
      ASSERT_TRUE(ShareName::FromHandle(name.ToHandle(), ShareKind::kNotify, &from_handle).ok());
      name = from_handle;
    }
    ShareGrant grant;
    const Status status = FetchShare(name, &grant);
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectShared(grant);
    EXPECT_FALSE(grant.lease) << "nobody asked for one";
    EXPECT_TRUE(broker.Withdraw(name).ok());
    EXPECT_EQ(broker.Withdraw(name).code(), Code::kRuntimeArgument);
    EXPECT_EQ(FetchShare(name, &grant).code(), Code::kIpc);
  }
}

TEST_F(BrokerTest, OnlyNamedPidsMayFetch) {
  Broker broker;
  ShareOffer offer = Offer();
  offer.any_pid = false;
  const ShareName name = Publish(&broker, offer);
  ShareGrant grant;
  EXPECT_EQ(FetchShare(name, &grant).code(), Code::kNoPermission);
  const int32_t other[] = {1, getppid()};
  ASSERT_TRUE(broker.Allow(name, other).ok());
  const Status refused = FetchShare(name, &grant);
  EXPECT_EQ(refused.code(), Code::kNoPermission);
  EXPECT_NE(refused.message().find(std::to_string(getpid())), std::string::npos) << refused.message();
  EXPECT_FALSE(grant.file);
  const int32_t mine[] = {getpid()};
  ASSERT_TRUE(broker.Allow(name, mine).ok());
  EXPECT_TRUE(FetchShare(name, &grant).ok());
}

TEST_F(BrokerTest, UnknownNamesAreTold) {
  Broker broker;
  ShareName name = Publish(&broker, Offer());
  ShareGrant grant;
  ShareName wrong = name;
  wrong.low ^= 1;
  EXPECT_EQ(FetchShare(wrong, &grant).code(), Code::kIpc);
  EXPECT_EQ(broker.Allow(wrong, {}).code(), Code::kRuntimeArgument);
  wrong = name;
  wrong.kind = ShareKind::kEvent;
  EXPECT_EQ(FetchShare(wrong, &grant).code(), Code::kIpc);
  wrong = name;
  wrong.broker ^= 1;
  EXPECT_EQ(FetchShare(wrong, &grant).code(), Code::kIpc) << "nobody listens there";
  Broker idle;
  EXPECT_EQ(idle.Allow(name, {}).code(), Code::kRuntimeArgument);
}

TEST_F(BrokerTest, AProcessDoesNotImportFromItself) {
  const ShareName name = Publish(&Broker::Get(), Offer());
  ShareGrant grant;
  EXPECT_EQ(FetchShare(name, &grant).code(), Code::kRuntimeArgument);
  EXPECT_TRUE(Broker::Get().Withdraw(name).ok());
}

TEST_F(BrokerTest, WhatIsGoneIsNotHandedOver) {
  Broker broker;
  std::atomic<bool> alive{true};
  ShareOffer offer = Offer();
  offer.valid = [&] { return alive.load(); };
  const ShareName name = Publish(&broker, offer);
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok());
  alive = false;
  EXPECT_EQ(FetchShare(name, &grant).code(), Code::kIpc);
}

TEST_F(BrokerTest, LeaseEndsWhenTheImporterLetsGo) {
  Broker broker;
  std::weak_ptr<int> watched;
  ShareName name;
  {
    auto lease = std::make_shared<int>(1);
    watched = lease;
    ShareOffer offer = Offer();
    offer.lease = lease;
    name = Publish(&broker, offer);
  }
  auto first = std::make_unique<ShareGrant>();
  auto second = std::make_unique<ShareGrant>();
  ASSERT_TRUE(FetchShare(name, first.get()).ok());
  ASSERT_TRUE(FetchShare(name, second.get()).ok());
  EXPECT_TRUE(first->lease);
  ASSERT_TRUE(broker.Withdraw(name).ok());
  first.reset();
  EXPECT_FALSE(watched.expired()) << "the second importer still has it";
  second.reset();
  for (int i = 0; i < 2000 && !watched.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(watched.expired());
}

TEST_F(BrokerTest, WorksWithoutAbstractNames) {
  std::string path;
  {
    Broker broker(/*abstract=*/false);
    const ShareName name = Publish(&broker, Offer());
    path = wire::SocketPath(name);
    EXPECT_EQ(access(path.c_str(), F_OK), 0);
    ShareGrant grant;
    const Status status = FetchShare(name, &grant);
    ASSERT_TRUE(status.ok()) << status.message();
    ExpectShared(grant);
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the socket file must go with the broker";
}

TEST_F(BrokerTest, ManyThreadsFetchPublishAndWithdraw) {
  Broker broker;
  const ShareName steady = Publish(&broker, Offer());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const ShareName name = Publish(&broker, Offer(), i % 2 == 0);
        ShareGrant grant;
        EXPECT_TRUE(FetchShare(name, &grant).ok());
        EXPECT_TRUE(FetchShare(steady, &grant).ok());
        EXPECT_TRUE(broker.Withdraw(name).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millpond
