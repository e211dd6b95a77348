// SPDX-License-Identifier: Apache-2.0
#include "src/media/picture.h"

#include <algorithm>
#include <cmath>

namespace millpond::media {

namespace {

// How a format lies in memory. Packed: where each channel is within a group of pixels; semi-planar: a second plane of
// pairs.
struct Kind {
  int number;
  const char* name;
  Space space;
  uint8_t group_bytes;  // of a packed group; 1 for the first plane of others
  uint8_t group_pixels;
  std::array<uint8_t, 4> first;  // packed: bytes of channel 0 (two for 4:2:2), then channel 1 and 2
  uint8_t across, down;          // pixels that share a pair in the second plane; 0: there is none
  bool swapped;                  // the pair's second channel comes first
};

// clang-format off
constexpr Kind kKinds[] = {
    {0, "YUV_400", Space::kGrey, 1, 1, {}, 0, 0, false},
    {1, "YUV_SEMIPLANAR_420", Space::kYuv, 1, 1, {}, 2, 2, false},
    {2, "YVU_SEMIPLANAR_420", Space::kYuv, 1, 1, {}, 2, 2, true},
    {3, "YUV_SEMIPLANAR_422", Space::kYuv, 1, 1, {}, 2, 1, false},
    {4, "YVU_SEMIPLANAR_422", Space::kYuv, 1, 1, {}, 2, 1, true},
    {5, "YUV_SEMIPLANAR_444", Space::kYuv, 1, 1, {}, 1, 1, false},
    {6, "YVU_SEMIPLANAR_444", Space::kYuv, 1, 1, {}, 1, 1, true},
    {7, "YUYV_PACKED_422", Space::kYuv, 4, 2, {0, 2, 1, 3}, 0, 0, false},
    {8, "UYVY_PACKED_422", Space::kYuv, 4, 2, {1, 3, 0, 2}, 0, 0, false},
    {9, "YVYU_PACKED_422", Space::kYuv, 4, 2, {0, 2, 3, 1}, 0, 0, false},
    {10, "VYUY_PACKED_422", Space::kYuv, 4, 2, {1, 3, 2, 0}, 0, 0, false},
    {11, "YUV_PACKED_444", Space::kYuv, 3, 1, {0, 0, 1, 2}, 0, 0, false},
    {12, "RGB_888", Space::kRgb, 3, 1, {0, 0, 1, 2}, 0, 0, false},
    {13, "BGR_888", Space::kRgb, 3, 1, {2, 2, 1, 0}, 0, 0, false},
    {14, "ARGB_8888", Space::kRgb, 4, 1, {1, 1, 2, 3}, 0, 0, false},
    {15, "ABGR_8888", Space::kRgb, 4, 1, {3, 3, 2, 1}, 0, 0, false},
    {16, "RGBA_8888", Space::kRgb, 4, 1, {0, 0, 1, 2}, 0, 0, false},
    {17, "BGRA_8888", Space::kRgb, 4, 1, {2, 2, 1, 0}, 0, 0, false},
};
// clang-format on

const Kind* Find(int format) {
  return format >= 0 && format < static_cast<int>(std::size(kKinds)) ? &kKinds[format] : nullptr;
}
bool IsPacked(const Kind& kind) { return kind.group_bytes > 1; }
// The byte of a pixel with all four that none of the channels is.
int AlphaOf(const Kind& kind) {
  if (kind.group_bytes != 4 || kind.group_pixels != 1) return -1;
  return 6 - kind.first[0] - kind.first[2] - kind.first[3];
}

uint8_t Clamp(double value) { return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

uint32_t Groups(uint32_t pixels, uint32_t per_group) { return (pixels + per_group - 1) / per_group; }

}  // namespace

Picture::Picture(uint32_t w, uint32_t h, Space s) : width(w), height(h), space(s) {
  for (auto& plane : planes) plane.assign(size_t{w} * h, s == Space::kRgb ? 0 : 128);
}

const Matrix& MatrixOf(uint32_t number) {
  static constexpr Matrix kMatrices[] = {{0.299, 0.114, false},  {0.299, 0.114, true},    {0.2126, 0.0722, false},
                                         {0.2126, 0.0722, true}, {0.2627, 0.0593, false}, {0.2627, 0.0593, true}};
  return kMatrices[std::min<uint32_t>(number, 5)];
}

const char* FormatName(int format) {
  const Kind* kind = Find(format);
  return kind != nullptr ? kind->name : nullptr;
}

Status CheckFormat(const char* what, int format) {
  if (Find(format) != nullptr) return Ok();
  return Unsupported(
      Format("%s has format %d; formats 0 (PIXEL_FORMAT_YUV_400) to 17 (PIXEL_FORMAT_BGRA_8888) are computed with",
             what, format));
}

Space SpaceOf(int format) {
  const Kind* kind = Find(format);
  return kind != nullptr ? kind->space : Space::kYuv;
}

uint64_t RowBytes(int format, uint32_t width) {
  const Kind& kind = *Find(format);
  return uint64_t{Groups(width, kind.group_pixels)} * kind.group_bytes;
}

uint64_t TotalBytes(const Layout& layout) {
  const Kind& kind = *Find(layout.format);
  const uint64_t first = uint64_t{layout.row_bytes} * layout.rows;
  if (kind.across == 0) return first;
  // A pair for each `across` x `down` pixels: its two bytes make 2 / across of a row.
  return first + uint64_t{layout.row_bytes} * 2 / kind.across * Groups(layout.rows, kind.down);
}

Status CheckLayout(const char* what, const Layout& layout, uint64_t bytes) {
  MP_RETURN_IF_ERROR(CheckFormat(what, layout.format));
  if (layout.width == 0 || layout.height == 0 || layout.width > kMaxSide || layout.height > kMaxSide) {
    return InvalidArgument(
        Format("%s has %u x %u pixels; each side has 1 to %u", what, layout.width, layout.height, kMaxSide));
  }
  const uint64_t row = RowBytes(layout.format, layout.width);
  if (layout.row_bytes < row || layout.row_bytes % 2 != 0 || layout.row_bytes > kMaxSide * 8) {
    return InvalidArgument(
        Format("%s has a width stride of %u bytes; a row of %u pixels of %s takes %llu, and the stride is even", what,
               layout.row_bytes, layout.width, FormatName(layout.format), static_cast<unsigned long long>(row)));
  }
  if (layout.rows < layout.height || layout.rows > kMaxSide * 2) {
    return InvalidArgument(
        Format("%s has a height stride of %u rows; its height is %u", what, layout.rows, layout.height));
  }
  const uint64_t total = TotalBytes(layout);
  if (bytes < total) {
    return InvalidArgument(Format("%s has %llu bytes; %u rows of %u bytes of %s take %llu", what,
                                  static_cast<unsigned long long>(bytes), layout.rows, layout.row_bytes,
                                  FormatName(layout.format), static_cast<unsigned long long>(total)));
  }
  return Ok();
}

Picture Read(const Layout& layout, const uint8_t* data) {
  const Kind& kind = *Find(layout.format);
  Picture picture(layout.width, layout.height, kind.space);
  const uint8_t* pairs = data + size_t{layout.row_bytes} * layout.rows;
  const size_t pair_row = kind.across == 0 ? 0 : size_t{layout.row_bytes} * 2 / kind.across;
  for (uint32_t y = 0; y < layout.height; ++y) {
    const uint8_t* row = data + size_t{layout.row_bytes} * y;
    for (uint32_t x = 0; x < layout.width; ++x) {
      const size_t at = size_t{layout.width} * y + x;
      if (IsPacked(kind)) {
        const uint8_t* group = row + size_t{x / kind.group_pixels} * kind.group_bytes;
        picture.planes[0][at] = group[kind.first[x % kind.group_pixels]];
        picture.planes[1][at] = group[kind.first[2]];
        picture.planes[2][at] = group[kind.first[3]];
        continue;
      }
      picture.planes[0][at] = row[x];
      if (kind.across == 0) continue;
      const uint8_t* pair = pairs + pair_row * (y / kind.down) + size_t{x / kind.across} * 2;
      picture.planes[1][at] = pair[kind.swapped ? 1 : 0];
      picture.planes[2][at] = pair[kind.swapped ? 0 : 1];
    }
  }
  return picture;
}

namespace {

// The mean of a channel over the pixels that share a sample, as far as the picture reaches.
uint8_t Mean(const Picture& picture, int channel, uint32_t x, uint32_t y, uint32_t across, uint32_t down) {
  uint32_t sum = 0, count = 0;
  for (uint32_t j = y; j < std::min(y + down, picture.height); ++j) {
    for (uint32_t i = x; i < std::min(x + across, picture.width); ++i) {
      sum += picture.planes[channel][size_t{picture.width} * j + i];
      ++count;
    }
  }
  return static_cast<uint8_t>((sum + count / 2) / count);
}

void WritePacked(const Kind& kind, const Picture& picture, uint32_t y, uint8_t* row) {
  const int alpha = AlphaOf(kind);
  for (uint32_t x = 0; x < picture.width; x += kind.group_pixels) {
    uint8_t* group = row + size_t{x / kind.group_pixels} * kind.group_bytes;
    for (uint32_t i = 0; i < kind.group_pixels && x + i < picture.width; ++i) {
      group[kind.first[i]] = picture.planes[0][size_t{picture.width} * y + x + i];
    }
    group[kind.first[2]] = Mean(picture, 1, x, y, kind.group_pixels, 1);
    group[kind.first[3]] = Mean(picture, 2, x, y, kind.group_pixels, 1);
    if (alpha >= 0) group[alpha] = 255;
  }
}

}  // namespace

void Write(const Picture& picture, const Layout& layout, uint32_t x, uint32_t y, uint8_t* data) {
  const Kind& kind = *Find(layout.format);
  uint8_t* pairs = data + size_t{layout.row_bytes} * layout.rows;
  const size_t pair_row = kind.across == 0 ? 0 : size_t{layout.row_bytes} * 2 / kind.across;
  for (uint32_t j = 0; j < picture.height; ++j) {
    uint8_t* row = data + size_t{layout.row_bytes} * (y + j);
    if (IsPacked(kind)) {
      WritePacked(kind, picture, j, row + size_t{x / kind.group_pixels} * kind.group_bytes);
      continue;
    }
    std::copy_n(picture.planes[0].begin() + static_cast<ptrdiff_t>(size_t{picture.width} * j), picture.width, row + x);
    if (kind.across == 0 || j % kind.down != 0) continue;
    for (uint32_t i = 0; i < picture.width; i += kind.across) {
      uint8_t* pair = pairs + pair_row * ((y + j) / kind.down) + size_t{(x + i) / kind.across} * 2;
      pair[kind.swapped ? 1 : 0] = Mean(picture, 1, i, j, kind.across, kind.down);
      pair[kind.swapped ? 0 : 1] = Mean(picture, 2, i, j, kind.across, kind.down);
    }
  }
}

Picture Convert(Picture picture, Space space, const Matrix& matrix) {
  if (picture.space == space) return picture;
  if (space != Space::kRgb && picture.space != Space::kRgb) {  // grey and YUV have the same brightness
    if (space == Space::kYuv) {
      std::fill(picture.planes[1].begin(), picture.planes[1].end(), uint8_t{128});
      std::fill(picture.planes[2].begin(), picture.planes[2].end(), uint8_t{128});
    }
    picture.space = space;
    return picture;
  }
  const double green = 1 - matrix.red - matrix.blue;
  const double low = matrix.narrow ? 16 : 0, range = matrix.narrow ? 219.0 / 255 : 1,
               spread = matrix.narrow ? 224.0 / 255 : 1;
  const bool was_grey = picture.space == Space::kGrey;
  for (size_t i = 0; i < picture.planes[0].size(); ++i) {
    uint8_t &a = picture.planes[0][i], &b = picture.planes[1][i], &c = picture.planes[2][i];
    if (space == Space::kRgb) {
      const double y = (a - low) / range, u = was_grey ? 0 : (b - 128) / spread, v = was_grey ? 0 : (c - 128) / spread;
      const double r = y + 2 * (1 - matrix.red) * v, bl = y + 2 * (1 - matrix.blue) * u;
      const double g = (y - matrix.red * r - matrix.blue * bl) / green;
      a = Clamp(r), b = Clamp(g), c = Clamp(bl);
    } else {
      const double y = matrix.red * a + green * b + matrix.blue * c;
      const double u = (c - y) / (2 * (1 - matrix.blue)), v = (a - y) / (2 * (1 - matrix.red));
      a = Clamp(y * range + low), b = Clamp(u * spread + 128), c = Clamp(v * spread + 128);
    }
  }
  picture.space = space;
  return picture;
}

Picture Crop(const Picture& picture, uint32_t x, uint32_t y, uint32_t width, uint32_t height) {
  Picture part(width, height, picture.space);
  for (int channel = 0; channel < 3; ++channel) {
    for (uint32_t j = 0; j < height; ++j) {
      const auto from = picture.planes[channel].begin() + static_cast<ptrdiff_t>(size_t{picture.width} * (y + j) + x);
      std::copy_n(from, width, part.planes[channel].begin() + static_cast<ptrdiff_t>(size_t{width} * j));
    }
  }
  return part;
}

namespace {

// Which two samples of a side make one of the new side, and the second's share: pixels are areas with their samples in
// the middle.
struct Blend {
  uint32_t first, second;
  double share;
};
std::vector<Blend> Blends(uint32_t from, uint32_t to, bool nearest) {
  std::vector<Blend> blends(to);
  for (uint32_t i = 0; i < to; ++i) {
    if (nearest) {
      const auto at = static_cast<uint32_t>(uint64_t{i} * from / to);
      blends[i] = {at, at, 0};
      continue;
    }
    const double at = std::clamp((i + 0.5) * from / to - 0.5, 0.0, from - 1.0);
    const auto first = static_cast<uint32_t>(at);
    blends[i] = {first, std::min(first + 1, from - 1), at - first};
  }
  return blends;
}

}  // namespace

Picture Resize(Picture picture, uint32_t width, uint32_t height, bool nearest) {
  if (picture.width == width && picture.height == height) return picture;
  Picture out(width, height, picture.space);
  const std::vector<Blend> across = Blends(picture.width, width, nearest),
                           down = Blends(picture.height, height, nearest);
  for (int channel = 0; channel < 3; ++channel) {
    const uint8_t* from = picture.planes[channel].data();
    for (uint32_t y = 0; y < height; ++y) {
      const uint8_t* upper = from + size_t{picture.width} * down[y].first;
      const uint8_t* lower = from + size_t{picture.width} * down[y].second;
      for (uint32_t x = 0; x < width; ++x) {
        const Blend& by = across[x];
        const double top = upper[by.first] + (upper[by.second] - upper[by.first]) * by.share;
        const double bottom = lower[by.first] + (lower[by.second] - lower[by.first]) * by.share;
        out.planes[channel][size_t{width} * y + x] = Clamp(top + (bottom - top) * down[y].share);
      }
    }
  }
  return out;
}

namespace {

// The sample within 0 .. size - 1 that stands at `at`; -1: none does.
int64_t Mirrored(int64_t at, int64_t size, Border border) {
  if (at >= 0 && at < size) return at;
  if (border == Border::kConstant) return -1;
  if (border == Border::kReplicate || size == 1) return std::clamp<int64_t>(at, 0, size - 1);
  const int64_t skip = border == Border::kReflect101 ? 1 : 0;
  const int64_t period = 2 * (size - skip);
  int64_t within = at % period;
  if (within < 0) within += period;
  return within < size ? within : period - 1 + skip - within;
}

}  // namespace

Picture WithBorder(const Picture& picture, Border border, const std::array<double, 4>& value, uint32_t left,
                   uint32_t top, uint32_t right, uint32_t bottom) {
  Picture out(picture.width + left + right, picture.height + top + bottom, picture.space);
  for (uint32_t y = 0; y < out.height; ++y) {
    const int64_t from_y = Mirrored(int64_t{y} - top, picture.height, border);
    for (uint32_t x = 0; x < out.width; ++x) {
      const int64_t from_x = Mirrored(int64_t{x} - left, picture.width, border);
      for (int channel = 0; channel < 3; ++channel) {
        uint8_t& to = out.planes[channel][size_t{out.width} * y + x];
        to = from_x < 0 || from_y < 0 ? Clamp(value[channel])
                                      : picture.planes[channel][static_cast<size_t>(from_y * picture.width + from_x)];
      }
    }
  }
  return out;
}

}  // namespace millpond::media
