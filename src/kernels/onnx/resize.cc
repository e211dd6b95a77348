// SPDX-License-Identifier: Apache-2.0
// Resize in all the ways ONNX has to place points and to weigh neighbours. Each axis is a matrix [new, old] of weights;
// for nearest it is a choice of elements.
#include <cmath>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/ops/resize_axes.h"

namespace millpond::kernels {
namespace {

struct Axis {
  int64_t from, to;
  double scale;
  double roi_begin = 0, roi_end = 1;
};

struct Ways {
  string_view coordinates, mode, nearest;
  double cubic;
  bool exclude, antialias;
};

// Where point i of the result lies in the source.
double PlaceOf(const Axis& axis, const Ways& ways, int64_t i) {
  const auto x = static_cast<double>(i);
  const auto from = static_cast<double>(axis.from);
  const double width = axis.scale * from;
  const double half = (x + 0.5) / axis.scale - 0.5;
  if (ways.coordinates == "half_pixel") return half;
  if (ways.coordinates == "pytorch_half_pixel") return width == 1 ? -0.5 : half;
  if (ways.coordinates == "asymmetric") return x / axis.scale;
  if (ways.coordinates == "align_corners") return width == 1 ? 0 : x * (from - 1) / (width - 1);
  if (ways.coordinates == "half_pixel_symmetric") {
    return from / 2 * (1 - static_cast<double>(axis.to) / width) + half;
  }
  TORCH_CHECK(ways.coordinates == "tf_crop_and_resize", "coordinate_transformation_mode '",
              std::string(ways.coordinates), "' is not known");
  const double length = axis.roi_end - axis.roi_begin;
  const double offset = width == 1 ? length * (from - 1) / 2 : x * length * (from - 1) / (width - 1);
  return offset + axis.roi_begin * (from - 1);
}

double CubicWeight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The weights of the elements from `*first` on, around a place whose distance to the one on its left is `ratio`.
std::vector<double> WeightsOf(const Axis& axis, const Ways& ways, double ratio, int64_t* first) {
  const bool cubic = ways.mode == "cubic";
  TORCH_CHECK(cubic || ways.mode == "linear", "mode '", std::string(ways.mode), "' is not known");
  const double shrink = ways.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto start = static_cast<int64_t>(std::floor((cubic ? -2.0 : -1.0) / shrink)) + 1;
  const int64_t end = cubic ? 2 - start : 1 - start + 1;
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = start; i < end; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * shrink;
    weights.push_back(cubic ? CubicWeight(distance, ways.cubic) : std::max(0.0, 1 - std::abs(distance)));
    sum += weights.back();
  }
  if (ways.antialias) {
    for (double& weight : weights) weight /= sum;
  }
  *first = start;
  return weights;
}

Tensor Interpolated(const Tensor& x, int64_t dim, const Axis& axis, const Ways& ways) {
  Tensor matrix = at::zeros({axis.to, axis.from}, at::kDouble);
  auto cells = matrix.accessor<double, 2>();
  for (int64_t i = 0; i < axis.to; ++i) {
    const double place = PlaceOf(axis, ways, i);
    const auto left = static_cast<int64_t>(std::floor(place));
    int64_t first = 0;
    std::vector<double> weights = WeightsOf(axis, ways, place - static_cast<double>(left), &first);
    double kept = 0;
    for (size_t w = 0; w < weights.size(); ++w) {
      const int64_t at = left + first + static_cast<int64_t>(w);
      if (ways.exclude && (at < 0 || at >= axis.from)) weights[w] = 0;
      kept += weights[w];
    }
    for (size_t w = 0; w < weights.size(); ++w) {
      const int64_t at = std::clamp<int64_t>(left + first + static_cast<int64_t>(w), 0, axis.from - 1);
      cells[i][at] += ways.exclude ? weights[w] / kept : weights[w];
    }
  }
  return at::matmul(x.movedim(dim, -1), matrix.to(x.scalar_type()).t()).movedim(-1, dim);
}

Tensor Nearest(const Tensor& x, int64_t dim, const Axis& axis, const Ways& ways) {
  Tensor chosen = at::empty({axis.to}, at::kLong);
  auto cells = chosen.accessor<int64_t, 1>();
  for (int64_t i = 0; i < axis.to; ++i) {
    const double place = PlaceOf(axis, ways, i);
    double at = std::floor(place);
    const double ratio = place - at;
    if (ways.nearest == "ceil") {
      at = std::ceil(place);
    } else if (ways.nearest == "round_prefer_floor") {
      at += ratio > 0.5 ? 1 : 0;
    } else if (ways.nearest == "round_prefer_ceil") {
      at += ratio >= 0.5 ? 1 : 0;
    } else {
      TORCH_CHECK(ways.nearest == "floor", "nearest_mode '", std::string(ways.nearest), "' is not known");
    }
    cells[i] = std::clamp<int64_t>(static_cast<int64_t>(at), 0, axis.from - 1);
  }
  return x.index_select(dim, chosen);
}

// Points of this axis that lie outside the source.
Tensor Outside(const Axis& axis, const Ways& ways) {
  Tensor outside = at::zeros({axis.to}, at::kBool);
  auto cells = outside.accessor<bool, 1>();
  for (int64_t i = 0; i < axis.to; ++i) {
    const double place = PlaceOf(axis, ways, i);
    cells[i] = place < 0 || place > static_cast<double>(axis.from - 1);
  }
  return outside;
}

}  // namespace

MP_KERNEL(OwnResize, const Tensor& x, OptDoubleArray roi, OptDoubleArray scales, OptIntArrayRef sizes,
          string_view coordinates, double cubic, bool exclude, double extrapolation, string_view mode,
          string_view nearest, bool antialias, IntArrayRef axes, int64_t policy, Tensor& y) {
  const Ways ways{coordinates, mode, nearest, cubic, exclude, antialias};
  const auto rank = static_cast<size_t>(x.dim());
  std::vector<ResizeAxis> planned(rank);
  const std::vector<double> scale_list =
      scales ? std::vector<double>(scales->begin(), scales->end()) : std::vector<double>();
  const std::vector<int64_t> size_list = sizes ? sizes->vec() : std::vector<int64_t>();
  const Status status = ResizeAxes(x.sizes(), scale_list, size_list, axes, policy, planned);
  TORCH_CHECK(status.ok(), status.message());
  TORCH_CHECK(x.numel() > 0 || y.numel() == 0, "nothing cannot be made larger");
  const bool crops = coordinates == "tf_crop_and_resize";
  const size_t with_roi = axes.empty() ? rank : axes.size();
  TORCH_CHECK(!crops || (roi && roi->size() == 2 * with_roi), "roi must have ", 2 * with_roi, " numbers");
  Tensor result = mode != "nearest" && x.scalar_type() != at::kDouble ? x.to(at::kFloat) : x;
  Tensor outside = at::zeros(std::vector<int64_t>(rank, 1), at::kBool);
  for (size_t i = 0; i < rank; ++i) {
    Axis axis{x.size(static_cast<int64_t>(i)), planned[i].size, planned[i].scale};
    if (crops) {
      for (size_t k = 0; k < with_roi; ++k) {
        const int64_t place = axes.empty() ? static_cast<int64_t>(k) : axes[k] < 0 ? axes[k] + x.dim() : axes[k];
        if (place != static_cast<int64_t>(i)) continue;
        axis.roi_begin = (*roi)[k];
        axis.roi_end = (*roi)[with_roi + k];
      }
    }
    const auto dim = static_cast<int64_t>(i);
    const bool moved = axis.from != axis.to || axis.scale != 1 || axis.roi_begin != 0 || axis.roi_end != 1;
    if (!moved) continue;
    result = mode == "nearest" ? Nearest(result, dim, axis, ways) : Interpolated(result, dim, axis, ways);
    if (!crops) continue;
    std::vector<int64_t> shape(rank, 1);
    shape[i] = axis.to;
    outside = outside.logical_or(Outside(axis, ways).reshape(shape));
  }
  if (crops) result = result.masked_fill(outside, extrapolation);
  // Whole numbers are rounded.
  if (at::isIntegralType(y.scalar_type(), true) && at::isFloatingType(result.scalar_type())) result = result.round();
  Write(y, result);
}

}  // namespace millpond::kernels
