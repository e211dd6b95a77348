// SPDX-License-Identifier: Apache-2.0
// The tiles against three nested loops, for both sets of them: lines that fill tiles and lines that do not, narrow ones
// in pairs, columns that end within a tile, padding, strides, spread filters, several images and threads.
#include "src/kernels/gemm/gemm.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "src/kernels/gemm/gemm_tile.h"

namespace millpond::kernels {
namespace {

std::vector<float> Numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> spread(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = spread(random);
  return values;
}

std::vector<char> Packed(const std::vector<float>& filter, const Window& w, int64_t columns) {
  const Rhs shape{w.channels * w.filter_height * w.filter_width, columns};
  std::vector<char> packed(static_cast<size_t>(PackedRhsBytes(shape)));
  PackFilter(filter.data(), columns, w.channels, w.filter_height, w.filter_width, packed.data());
  return packed;
}

double Sum(const std::vector<float>& x, const std::vector<float>& filter, const Window& w, int64_t image, int64_t oy,
           int64_t ox, int64_t column) {
  double sum = 0;
  for (int64_t fy = 0; fy < w.filter_height; ++fy) {
    for (int64_t fx = 0; fx < w.filter_width; ++fx) {
      const int64_t y = oy * w.stride_y - w.pad_top + fy * w.dilation_y;
      const int64_t c0 = ox * w.stride_x - w.pad_left + fx * w.dilation_x;
      if (y < 0 || y >= w.height || c0 < 0 || c0 >= w.width) continue;
      for (int64_t c = 0; c < w.channels; ++c) {
        sum += static_cast<double>(x[static_cast<size_t>(((image * w.height + y) * w.width + c0) * w.channels + c)]) *
               filter[static_cast<size_t>(((column * w.channels + c) * w.filter_height + fy) * w.filter_width + fx)];
      }
    }
  }
  return sum;
}

// Sizes of the result follow from the rest.
Window Sized(Window w) {
  w.out_height = (w.height + w.pad_top + w.pad_bottom - w.dilation_y * (w.filter_height - 1) - 1) / w.stride_y + 1;
  w.out_width = (w.width + w.pad_left + w.pad_right - w.dilation_x * (w.filter_width - 1) - 1) / w.stride_x + 1;
  return w;
}

void Validate(const Window& w, int64_t columns, bool bias, bool addend, bool relu) {
  const auto x = Numbers(w.batch * w.height * w.width * w.channels, 1);
  const auto filter = Numbers(columns * w.channels * w.filter_height * w.filter_width, 2);
  const auto shift = Numbers(columns, 3);
  const int64_t count = w.batch * w.out_height * w.out_width * columns;
  const auto added = Numbers(count, 4);
  const auto packed = Packed(filter, w, columns);
  const Rhs shape{w.channels * w.filter_height * w.filter_width, columns};
  constexpr size_t kGuard = 64;
  std::vector<float> y(static_cast<size_t>(count) + kGuard, -7777.0F);
  const Epilogue epilogue{bias ? shift.data() : nullptr, addend ? added.data() : nullptr, relu};
  Convolution(x.data(), w, UnpackRhs(packed.data(), static_cast<int64_t>(packed.size()), shape), columns, epilogue,
              y.data());
  for (int64_t at = 0; at < count; ++at) {
    const int64_t column = at % columns, pixel = at / columns;
    double expected = Sum(x, filter, w, pixel / (w.out_height * w.out_width), pixel / w.out_width % w.out_height,
                          pixel % w.out_width, column);
    if (bias) expected += shift[static_cast<size_t>(column)];
    if (addend) expected += added[static_cast<size_t>(at)];
    if (relu) expected = std::max(expected, 0.0);
    ASSERT_NEAR(y[static_cast<size_t>(at)], expected, 1e-4) << "pixel " << pixel << ", column " << column;
  }
  for (size_t i = 0; i < kGuard; ++i) ASSERT_EQ(y[static_cast<size_t>(count) + i], -7777.0F) << "written past the end";
}

TEST(Gemm, ConvolutionsOfManyShapesAreRight) {
  std::mt19937 random(17);
  const auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 150; ++round) {
    const Window w = Sized({.batch = pick(1, 2),
                            .height = pick(5, 17),
                            .width = pick(5, 31),
                            .channels = pick(1, 40),
                            .out_height = 0,
                            .out_width = 0,
                            .filter_height = pick(1, 3),
                            .filter_width = pick(1, 3),
                            .stride_y = pick(1, 2),
                            .stride_x = pick(1, 2),
                            .dilation_y = pick(1, 2),
                            .dilation_x = pick(1, 2),
                            .pad_top = pick(0, 2),
                            .pad_left = pick(0, 2),
                            .pad_bottom = pick(0, 2),
                            .pad_right = pick(0, 2)});
    const int64_t columns = pick(1, 100);
    at::set_num_threads(static_cast<int>(pick(1, 3)));
    SCOPED_TRACE("round " + std::to_string(round) + ", " + std::to_string(columns) + " columns");
    ASSERT_NO_FATAL_FAILURE(Validate(w, columns, pick(0, 1) == 1, pick(0, 1) == 1, pick(0, 1) == 1));
  }
}

TEST(Gemm, LargeOnesAreCutIntoBlocks) {
  const Window w = Sized({1, 40, 64, 96, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  Validate(w, 70, true, true, true);
}

TEST(Gemm, EachNumberOfRowsFitsItsTile) {
  for (int64_t rows = 1; rows <= 45; ++rows) {
    const Window w = Sized({1, 1, rows, 33, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0});
    SCOPED_TRACE(rows);
    ASSERT_NO_FATAL_FAILURE(Validate(w, 67, true, rows % 2 == 0, false));
  }
}

TEST(Gemm, TheAddendMayBeTheResultItself) {
  const Window w = Sized({1, 9, 9, 8, 0, 0, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
  const auto x = Numbers(9 * 9 * 8, 1), filter = Numbers(40 * 8 * 9, 2);
  const auto packed = Packed(filter, w, 40);
  const float* right = UnpackRhs(packed.data(), static_cast<int64_t>(packed.size()), {72, 40});
  std::vector<float> apart(9 * 9 * 40), same = Numbers(9 * 9 * 40, 5);
  const auto added = same;
  Convolution(x.data(), w, right, 40, {nullptr, added.data(), false}, apart.data());
  Convolution(x.data(), w, right, 40, {nullptr, same.data(), false}, same.data());
  EXPECT_EQ(apart, same);
}

// What was packed on a machine with AVX-512 must run on one without.
TEST(Gemm, PlainTilesGiveTheSame) {
  const TileSet* const fast = TilesForAvx512();
  if (fast == nullptr) GTEST_SKIP() << "this processor has no AVX-512";
  const TileSet* const plain = PlainTiles();
  const auto x = Numbers(4 * 50, 1), right = Numbers(50 * kTileColumns, 2), bias = Numbers(kTileColumns, 3);
  const int64_t offset = 0;
  for (int rows = 1; rows <= plain->max_rows; ++rows) {
    std::vector<float> made[2];
    for (int which = 0; which < 2; ++which) {
      made[which].assign(static_cast<size_t>(rows * kTileColumns), 0);
      TileCall call{};
      call.lhs[0] = x.data();
      call.row_stride = 50;
      call.run_offsets = &offset;
      call.runs = 1;
      call.length = 50;
      call.rhs = right.data();
      call.next = reinterpret_cast<const char*>(right.data());
      call.bias = bias.data();
      call.out[0] = made[which].data();
      call.out_stride = kTileColumns;
      call.relu = true;
      (which == 0 ? fast : plain)->one[rows](call);
    }
    for (size_t i = 0; i < made[0].size(); ++i) ASSERT_NEAR(made[0][i], made[1][i], 1e-5);
  }
}

TEST(Gemm, DamagedOrForeignConstantsAreRefused) {
  const Rhs shape{5, 7};
  std::vector<char> packed(static_cast<size_t>(PackedRhsBytes(shape)));
  const auto values = Numbers(35, 1);
  PackRhs(shape, values.data(), 7, 1, packed.data());
  const auto bytes = static_cast<int64_t>(packed.size());
  EXPECT_NE(UnpackRhs(packed.data(), bytes, shape), nullptr);
  EXPECT_ANY_THROW(UnpackRhs(packed.data(), bytes, {5, 8}));
  EXPECT_ANY_THROW(UnpackRhs(packed.data(), bytes - 4, shape));
  EXPECT_ANY_THROW(UnpackRhs(packed.data(), 10, shape));
  packed[0] = 'x';
  EXPECT_FALSE(IsPackedRhs(packed.data(), bytes));
}

}  // namespace
}  // namespace millpond::kernels
