// SPDX-License-Identifier: Apache-2.0
// Every format, at odd and even sizes: what is read and written again is the same, and nothing touches a byte beyond.
#include "src/media/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "src/media/codec.h"

namespace millpond::media {
namespace {

constexpr int kFormats = 18;
constexpr uint8_t kFence = 0xa5;
constexpr size_t kFenceBytes = 64;

Layout LayoutOf(int format, uint32_t width, uint32_t height, uint32_t extra) {
  const auto row = static_cast<uint32_t>(RowBytes(format, width)) + extra;
  return {format, width, height, (row + 1) / 2 * 2, height + extra};
}

// Memory of a picture between two fences.
class Fenced {
 public:
  explicit Fenced(const Layout& layout) : bytes_(TotalBytes(layout) + 2 * kFenceBytes, kFence) {}
  uint8_t* data() { return bytes_.data() + kFenceBytes; }
  size_t size() const { return bytes_.size() - 2 * kFenceBytes; }
  bool whole() const {
    const auto is_fence = [](uint8_t byte) { return byte == kFence; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kFenceBytes, is_fence) &&
           std::all_of(bytes_.end() - kFenceBytes, bytes_.end(), is_fence);
  }

 private:
  std::vector<uint8_t> bytes_;
};

bool HasAlpha(int format) { return format >= 14; }

TEST(Picture, WhatIsReadAndWrittenAgainIsTheSameInEveryFormatAndSize) {
  for (int format = 0; format < kFormats; ++format) {
    for (const auto& [width, height] : {std::pair{1u, 1u}, {2u, 2u}, {3u, 5u}, {16u, 7u}, {33u, 4u}}) {
      const Layout layout = LayoutOf(format, width, height, 3);
      Fenced from(layout), to(layout);
      for (size_t i = 0; i < from.size(); ++i) from.data()[i] = static_cast<uint8_t>(i * 37 + 11);
      const Picture picture = Read(layout, from.data());
      EXPECT_EQ(picture.space, SpaceOf(format));
      Write(picture, layout, 0, 0, to.data());
      EXPECT_TRUE(from.whole() && to.whole()) << FormatName(format) << ' ' << width << " x " << height;
      const Picture again = Read(layout, to.data());
      for (int channel = 0; channel < (SpaceOf(format) == Space::kGrey ? 1 : 3); ++channel) {
        EXPECT_EQ(again.planes[channel], picture.planes[channel])
            << FormatName(format) << ' ' << width << " x " << height;
      }
      if (HasAlpha(format)) {
        EXPECT_NE(std::count(to.data(), to.data() + to.size(), 255), 0);
      }
    }
  }
}

TEST(Picture, PartsGoToEveryEvenPlaceAndNowhereElse) {
  for (int format = 0; format < kFormats; ++format) {
    const Layout layout = LayoutOf(format, 12, 10, 0);
    for (uint32_t x = 0; x < 12; x += 2) {
      for (uint32_t y = 0; y < 10; y += 2) {
        Fenced memory(layout);
        std::fill_n(memory.data(), memory.size(), uint8_t{50});
        Picture part(std::min(5u, 12 - x), std::min(3u, 10 - y), SpaceOf(format));
        for (auto& plane : part.planes) std::fill(plane.begin(), plane.end(), uint8_t{200});
        Write(part, layout, x, y, memory.data());
        ASSERT_TRUE(memory.whole()) << FormatName(format) << ' ' << x << ' ' << y;
        const Picture all = Read(layout, memory.data());
        for (uint32_t j = 0; j < 10; ++j) {
          for (uint32_t i = 0; i < 12; ++i) {
            const bool inside = i >= x && i < x + part.width && j >= y && j < y + part.height;
            ASSERT_EQ(all.planes[0][j * 12 + i], inside ? 200 : 50) << FormatName(format) << ' ' << i << ' ' << j;
          }
        }
      }
    }
  }
}

TEST(Picture, ColoursGoThereAndBackWithinARoundingByEachMatrix) {
  for (uint32_t number = 0; number < 6; ++number) {
    const Matrix& matrix = MatrixOf(number);
    Picture picture(16, 16, Space::kRgb);
    for (size_t i = 0; i < 256; ++i) {
      picture.planes[0][i] = static_cast<uint8_t>(i);
      picture.planes[1][i] = static_cast<uint8_t>(255 - i);
      picture.planes[2][i] = static_cast<uint8_t>(i * 7);
    }
    const Picture back = Convert(Convert(picture, Space::kYuv, matrix), Space::kRgb, matrix);
    for (int channel = 0; channel < 3; ++channel) {
      for (size_t i = 0; i < 256; ++i) {
        EXPECT_NEAR(back.planes[channel][i], picture.planes[channel][i], 2) << number << ' ' << channel << ' ' << i;
      }
    }
  }
  Picture grey(1, 1, Space::kGrey);
  grey.planes[0][0] = 77;
  const Picture rgb = Convert(grey, Space::kRgb, MatrixOf(0));
  EXPECT_EQ(rgb.planes[0][0], 77);
  EXPECT_EQ(rgb.planes[1][0], 77);
  EXPECT_EQ(rgb.planes[2][0], 77);
}

TEST(Picture, ResizingToAnySizeStaysWithinWhatWasThere) {
  Picture picture(7, 5, Space::kYuv);
  for (auto& plane : picture.planes) std::iota(plane.begin(), plane.end(), uint8_t{100});
  for (uint32_t width : {1u, 2u, 7u, 20u}) {
    for (uint32_t height : {1u, 3u, 5u, 13u}) {
      for (bool nearest : {false, true}) {
        const Picture out = Resize(picture, width, height, nearest);
        ASSERT_EQ(out.planes[2].size(), size_t{width} * height);
        for (uint8_t value : out.planes[2]) ASSERT_TRUE(value >= 100 && value <= 134) << int{value};
      }
    }
  }
}

TEST(Picture, LayoutsThatDoNotHoldTheirPictureAreRefused) {
  EXPECT_FALSE(CheckLayout("p", {18, 2, 2, 4, 4}, 1000).ok());
  EXPECT_FALSE(CheckLayout("p", {-1, 2, 2, 4, 4}, 1000).ok());
  for (int format = 0; format < kFormats; ++format) {
    const Layout layout = LayoutOf(format, 6, 4, 0);
    EXPECT_TRUE(CheckLayout("p", layout, TotalBytes(layout)).ok()) << FormatName(format);
    EXPECT_FALSE(CheckLayout("p", layout, TotalBytes(layout) - 1).ok()) << FormatName(format);
    EXPECT_FALSE(CheckLayout("p", {format, 6, 4, layout.row_bytes - 2, 4}, 100000).ok()) << FormatName(format);
    EXPECT_FALSE(CheckLayout("p", {format, 6, 4, layout.row_bytes, 3}, 100000).ok()) << FormatName(format);
    EXPECT_FALSE(CheckLayout("p", {format, 0, 4, 64, 4}, 100000).ok());
    EXPECT_FALSE(CheckLayout("p", {format, kMaxSide + 1, 4, 200000, 4}, 1u << 30).ok());
  }
}

// --- Files --------------------------------------------------------------------------------------------------------

std::vector<uint8_t> SomeJpeg() {
  Picture picture(24, 17, Space::kYuv);
  for (auto& plane : picture.planes) std::iota(plane.begin(), plane.end(), uint8_t{0});
  std::vector<uint8_t> file;
  const Status status = EncodeJpeg(picture, 80, &file);
  EXPECT_TRUE(status.ok()) << status.message();
  return file;
}

TEST(Codec, ADamagedJpegIsRefusedOrDecodedAndNothingElse) {
  const std::vector<uint8_t> good = SomeJpeg();
  ASSERT_GT(good.size(), 100u);
  Picture picture;
  ASSERT_TRUE(DecodeJpeg(good, &picture).ok());
  EXPECT_EQ(picture.width, 24u);
  EXPECT_EQ(picture.height, 17u);
  int refused = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (uint8_t change : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xff}}) {
      std::vector<uint8_t> bad = good;
      bad[i] = static_cast<uint8_t>(bad[i] ^ change);
      FileInfo info;
      Picture ignored;
      refused += JpegInfo(bad, &info).ok() && DecodeJpeg(bad, &ignored).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 10);
  for (size_t keep = 0; keep < 20; ++keep) {
    Picture ignored;
    EXPECT_FALSE(DecodeJpeg(std::span(good).first(keep), &ignored).ok()) << keep;
  }
}

TEST(Codec, GreyPicturesStayGrey) {
  Picture picture(8, 8, Space::kGrey);
  std::vector<uint8_t> file;
  ASSERT_TRUE(EncodeJpeg(picture, 100, &file).ok());
  FileInfo info;
  ASSERT_TRUE(JpegInfo(file, &info).ok());
  EXPECT_EQ(info.components, 1);
  EXPECT_EQ(info.sampling, Sampling::kGrey);
  Picture back;
  ASSERT_TRUE(DecodeJpeg(file, &back).ok());
  EXPECT_EQ(back.space, Space::kGrey);
}

TEST(Codec, GarbageIsNoPng) {
  const std::vector<uint8_t> garbage = {0x89, 'P', 'N',  'G', 0x0d, 0x0a, 0x1a, 0x0a, 0,
                                        0,    0,   0x0d, 'I', 'H',  'D',  'R',  0xff};
  FileInfo info;
  Picture ignored;
  for (size_t keep = 1; keep <= garbage.size(); ++keep) {
    EXPECT_FALSE(PngInfo(std::span(garbage).first(keep), &info).ok()) << keep;
    EXPECT_FALSE(DecodePng(std::span(garbage).first(keep), &ignored).ok()) << keep;
  }
}

}  // namespace
}  // namespace millpond::media
