// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator.h"

#include <gtest/gtest.h>

#include "src/comm/transfer.h"

namespace millpond::comm {
namespace {

using Answer = RegisteredMemory::Answer;

TEST(Communicators, ANameIsTakenUntilItsCommunicatorIsDestroyed) {
  Communicators& all = Communicators::Get();
  void* first = all.Create("world", 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(all.Create("world", 0), nullptr);
  EXPECT_EQ(all.Find(first)->name, "world");
  EXPECT_TRUE(all.Destroy(first));
  EXPECT_FALSE(all.Destroy(first));
  EXPECT_EQ(all.Find(first), nullptr);
  void* second = all.Create("world", 1);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(all.Find(second)->device, 1);
  EXPECT_TRUE(all.Destroy(second));
}

TEST(Communicators, NamesThatAreMadeUpDiffer) {
  Communicators& all = Communicators::Get();
  void *one = all.Create("", 0), *two = all.Create("", 0);
  EXPECT_NE(all.Find(one)->name, all.Find(two)->name);
  EXPECT_TRUE(all.Destroy(one) && all.Destroy(two));
}

// What operators that take a group's name ask.
TEST(Communicators, AreFoundByGroupAndDevice) {
  Communicators& all = Communicators::Get();
  EXPECT_EQ(all.NameGroups(), "none");
  const auto add = [&](int32_t device) {
    auto made = std::make_shared<Communicator>();
    made->name = "pair";
    made->device = device;
    made->ranks = 2;
    return made;
  };
  size_t count = 0;
  const CommunicatorPtr pair = add(1);
  void* handle = all.Add(pair);
  void* alone = all.Create("alone", 0);
  EXPECT_EQ(all.FindGroup("pair", 1, &count), pair);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(all.FindGroup("pair", 0, &count), nullptr);
  EXPECT_EQ(count, 0U);
  EXPECT_TRUE(all.HasGroup("alone") && !all.HasGroup("nobody") && all.HasPeers());
  EXPECT_EQ(all.NameGroups(), "'alone' (1 rank), 'pair' (2 ranks)");
  EXPECT_TRUE(all.Destroy(handle) && all.Destroy(alone));
  EXPECT_FALSE(all.HasGroup("pair") || all.HasPeers());
}

TEST(RegisteredMemory, RangesDoNotOverlapAndPartsKeepThem) {
  RegisteredMemory memory;
  char bytes[100] = {};
  EXPECT_EQ(memory.AddRange(bytes, 50), Answer::kDone);
  EXPECT_EQ(memory.AddRange(bytes + 49, 10), Answer::kTaken);
  EXPECT_EQ(memory.AddRange(bytes + 50, 50), Answer::kDone);
  EXPECT_EQ(memory.Activate(bytes + 40, 11), Answer::kUnknown) << "it runs out of the first range";
  EXPECT_EQ(memory.Activate(bytes + 40, 10), Answer::kDone);
  EXPECT_EQ(memory.Activate(bytes + 40, 10), Answer::kTaken);
  size_t active = 0;
  EXPECT_EQ(memory.RemoveRange(bytes, &active), Answer::kTaken);
  EXPECT_EQ(active, 1u);
  bool in_range = false;
  EXPECT_EQ(memory.Deactivate(bytes + 41, &in_range), Answer::kUnknown);
  EXPECT_TRUE(in_range);
  EXPECT_EQ(memory.Deactivate(bytes + 40, &in_range), Answer::kDone);
  EXPECT_EQ(memory.RemoveRange(bytes, &active), Answer::kDone);
  EXPECT_EQ(memory.Deactivate(bytes + 40, &in_range), Answer::kUnknown);
  EXPECT_FALSE(in_range);
}

TEST(PairMessages, TheNthSendGoesToTheNthReceive) {
  char a[8] = {}, b[8] = {}, c[4] = {}, d[4] = {};
  std::vector<Transfer> transfers;
  const Message messages[] = {{true, a, 8}, {true, c, 4}, {false, b, 8}, {false, d, 4}};
  ASSERT_TRUE(PairMessages(messages, &transfers).ok());
  ASSERT_EQ(transfers.size(), 2u);
  EXPECT_EQ(transfers[0].from, a);
  EXPECT_EQ(transfers[0].to, b);
  EXPECT_EQ(transfers[1].from, c);
  EXPECT_EQ(transfers[1].to, d);
}

TEST(PairMessages, AHalfThatIsMissingOrOfAnotherSizeIsRefused) {
  char a[8] = {}, b[8] = {};
  std::vector<Transfer> transfers;
  const Message alone[] = {{true, a, 8}};
  EXPECT_EQ(PairMessages(alone, &transfers).code(), Code::kInvalidArgument);
  const Message uneven[] = {{true, a, 8}, {false, b, 4}};
  EXPECT_EQ(PairMessages(uneven, &transfers).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace millpond::comm
