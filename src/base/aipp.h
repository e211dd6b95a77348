// SPDX-License-Identifier: Apache-2.0
// Parameters of image preprocessing (AIPP), as they lie in the extra input of a model with dynamic AIPP: a header, then
// a record for each picture (the guide of atc, page "AIPP configuration examples"). A model with static AIPP has one
// such block with one record, as a constant.
#ifndef MILLPOND_SRC_BASE_AIPP_H_
#define MILLPOND_SRC_BASE_AIPP_H_

#include <cstddef>
#include <cstdint>

namespace millpond::aipp {

// Pictures as they come in, by the numbers that acl gives them. What a header has that nobody filled in is 0.
inline constexpr uint8_t kYuv420 = 1;  // a plane of Y, then one of U and V side by side, for each two by two pixels
inline constexpr uint8_t kXrgb = 2;
inline constexpr uint8_t kRgb = 3;
inline constexpr uint8_t kGray = 4;

struct Header {
  uint8_t format = 0;
  int8_t convert = 0;  // the matrix is used
  int8_t swap_rb_uv = 0;
  int8_t swap_ax = 0;  // the byte in front of each pixel is the spare one
  int8_t records = 0;
  int8_t unused_a[3] = {};
  int32_t width = 0;
  int32_t height = 0;
  int16_t matrix[3][3] = {};
  int16_t unused_b[3] = {};
  uint8_t bias_out[3] = {};  // of RGB to YUV
  uint8_t bias_in[3] = {};   // of YUV to RGB
  uint8_t unused_c[2] = {};
  int8_t unused_d[16] = {};
};
static_assert(sizeof(Header) == 64);

inline constexpr uint16_t kOneAsHalf = 0x3C00;

struct Record {
  int8_t crop = 0;
  int8_t resize = 0;
  int8_t pad = 0;
  int8_t rotate = 0;
  int8_t unused_a[4] = {};
  int32_t left = 0;  // where the part that is cut out begins
  int32_t top = 0;
  int32_t part_width = 0;
  int32_t part_height = 0;
  int32_t resize_from[2] = {};
  int32_t resize_to[2] = {};
  int32_t pad_top = 0;
  int32_t pad_bottom = 0;
  int32_t pad_left = 0;
  int32_t pad_right = 0;
  int16_t mean[4] = {};
  uint16_t min[4] = {};  // halves, as the next
  uint16_t factor[4] = {kOneAsHalf, kOneAsHalf, kOneAsHalf, kOneAsHalf};
  int8_t unused_b[16] = {};
};
static_assert(sizeof(Record) == 96);

inline constexpr size_t kMaxRecords = 127;  // what the header can count
constexpr size_t BlockBytes(size_t records) { return sizeof(Header) + records * sizeof(Record); }

// Bytes of a picture for each two pixels; 0 for an unknown format.
constexpr int64_t BytesOfTwo(uint8_t format) {
  switch (format) {
    case kYuv420:
      return 3;
    case kXrgb:
      return 8;
    case kRgb:
      return 6;
    case kGray:
      return 2;
    default:
      return 0;
  }
}
constexpr int64_t PictureBytes(uint8_t format, int64_t height, int64_t width) {
  return height * width * BytesOfTwo(format) / 2;
}

struct Size {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const Size&) const = default;
};
// What is left of a picture, and what comes out of it.
constexpr Size PartOf(const Header& header, const Record& record) {
  if (record.crop == 0) return {header.height, header.width};
  return {record.part_height, record.part_width};
}
constexpr Size ResultOf(const Header& header, const Record& record) {
  Size size = PartOf(header, record);
  if (record.pad == 0) return size;
  size.height += record.pad_top + record.pad_bottom;
  size.width += record.pad_left + record.pad_right;
  return size;
}

}  // namespace millpond::aipp

#endif  // MILLPOND_SRC_BASE_AIPP_H_
