// SPDX-License-Identifier: Apache-2.0
// Samples of a picture between its pixels: regions of interest, convolutions whose taps move.
#include <algorithm>
#include <cmath>
#include <string>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

// The four pixels around a point and how much each counts.
struct Corners {
  int64_t places[4];
  double weights[4];
};

Corners Around(double y, double x, int64_t height, int64_t width) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width)) return {};
  const auto split = [](double at, int64_t size, int64_t* low, int64_t* high) {
    at = std::max(at, 0.0);
    *low = std::min(static_cast<int64_t>(at), size - 1);
    *high = std::min(*low + 1, size - 1);
    return *low == size - 1 ? 0.0 : at - static_cast<double>(*low);
  };
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  const double down = split(y, height, &top, &bottom), over = split(x, width, &left, &right);
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {(1 - down) * (1 - over), (1 - down) * over, down * (1 - over), down * over}};
}

struct Region {
  double top, left, cell_height, cell_width;
  int64_t rows, columns;  // of samples in a cell
};

Region RegionOf(const double* roi, double scale, bool half, int64_t height, int64_t width, int64_t samples) {
  const double shift = half ? 0.5 : 0;
  const double left = roi[0] * scale - shift, top = roi[1] * scale - shift;
  double wide = roi[2] * scale - shift - left, high = roi[3] * scale - shift - top;
  if (!half) {
    wide = std::max(wide, 1.0);
    high = std::max(high, 1.0);
  }
  const double cell_height = high / static_cast<double>(height), cell_width = wide / static_cast<double>(width);
  const auto count = [&](double size) { return samples > 0 ? samples : static_cast<int64_t>(std::ceil(size)); };
  return {top, left, cell_height, cell_width, count(cell_height), count(cell_width)};
}

double CellOf(const double* plane, int64_t height, int64_t width, const Region& region, int64_t row, int64_t column,
              bool most) {
  double sum = 0;
  bool any = false;
  for (int64_t i = 0; i < region.rows; ++i) {
    for (int64_t j = 0; j < region.columns; ++j) {
      const double down = (static_cast<double>(i) + 0.5) / static_cast<double>(region.rows);
      const double over = (static_cast<double>(j) + 0.5) / static_cast<double>(region.columns);
      const Corners corners =
          Around(region.top + (static_cast<double>(row) + down) * region.cell_height,
                 region.left + (static_cast<double>(column) + over) * region.cell_width, height, width);
      for (int k = 0; k < 4; ++k) {
        const double part = corners.weights[k] * plane[corners.places[k]];
        sum = !most ? sum + part : any ? std::max(sum, part) : part;
        any = true;
      }
    }
  }
  return most ? sum : sum / static_cast<double>(std::max<int64_t>(region.rows * region.columns, 1));
}

}  // namespace

MP_KERNEL(OwnRoiAlign, const Tensor& x, const Tensor& rois, const Tensor& batches, string_view mode, int64_t height,
          int64_t width, int64_t samples, double scale, bool half, Tensor& y) {
  TORCH_CHECK(x.dim() == 4 && rois.dim() == 2 && rois.size(1) == 4 && batches.numel() == rois.size(0), "x ", x.sizes(),
              ", regions ", rois.sizes(), " and batches ", batches.sizes(), " do not go together");
  TORCH_CHECK(mode == "avg" || mode == "max", "mode is '", std::string(mode), "'; it is avg or max");
  const Tensor pictures = x.to(at::kDouble).contiguous(), corners = rois.to(at::kDouble).contiguous();
  const Tensor of = batches.to(at::kLong).contiguous();
  Tensor result = at::empty({rois.size(0), x.size(1), height, width}, at::kDouble);
  double* out = result.mutable_data_ptr<double>();
  const int64_t area = x.size(2) * x.size(3);
  for (int64_t i = 0; i < rois.size(0); ++i) {
    const int64_t batch = of.const_data_ptr<int64_t>()[i];
    TORCH_CHECK(batch >= 0 && batch < x.size(0), "region ", i, " is of picture ", batch, " of ", x.size(0));
    const Region region = RegionOf(corners.const_data_ptr<double>() + i * 4, scale, half, height, width, samples);
    for (int64_t channel = 0; channel < x.size(1); ++channel) {
      const double* plane = pictures.const_data_ptr<double>() + (batch * x.size(1) + channel) * area;
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t column = 0; column < width; ++column) {
          *out++ = CellOf(plane, x.size(2), x.size(3), region, row, column, mode == "max");
        }
      }
    }
  }
  Write(y, result);
}

// Gathers what each tap sees, [N, channels, taps, points], then a product with the weights for each group.
MP_KERNEL(OwnDeformConv, const Tensor& x, const Tensor& offset, const Tensor& weight, const OptTensor& bias,
          const OptTensor& mask, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations, int64_t groups,
          int64_t offset_groups, Tensor& y) {
  const int64_t channels = x.size(1), taps = weight.size(2) * weight.size(3), points = offset.size(2) * offset.size(3);
  TORCH_CHECK(strides.size() == 2 && pads.size() == 4 && dilations.size() == 2 && groups > 0 && offset_groups > 0 &&
                  channels % offset_groups == 0 && channels == weight.size(1) * groups &&
                  weight.size(0) % groups == 0 && offset.size(1) == 2 * offset_groups * taps,
              "x ", x.sizes(), ", offset ", offset.sizes(), " and weight ", weight.sizes(), " do not fit ", groups,
              " groups and ", offset_groups, " of offsets");
  const Tensor from = x.to(at::kDouble).contiguous(), moved = offset.to(at::kDouble).contiguous();
  const Tensor factors = mask ? mask->to(at::kDouble).contiguous() : Tensor();
  Tensor seen = at::empty({x.size(0), channels, taps, points}, at::kDouble);
  double* out = seen.mutable_data_ptr<double>();
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double* plane = from.const_data_ptr<double>() + (n * channels + channel) * x.size(2) * x.size(3);
      const int64_t group = n * offset_groups + channel / (channels / offset_groups);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const double* down = moved.const_data_ptr<double>() + (group * taps + tap) * 2 * points;
        const double* factor =
            factors.defined() ? factors.const_data_ptr<double>() + (group * taps + tap) * points : nullptr;
        for (int64_t point = 0; point < points; ++point) {
          const int64_t row = point / offset.size(3) * strides[0] - pads[0] + tap / weight.size(3) * dilations[0];
          const int64_t column = point % offset.size(3) * strides[1] - pads[1] + tap % weight.size(3) * dilations[1];
          const double at_y = static_cast<double>(row) + down[point];
          const double at_x = static_cast<double>(column) + down[points + point];
          // Beyond the edge there are zeros, towards which the last pixel fades.
          double sum = 0;
          const auto top = static_cast<int64_t>(std::floor(at_y)), left = static_cast<int64_t>(std::floor(at_x));
          for (int64_t k = 0; k < 4; ++k) {
            const int64_t r = top + k / 2, c = left + k % 2;
            if (r < 0 || r >= x.size(2) || c < 0 || c >= x.size(3)) continue;
            sum += (1 - std::abs(at_y - static_cast<double>(r))) * (1 - std::abs(at_x - static_cast<double>(c))) *
                   plane[r * x.size(3) + c];
          }
          *out++ = factor != nullptr ? sum * factor[point] : sum;
        }
      }
    }
  }
  const Tensor columns = seen.reshape({x.size(0), groups, weight.size(1) * taps, points});
  const Tensor rows = weight.to(at::kDouble).reshape({1, groups, weight.size(0) / groups, -1});
  Tensor result = at::matmul(rows, columns).reshape(y.sizes());
  if (bias) result = result + bias->to(at::kDouble).reshape({1, -1, 1, 1});
  Write(y, result);
}

}  // namespace millpond::kernels
