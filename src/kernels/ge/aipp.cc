// SPDX-License-Identifier: Apache-2.0
// Image preprocessing: pictures of bytes become what a model reads. The parameters come with each run (src/base/aipp.h)
// and may be anything: nothing in them is trusted.
#include "src/base/aipp.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "src/base/half.h"
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

using aipp::Header;
using aipp::Record;

using Channels = std::array<int, 4>;
constexpr int64_t kRowsEach = 32;  // of a picture, for each thread at least

Channels ReadPixel(const Header& header, const uint8_t* picture, int64_t row, int64_t column) {
  const int64_t place = row * header.width + column;
  switch (header.format) {
    case aipp::kGray:
      return {picture[place], 0, 0, 0};
    case aipp::kYuv420: {
      const int64_t plane = int64_t{header.height} * header.width;
      const uint8_t* const colour = picture + plane + row / 2 * header.width + column / 2 * 2;
      return {picture[place], colour[0], colour[1], 0};
    }
    case aipp::kRgb: {
      const uint8_t* const pixel = picture + place * 3;
      return {pixel[0], pixel[1], pixel[2], 0};
    }
    default: {
      const uint8_t* const pixel = picture + place * 4;
      if (header.swap_ax != 0) return {pixel[1], pixel[2], pixel[3], pixel[0]};
      return {pixel[0], pixel[1], pixel[2], pixel[3]};
    }
  }
}

// Rows of the matrix, in 256ths; results are bytes.
Channels Converted(const Header& header, const Channels& in) {
  const bool is_yuv = header.format == aipp::kYuv420;
  Channels out = {0, 0, 0, in[3]};
  for (size_t row = 0; row < 3; ++row) {
    int sum = 0;
    for (size_t column = 0; column < 3; ++column) {
      sum += header.matrix[row][column] * (in[column] - (is_yuv ? header.bias_in[column] : 0));
    }
    out[row] = std::clamp((sum >> 8) + (is_yuv ? 0 : header.bias_out[row]), 0, 255);
  }
  return out;
}

Channels MakePixel(const Header& header, const uint8_t* picture, int64_t row, int64_t column) {
  Channels pixel = ReadPixel(header, picture, row, column);
  if (header.swap_rb_uv != 0) std::swap(pixel[header.format == aipp::kYuv420 ? 1 : 0], pixel[2]);
  return header.convert != 0 ? Converted(header, pixel) : pixel;
}

// What each byte of each channel becomes.
using Values = std::array<std::array<float, 256>, 4>;

Values ValuesOf(const Record& record, bool bytes) {
  Values values;
  for (size_t channel = 0; channel < values.size(); ++channel) {
    const float low = FloatFromHalf(record.min[channel]), factor = FloatFromHalf(record.factor[channel]);
    for (int byte = 0; byte < 256; ++byte) {
      const auto moved = static_cast<float>(byte - record.mean[channel]);
      values[channel][static_cast<size_t>(byte)] = bytes ? static_cast<float>(byte) : (moved - low) * factor;
    }
  }
  return values;
}

// `out` is [channels, height, width] of one picture and has the padding.
void MakePicture(const Header& header, const Record& record, const uint8_t* picture, bool bytes, Tensor out) {
  const aipp::Size part = aipp::PartOf(header, record);
  const int64_t top = record.crop != 0 ? record.top : 0;
  const int64_t left = record.crop != 0 ? record.left : 0;
  const int64_t first_row = record.pad != 0 ? record.pad_top : 0;
  const int64_t first_column = record.pad != 0 ? record.pad_left : 0;
  const int64_t channels = out.size(0), plane = out.stride(0), width = out.size(2);
  const Values values = ValuesOf(record, bytes);
  float* const made = out.mutable_data_ptr<float>();
  at::parallel_for(0, part.height, kRowsEach, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* const line = made + (first_row + row) * width + first_column;
      for (int64_t column = 0; column < part.width; ++column) {
        const Channels pixel = MakePixel(header, picture, top + row, left + column);
        for (int64_t c = 0; c < channels; ++c) {
          const auto channel = static_cast<size_t>(c);
          line[c * plane + column] = values[channel][static_cast<size_t>(pixel[channel])];
        }
      }
    }
  });
}

// What memory safety and the output's size ask of a record.
void CheckRecord(const Header& header, const Record& record, int64_t height, int64_t width) {
  const aipp::Size part = aipp::PartOf(header, record);
  const int64_t top = record.crop != 0 ? record.top : 0, left = record.crop != 0 ? record.left : 0;
  TORCH_CHECK(top >= 0 && left >= 0 && part.height > 0 && part.width > 0 && top + part.height <= header.height &&
                  left + part.width <= header.width,
              "AIPP: a part of ", part.width, " x ", part.height, " at (", left, ", ", top,
              ") is cut out of a picture of ", header.width, " x ", header.height);
  TORCH_CHECK(record.pad == 0 ||
                  (record.pad_top >= 0 && record.pad_left >= 0 && record.pad_bottom >= 0 && record.pad_right >= 0),
              "AIPP: a border of less than nothing");
  TORCH_CHECK((aipp::ResultOf(header, record) == aipp::Size{height, width}), "AIPP: the parameters make a picture of ",
              aipp::ResultOf(header, record).width, " x ", aipp::ResultOf(header, record).height,
              ", and the model reads ", width, " x ", height);
}

}  // namespace

MP_KERNEL(OwnAipp, const Tensor& images, const Tensor& params, bool shared, bool channelsLast, double padding,
          Tensor& y) {
  const Tensor block = params.contiguous();
  const auto* const bytes = block.const_data_ptr<uint8_t>();
  Header header;
  std::memcpy(&header, bytes, sizeof header);
  TORCH_CHECK(aipp::BytesOfTwo(header.format) != 0 && header.height > 0 && header.width > 0,
              "AIPP: the run has no parameters; aclmdlSetInputAIPP sets them for each dataset");
  TORCH_CHECK(header.format != aipp::kYuv420 || (header.height % 2 == 0 && header.width % 2 == 0),
              "AIPP: a YUV420SP_U8 picture of ", header.width, " x ", header.height, "; both must be even");
  Tensor target = channelsLast ? y.movedim(-1, -3) : y;
  if (target.dim() == 3) target = target.unsqueeze(0);
  const int64_t count = target.size(0);
  const int64_t size = aipp::PictureBytes(header.format, header.height, header.width);
  TORCH_CHECK(count * size <= images.numel(), "AIPP: ", count, " pictures of ", header.width, " x ", header.height,
              " have ", count * size, " bytes, and the input ", images.numel());
  TORCH_CHECK(shared || (header.records >= count &&
                         aipp::BlockBytes(static_cast<size_t>(count)) <= static_cast<size_t>(block.numel())),
              "AIPP: there are parameters for ", static_cast<int>(header.records), " pictures, and the run has ",
              count);
  const Tensor pictures = images.contiguous();
  Tensor made = at::full({count, target.size(1), target.size(2), target.size(3)}, padding, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    Record record;
    std::memcpy(&record, bytes + aipp::BlockBytes(shared ? 0 : static_cast<size_t>(i)), sizeof record);
    CheckRecord(header, record, target.size(2), target.size(3));
    MakePicture(header, record, pictures.const_data_ptr<uint8_t>() + i * size, y.scalar_type() == at::kByte, made[i]);
  }
  Write(target, made);
}

}  // namespace millpond::kernels
