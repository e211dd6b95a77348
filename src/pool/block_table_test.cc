// SPDX-License-Identifier: Apache-2.0
#include "src/pool/block_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

namespace millpond::pool {
namespace {

// The table never dereferences the pointer.
Block* Fake(Address address) { return reinterpret_cast<Block*>(address); }

TEST(BlockTable, AgreesWithAPlainMapThroughRandomChanges) {
  std::mt19937_64 random(3);
  constexpr size_t kAddresses = 600;
  BlockTable table;
  size_t room = 0;
  std::map<Address, Block*> reference;
  for (int step = 0; step < 50000; ++step) {
    const Address address = 512 * (1 + random() % kAddresses);
    if (reference.erase(address) != 0) {
      table.Erase(address);
    } else {
      table.AddRoom(reference.size() < room ? 0 : 1);
      room = std::max(room, reference.size() + 1);
      table.Insert(address, Fake(address + 1));
      reference[address] = Fake(address + 1);
    }
    const Address asked = 512 * (1 + random() % kAddresses);
    const auto found = reference.find(asked);
    ASSERT_EQ(table.Find(asked), found == reference.end() ? nullptr : found->second) << "step " << step;
  }
}

TEST(BlockTable, AReaderWithoutALockMayMissAnEntryButNeverTakesAnotherForIt) {
  constexpr Address kStays = 512 * 5;
  BlockTable table;
  table.AddRoom(1);
  table.Insert(kStays, Fake(kStays));
  std::atomic<bool> done{false};
  uint64_t found = 0;
  std::thread reader([&] {
    while (!done.load(std::memory_order_relaxed) || found == 0) {
      Block* const block = table.Find(kStays);
      if (block == nullptr) continue;
      ASSERT_EQ(block, Fake(kStays));
      ++found;
    }
  });
  for (int round = 0; round < 200; ++round) {
    table.AddRoom(1);
    for (Address i = 0; i < static_cast<Address>(round); ++i) table.Insert(512 * (1000 + i), Fake(i));
    for (Address i = 0; i < static_cast<Address>(round); ++i) table.Erase(512 * (1000 + i));
  }
  done.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace millpond::pool
