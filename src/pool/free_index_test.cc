// SPDX-License-Identifier: Apache-2.0
#include "src/pool/free_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace millpond::pool {
namespace {

constexpr size_t kUnitBytes = 512;

// The index never dereferences the pointer: the address serves as an identity.
Block* Fake(Address address) { return reinterpret_cast<Block*>(address); }

// The reference for FreeIndex: sizes by address, and both by size.
struct Reference {
  std::map<Address, size_t> entries;
  std::set<std::pair<size_t, Address>> by_size;

  void Insert(Address address, size_t bytes) {
    entries[address] = bytes;
    by_size.emplace(bytes, address);
  }
  void Erase(Address address) {
    by_size.erase({entries[address], address});
    entries.erase(address);
  }
  Block* Fit(size_t bytes) const {
    const auto found = by_size.lower_bound({bytes, 0});
    return found == by_size.end() ? nullptr : Fake(found->second);
  }
  Block* Holding(Address address) const {
    auto next = entries.upper_bound(address);
    if (next == entries.begin()) return nullptr;
    --next;
    return address - next->first < next->second ? Fake(next->first) : nullptr;
  }
};

TEST(FreeIndex, AgreesWithPlainMapsThroughRandomChanges) {
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
    const auto entry = [](const auto& one) { return FreeIndex::Entry{one.first, one.second, Fake(one.first)}; };
    if (!here && (growing || random() % 4 == 0)) {
      index.Insert({place, bytes, Fake(place)});
      reference.Insert(place, bytes);
    } else if (here && (!growing || random() % 4 == 0)) {
      index.Erase(entry(*found));
      reference.Erase(found->first);
    } else if (here) {  // the lower part is allocated, the rest stays
      const Address start = place + kUnitBytes * (random() % kRoom);
      const size_t rest = place + kUnitBytes * kRoom - start;
      index.Replace(entry(*found), {start, rest, Fake(start)});
      reference.Erase(found->first);
      reference.Insert(start, rest);
    }
    const size_t wanted = kUnitBytes * (1 + random() % (kRoom + 1));
    ASSERT_EQ(index.Fit(wanted), reference.Fit(wanted)) << "step " << step;
    ASSERT_EQ(index.largest(), reference.by_size.empty() ? 0 : reference.by_size.rbegin()->first) << "step " << step;
    if (step % 16 != 0) continue;
    const Address asked = kUnitBytes * kRoom + random() % (kUnitBytes * kRoom * (kPlaces + 1));
    ASSERT_EQ(index.Holding(asked), reference.Holding(asked)) << "step " << step;
  }
  constexpr size_t kMin = kUnitBytes * kRoom / 2;
  auto expected = reference.by_size.lower_bound({kMin, 0});
  index.ForEachFrom(kMin, [&](const FreeIndex::Entry& entry) {
    ASSERT_NE(expected, reference.by_size.end());
    EXPECT_EQ(std::pair(entry.bytes, entry.address), *expected);
    EXPECT_EQ(entry.block, Fake(entry.address));
    ++expected;
  });
  EXPECT_EQ(expected, reference.by_size.end());
}

TEST(FreeIndex, EmptyIndexFindsNothing) {
  FreeIndex index;
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.Fit(1), nullptr);
  EXPECT_EQ(index.Holding(kUnitBytes), nullptr);
  index.Reserve(1);
  index.Insert({kUnitBytes, kUnitBytes, Fake(kUnitBytes)});
  index.Erase({kUnitBytes, kUnitBytes, Fake(kUnitBytes)});
  EXPECT_TRUE(index.empty());
  EXPECT_EQ(index.Fit(1), nullptr);
}

}  // namespace
}  // namespace millpond::pool
