// SPDX-License-Identifier: Apache-2.0
#include "src/pool/free_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace millpond::pool {
namespace {

constexpr size_t kUnitBytes = 512;

// The index never dereferences the pointer: the address serves as an identity.
Block* Fake(Address address) { return reinterpret_cast<Block*>(address); }

// The reference for FreeIndex: sizes by address.
struct Reference {
  std::map<Address, size_t> entries;

  Block* Lowest(size_t bytes) const {
    for (const auto& [address, size] : entries) {
      if (size >= bytes) return Fake(address);
    }
    return nullptr;
  }
  Block* Holding(Address address) const {
    auto next = entries.upper_bound(address);
    if (next == entries.begin()) return nullptr;
    --next;
    return address - next->first < next->second ? Fake(next->first) : nullptr;
  }
};

TEST(FreeIndex, AgreesWithAPlainMapThroughRandomChanges) {
  std::mt19937_64 random(7);
  // Long enough for many chunks, and with phases of growth and of shrinking so that they split and vanish.
  constexpr size_t kPlaces = 2000;
  constexpr size_t kRoom = 64;  // units per place: no two entries can overlap
  FreeIndex index;
  index.Reserve(kPlaces);
  Reference reference;
  for (int step = 0; step < 60000; ++step) {
    const Address place = kUnitBytes * kRoom * (1 + random() % kPlaces);
    const size_t bytes = kUnitBytes * (1 + random() % kRoom);
    const bool growing = step / 10000 % 2 == 0;
    const auto found = reference.entries.lower_bound(place);
    const bool here = found != reference.entries.end() && found->first < place + kUnitBytes * kRoom;
    if (!here && (growing || random() % 4 == 0)) {
      index.Insert({place, bytes, Fake(place)});
      reference.entries[place] = bytes;
    } else if (here && (!growing || random() % 4 == 0)) {
      index.Erase(found->first);
      reference.entries.erase(found);
    } else if (here) {  // the lower part is allocated, the rest stays
      const Address start = place + kUnitBytes * (random() % kRoom);
      const size_t rest = place + kUnitBytes * kRoom - start;
      index.Replace(found->first, {start, rest, Fake(start)});
      reference.entries.erase(found);
      reference.entries[start] = rest;
    }
    const size_t wanted = kUnitBytes * (1 + random() % (kRoom + 1));
    ASSERT_EQ(index.Lowest(wanted), reference.Lowest(wanted)) << "step " << step;
    const Address asked = kUnitBytes * kRoom + random() % (kUnitBytes * kRoom * (kPlaces + 1));
    ASSERT_EQ(index.Holding(asked), reference.Holding(asked)) << "step " << step;
  }
  auto expected = reference.entries.begin();
  index.ForEach([&](const FreeIndex::Entry& entry) {
    ASSERT_NE(expected, reference.entries.end());
    EXPECT_EQ(entry.address, expected->first);
    EXPECT_EQ(entry.bytes, expected->second);
    EXPECT_EQ(entry.block, Fake(entry.address));
    ++expected;
  });
  EXPECT_EQ(expected, reference.entries.end());
}

TEST(FreeIndex, EmptyIndexFindsNothing) {
  FreeIndex index;
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.Lowest(1), nullptr);
  EXPECT_EQ(index.Holding(kUnitBytes), nullptr);
  index.Reserve(1);
  index.Insert({kUnitBytes, kUnitBytes, Fake(kUnitBytes)});
  index.Erase(kUnitBytes);
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.Lowest(1), nullptr);
}

}  // namespace
}  // namespace millpond::pool
