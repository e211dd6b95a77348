// SPDX-License-Identifier: Apache-2.0
#include "src/base/philox.h"

#include <gtest/gtest.h>

namespace millpond {
namespace {

// The known-answer tests published with the authors' library.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~uint64_t{0}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, TheCounterCarriesThroughAllWords) {
  EXPECT_EQ(Advanced({0xffffffff, 0xffffffff, 0xffffffff, 7}, 1), (PhiloxBlock{0, 0, 0, 8}));
  EXPECT_EQ(Advanced({1, 0, 0, 0}, uint64_t{3} << 32U), (PhiloxBlock{1, 3, 0, 0}));
}

}  // namespace
}  // namespace millpond
