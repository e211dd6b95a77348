// SPDX-License-Identifier: Apache-2.0
// Windows as ONNX has them: any number of spatial dimensions, pads that differ at both ends, dilations, one window more
// with ceil_mode. Every window is gathered, which costs memory; the common cases have GE operators of their own.
#include <cmath>
#include <limits>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

struct Geometry {
  IntArrayRef kernel, strides, pads, dilations;
  size_t spatial() const { return kernel.size(); }
};

// Places in the unpadded dimension for each window and each of its elements: [windows, kernel].
Tensor PlacesAlong(const Geometry& geometry, size_t i, int64_t windows) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  const Tensor starts = at::arange(windows, options).mul_(geometry.strides[i]).sub_(geometry.pads[i]);
  return starts.unsqueeze(1) + at::arange(geometry.kernel[i], options).mul_(geometry.dilations[i]);
}

struct Gathered {
  Tensor values;  // [N, C, windows..., elements of a window]
  Tensor inside;  // [windows..., elements]: lies in x
  Tensor padded;  // the same: lies in x or its padding, not behind it
  Tensor places;  // the same: the number of the element in its plane
};

Gathered Gather(const Tensor& x, const Geometry& geometry, const Tensor& like, bool column_major) {
  const size_t spatial = geometry.spatial();
  Tensor values = x;
  Tensor inside = at::ones({}, at::kBool);
  Tensor padded = at::ones({}, at::kBool);
  Tensor places = at::zeros({}, at::kLong);
  std::vector<int64_t> windows;
  std::vector<int64_t> factors(spatial, 1);
  for (size_t i = 1; i < spatial; ++i) {
    if (column_major) {
      factors[i] = factors[i - 1] * x.size(static_cast<int64_t>(i) + 1);
    } else {
      const size_t back = spatial - 1 - i;
      factors[back] = factors[back + 1] * x.size(static_cast<int64_t>(back) + 3);
    }
  }
  for (size_t i = 0; i < spatial; ++i) {
    const auto dim = static_cast<int64_t>(2 + 2 * i);  // each dimension before has become two
    const int64_t size = x.size(static_cast<int64_t>(i) + 2);
    const int64_t count = like.size(static_cast<int64_t>(i) + 2);
    windows.push_back(count);
    const Tensor at_places = PlacesAlong(geometry, i, count);
    const Tensor safe = at_places.clamp(0, std::max<int64_t>(size - 1, 0));
    values = values.index_select(dim, safe.reshape({-1}));
    std::vector<int64_t> split = values.sizes().vec();
    split[static_cast<size_t>(dim)] = count;
    split.insert(split.begin() + dim + 1, geometry.kernel[i]);
    values = values.reshape(split);
    // Along the first i dimensions' windows and elements, then these.
    const auto widen = [](const Tensor& have) { return have.unsqueeze(-1).unsqueeze(-1); };
    inside = widen(inside).logical_and(at_places.ge(0).logical_and_(at_places.lt(size)));
    padded = widen(padded).logical_and(at_places.lt(size + geometry.pads[spatial + i]));
    places = widen(places).add(safe.mul(factors[i]));
  }
  // Windows before elements.
  std::vector<int64_t> order = {0, 1};
  std::vector<int64_t> plain;
  for (int64_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < spatial; ++i) {
      order.push_back(static_cast<int64_t>(2 + 2 * i) + half);
      plain.push_back(static_cast<int64_t>(2 * i) + half);
    }
  }
  std::vector<int64_t> shape = windows;
  shape.push_back(-1);
  std::vector<int64_t> full = {x.size(0), x.size(1)};
  full.insert(full.end(), shape.begin(), shape.end());
  int64_t elements = 1;
  for (const int64_t size : geometry.kernel) elements *= size;
  full.back() = shape.back() = elements;
  return {values.permute(order).reshape(full), inside.permute(plain).reshape(shape),
          padded.permute(plain).reshape(shape), places.permute(plain).reshape(shape)};
}

Scalar MinOf(ScalarType type) {
  if (at::isFloatingType(type)) return -std::numeric_limits<double>::infinity();
  switch (type) {
    case at::kChar:
      return std::numeric_limits<int8_t>::min();
    case at::kShort:
      return std::numeric_limits<int16_t>::min();
    case at::kInt:
      return std::numeric_limits<int32_t>::min();
    case at::kLong:
      return std::numeric_limits<int64_t>::min();
    default:
      return 0;
  }
}

// Pads at both ends; negative ones cut.
Tensor Padded(const Tensor& x, IntArrayRef pads) {
  std::vector<int64_t> order;
  const size_t half = pads.size() / 2;
  for (size_t i = half; i-- > 0;) {
    order.push_back(pads[i]);
    order.push_back(pads[half + i]);
  }
  return at::constant_pad_nd(x, order);
}

}  // namespace

MP_KERNEL(OwnPool, const Tensor& x, IntArrayRef kernel, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations,
          string_view how, double p, bool column_major, Tensor& y, Tensor& positions) {
  const Tensor wide = Widened(x);
  const Gathered gathered = Gather(wide, {kernel, strides, pads, dilations}, y, column_major);
  if (how == "max") {
    const Tensor values = gathered.values.masked_fill(gathered.inside.logical_not(), MinOf(wide.scalar_type()));
    auto [most, which] = values.max(-1);
    Write(y, most);
    const Tensor planes = at::arange(x.size(0) * x.size(1), at::kLong).reshape({x.size(0), x.size(1)});
    int64_t plane_size = 1;
    for (int64_t i = 2; i < x.dim(); ++i) plane_size *= x.size(i);
    std::vector<int64_t> shape = {x.size(0), x.size(1)};
    shape.resize(static_cast<size_t>(x.dim()), 1);
    const Tensor all = gathered.places.expand(values.sizes());
    Write(positions, all.gather(-1, which.unsqueeze(-1)).squeeze(-1) + planes.mul(plane_size).reshape(shape));
    return;
  }
  positions.zero_();
  const Tensor values = gathered.values.masked_fill(gathered.inside.logical_not(), 0);
  if (how == "lp") {
    Write(y, values.abs().pow(p).sum(-1).pow(1 / p));
    return;
  }
  const Tensor counted = how == "average" ? gathered.inside : gathered.padded;
  Write(y, values.sum(-1).div(counted.sum(-1)));
}

MP_KERNEL(OwnCol2Im, const Tensor& x, IntArrayRef image, IntArrayRef block, IntArrayRef dilations, IntArrayRef pads,
          IntArrayRef strides, Tensor& y) {
  const size_t spatial = image.size();
  TORCH_CHECK(
      block.size() == spatial && dilations.size() == spatial && strides.size() == spatial && pads.size() == 2 * spatial,
      "the lists are not for ", spatial, " dimensions");
  // The place in the padded picture of each element of each window: [block..., windows...].
  Tensor places = at::zeros({}, at::kLong);
  std::vector<int64_t> padded;
  std::vector<int64_t> order;
  const auto options = at::TensorOptions().dtype(at::kLong);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t size = image[i] + pads[i] + pads[spatial + i];
    const int64_t windows = (size - dilations[i] * (block[i] - 1) - 1) / strides[i] + 1;
    TORCH_CHECK(windows > 0, "the block is larger than the padded picture");
    padded.push_back(size);
    const Tensor along =
        at::arange(block[i], options).mul_(dilations[i]).unsqueeze(1) + at::arange(windows, options).mul_(strides[i]);
    places = places.mul(size).unsqueeze(-1).unsqueeze(-1) + along;
  }
  for (size_t half = 0; half < 2; ++half) {
    for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(2 * i + half));
  }
  const Tensor flat = places.permute(order).reshape({-1});
  int64_t elements = 1;
  for (const int64_t size : padded) elements *= size;
  TORCH_CHECK(x.size(1) * x.size(2) == y.size(1) * flat.numel(), "x has ", x.size(2),
              " windows; that is not what the picture has");
  Tensor sums = at::zeros({y.size(0), y.size(1), elements}, x.options());
  sums.index_add_(2, flat, x.reshape({y.size(0), y.size(1), flat.numel()}));
  std::vector<int64_t> shape = {y.size(0), y.size(1)};
  shape.insert(shape.end(), padded.begin(), padded.end());
  Tensor result = sums.reshape(shape);
  for (size_t i = 0; i < spatial; ++i) result = result.narrow(static_cast<int64_t>(i) + 2, pads[i], image[i]);
  Write(y, result);
}

MP_KERNEL(OwnConv, const Tensor& x, const Tensor& filter, const OptTensor& bias, IntArrayRef strides, IntArrayRef pads,
          IntArrayRef dilations, int64_t groups, Tensor& y) {
  const std::vector<int64_t> zeros(strides.size(), 0);
  Write(y, at::convolution(Padded(x, pads), filter, bias, strides, zeros, dilations, false, zeros, groups));
}

MP_KERNEL(OwnConvTranspose, const Tensor& x, const Tensor& filter, const OptTensor& bias, IntArrayRef strides,
          IntArrayRef pads, IntArrayRef dilations, IntArrayRef output_padding, int64_t groups, Tensor& y) {
  const std::vector<int64_t> zeros(strides.size(), 0);
  const Tensor full = at::convolution(x, filter, std::nullopt, strides, zeros, dilations, true, zeros, groups);
  std::vector<int64_t> cut;
  const size_t spatial = strides.size();
  for (size_t end = 0; end < 2; ++end) {
    for (size_t i = 0; i < spatial; ++i) cut.push_back((end == 1 ? output_padding[i] : 0) - pads[end * spatial + i]);
  }
  Tensor result = Padded(full, cut);
  if (bias) {
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[1] = -1;
    result = result + bias->reshape(shape);
  }
  Write(y, result);
}

}  // namespace millpond::kernels
