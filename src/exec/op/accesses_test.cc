// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/accesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace millpond {
namespace {

std::byte g_storage[1 << 16];

TensorView View(std::initializer_list<int64_t> dims, std::initializer_list<int64_t> strides,
                DType dtype = DType::kFloat) {
  TensorView view;
  view.data = g_storage;
  view.dtype = dtype;
  view.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

std::vector<trace::Access> Of(const TensorView& view) {
  Accesses accesses;
  accesses.Add(view, trace::Mode::kRead);
  return {accesses.span().begin(), accesses.span().end()};
}

std::set<size_t> BytesOf(const std::vector<trace::Access>& accesses) {
  std::set<size_t> bytes;
  for (const trace::Access& access : accesses) {
    const auto begin = static_cast<size_t>(static_cast<const std::byte*>(access.address) - g_storage);
    for (size_t row = 0; row < access.rows; ++row) {
      for (size_t i = 0; i < access.bytes; ++i) bytes.insert(begin + row * access.pitch + i);
    }
  }
  return bytes;
}

std::set<size_t> BytesOf(const TensorView& view) {
  std::set<size_t> bytes;
  const auto element = static_cast<size_t>(BitsOf(view.dtype)) / 8;
  for (int64_t n = 0; n < view.elements(); ++n) {
    int64_t at = view.offset, rest = n;
    for (size_t i = view.rank; i-- > 0;) {
      at += rest % view.dims[i] * view.strides[i];
      rest /= view.dims[i];
    }
    for (size_t i = 0; i < element; ++i) bytes.insert(static_cast<size_t>(at) * element + i);
  }
  return bytes;
}

TEST(Accesses, ContiguousAndPermutedTensorsAreOneRange) {
  for (const TensorView& view : {View({2, 3, 4}, {12, 4, 1}), View({4, 3, 2}, {1, 4, 12}), View({1, 24}, {999, 1})}) {
    const auto accesses = Of(view);
    ASSERT_EQ(accesses.size(), 1u);
    EXPECT_EQ(accesses[0].bytes, 96u);
    EXPECT_EQ(accesses[0].rows, 1u);
    EXPECT_EQ(accesses[0].flags, 0);
  }
}

// The false alarm that extents gave: two halves of the columns, each for a stream of its own.
TEST(Accesses, ColumnHalvesAreRowsWithAPitch) {
  TensorView right = View({10, 8}, {16, 1});
  right.offset = 8;
  const auto left = Of(View({10, 8}, {16, 1})), other = Of(right);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].bytes, 32u);
  EXPECT_EQ(left[0].rows, 10u);
  EXPECT_EQ(left[0].pitch, 64u);
  EXPECT_EQ(left[0].extent(), 9u * 64 + 32);
  const auto a = BytesOf(left), b = BytesOf(other);
  EXPECT_TRUE(std::none_of(a.begin(), a.end(), [&](size_t byte) { return b.contains(byte); }));
}

TEST(Accesses, BroadcastDimensionsTouchTheirBytesOnce) {
  const auto accesses = Of(View({5, 3}, {0, 1}));
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_EQ(accesses[0].bytes, 12u);
  EXPECT_EQ(accesses[0].flags, 0);
}

TEST(Accesses, WhatIsNoRectangleIsSplitOrMarkedAsPerhapsTouched) {
  EXPECT_EQ(Of(View({3, 4, 2}, {100, 8, 1})).size(), 3u) << "three blocks of four rows";
  const auto many = Of(View({17, 4, 2}, {100, 8, 1}));
  ASSERT_EQ(many.size(), 1u);
  EXPECT_EQ(many[0].flags, trace::kMayTouch);
  EXPECT_EQ(many[0].bytes, (16u * 100 + 3 * 8 + 2) * 4);
  const auto overlapping = Of(View({4, 4}, {2, 1}));
  ASSERT_EQ(overlapping.size(), 1u);
  EXPECT_EQ(overlapping[0].flags, trace::kMayTouch);
  EXPECT_TRUE(Of(View({0, 4}, {4, 1})).empty());
}

TEST(Accesses, ExactRangesAreTheBytesOfTheElementsAndOthersContainThem) {
  std::mt19937 random(1);
  int exact = 0;
  for (int round = 0; round < 2000; ++round) {
    TensorView view = View({}, {});
    view.rank = static_cast<uint8_t>(1 + random() % 4);
    for (size_t i = 0; i < view.rank; ++i) {
      view.dims[i] = 1 + static_cast<int64_t>(random() % 4);
      view.strides[i] = static_cast<int64_t>(random() % 40);
    }
    const auto accesses = Of(view);
    const auto told = BytesOf(accesses), touched = BytesOf(view);
    if (std::all_of(accesses.begin(), accesses.end(), [](const trace::Access& a) { return a.flags == 0; })) {
      ++exact;
      ASSERT_EQ(told, touched) << round;
    } else {
      ASSERT_TRUE(std::includes(told.begin(), told.end(), touched.begin(), touched.end())) << round;
    }
  }
  EXPECT_GT(exact, 500);
}

TEST(Accesses, RowsSayWhatIsWrittenWithoutBeingReadAndWhatOnlyInPart) {
  const TensorView view = View({8}, {1});
  const auto of_first = [&](const char* row, auto&& others) {
    OpCall call;
    call.Begin(FindOp(row));
    call.AddView(view);
    others(call);
    return Accesses(call).span()[0];
  };
  const auto source = [&](OpCall& call) { call.AddView(view); };
  const trace::Access copied = of_first("aclnnInplaceCopy", source);
  EXPECT_EQ(copied.mode, trace::Mode::kWrite);
  EXPECT_EQ(copied.flags, 0);
  const trace::Access added = of_first("aclnnInplaceMul", source);
  EXPECT_EQ(added.mode, trace::Mode::kReadWrite);
  EXPECT_EQ(added.flags, 0);
  const trace::Access put = of_first("aclnnIndexPutImpl", [&](OpCall& call) {
    call.AddViews({&view, 1});
    call.AddView(view);
    call.AddInt(0);
    call.AddInt(0);
  });
  EXPECT_EQ(put.mode, trace::Mode::kReadWrite);
  EXPECT_EQ(put.flags, trace::kMayTouch);
}

}  // namespace
}  // namespace millpond
