// SPDX-License-Identifier: Apache-2.0
// Convolutions, pooling and resampling. GE's pads are begin and end per dimension, ONNX's all begins, then all ends.
#include <algorithm>
#include <optional>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

struct Window {
  Ints kernel, strides, dilations;
  Ints pads;  // all begins, then all ends
  size_t spatial() const { return kernel.size(); }
};

// Reads the attributes, with auto_pad turned into pads. False after refusing.
bool ReadWindow(Context& c, const Val& x, Ints kernel, Window* out) {
  Builder& b = c.b;
  const int64_t rank = c.KnownRank(x);
  if (rank < 3) {
    c.Refuse("its input must have batch, channels and one dimension more");
    return false;
  }
  const auto spatial = static_cast<size_t>(rank - 2);
  out->kernel = std::move(kernel);
  out->strides = c.List("strides", Ints(spatial, 1));
  out->dilations = c.List("dilations", Ints(spatial, 1));
  out->pads = c.List("pads", Ints(2 * spatial, 0));
  const std::string mode = c.Text("auto_pad", "NOTSET");
  const bool fits = out->kernel.size() == spatial && out->strides.size() == spatial &&
                    out->dilations.size() == spatial && out->pads.size() == 2 * spatial;
  if (!fits) {
    c.Refuse("its kernel, strides, dilations or pads are not for %zu spatial dimensions", spatial);
    return false;
  }
  if (std::any_of(out->strides.begin(), out->strides.end(), [](int64_t stride) { return stride < 1; })) {
    c.Refuse("a stride is not positive");
    return false;
  }
  if (mode == "NOTSET") return true;
  out->pads.assign(2 * spatial, 0);
  if (mode == "VALID") return true;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    c.Refuse("auto_pad \"%s\" is not known", mode.c_str());
    return false;
  }
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t size = b.DimsOf(x)[i + 2];
    if (size < 0) {
      c.Refuse("with auto_pad %s the spatial sizes must be known", mode.c_str());
      return false;
    }
    const int64_t steps = (size + out->strides[i] - 1) / out->strides[i];
    const int64_t reach = (out->kernel[i] - 1) * out->dilations[i] + 1;
    const int64_t total = std::max<int64_t>((steps - 1) * out->strides[i] + reach - size, 0);
    const int64_t less = total / 2;
    out->pads[i] = mode == "SAME_UPPER" ? less : total - less;
    out->pads[spatial + i] = total - out->pads[i];
  }
  return true;
}

// In GE's form: with entries for N and C too.
Ints Full(const Ints& values) {
  Ints full = {1, 1};
  full.insert(full.end(), values.begin(), values.end());
  return full;
}
Ints Paired(const Ints& pads) {
  Ints paired;
  const size_t half = pads.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    paired.push_back(pads[i]);
    paired.push_back(pads[half + i]);
  }
  return paired;
}

// The spatial dimensions of a filter [out, in, ...].
Ints KernelOf(Context& c, const Val& filter) {
  const ir::Dims& dims = c.b.DimsOf(filter);
  if (c.HasAttr("kernel_shape")) return c.List("kernel_shape");
  if (c.b.RankOf(filter) < 3 || !c.b.IsStatic(filter)) {
    c.Refuse("the filter's shape is not known");
    return {};
  }
  return {dims.begin() + 2, dims.end()};
}

Val Convolved(Context& c, const Val& x, const Val& filter, const Val& bias, const Window& window, int64_t groups) {
  Builder& b = c.b;
  const DType type = b.TypeOf(x);
  const bool known = type == DType::kFloat || ClassOf(type) == kHalfTypes;
  const size_t spatial = window.spatial();
  if (known && (spatial == 2 || spatial == 3)) {
    return b.Op(spatial == 2 ? "Conv2D" : "Conv3D", {x, filter, bias},
                {{"strides", Full(window.strides)},
                 {"pads", Paired(window.pads)},
                 {"dilations", Full(window.dilations)},
                 {"groups", groups},
                 {"data_format", spatial == 2 ? "NCHW" : "NCDHW"}});
  }
  return b.Op(
      "MillpondConv", {x, filter, bias},
      {{"strides", window.strides}, {"pads", window.pads}, {"dilations", window.dilations}, {"groups", groups}});
}

void Conv(Context& c) {
  const Val x = c.In(0);
  const Val filter = c.In(1);
  Window window;
  if (!ReadWindow(c, x, KernelOf(c, filter), &window)) return;
  c.Out(Convolved(c, x, filter, c.Maybe(2), window, c.Int("group", 1)));
}

// The zero points are subtracted first; sums of byte products are exact in double.
Val LessZero(Builder& b, const Val& x, const Val& zero, DType type, const Ints& shape) {
  Val wide = b.Cast(x, type);
  if (!Given(zero)) return wide;
  Val less = b.Cast(zero, type);
  if (b.RankOf(less) == 1 && !shape.empty()) less = b.Reshape(less, shape);
  return b.Sub(wide, less);
}

Ints FilterShape(Builder& b, const Val& filter) {
  Ints shape(static_cast<size_t>(std::max<int64_t>(b.RankOf(filter), 1)), 1);
  shape[0] = -1;
  return shape;
}

// The exact sums of a convolution of integers, each less its zero point. Nothing when the window cannot be read.
std::optional<Val> IntegerSums(Context& c, const Val& filter, const Val& x_zero, const Val& filter_zero,
                               const Val& bias, Window* window) {
  Builder& b = c.b;
  const Val x = c.In(0);
  if (!ReadWindow(c, x, KernelOf(c, filter), window)) return std::nullopt;
  const Val wide = LessZero(b, x, x_zero, DType::kDouble, {});
  const Val weights = LessZero(b, filter, filter_zero, DType::kDouble, FilterShape(b, filter));
  return Convolved(c, wide, weights, bias, *window, c.Int("group", 1));
}

void ConvInteger(Context& c) {
  Window window;
  const std::optional<Val> sums = IntegerSums(c, c.In(1), c.Maybe(2), c.Maybe(3), {}, &window);
  if (sums) c.Out(c.b.Cast(*sums, DType::kInt32));
}

void QLinearConv(Context& c) {
  Builder& b = c.b;
  Window window;
  const Val bias = c.Has(8) ? b.Cast(c.In(8), DType::kDouble) : Val();
  const std::optional<Val> sums = IntegerSums(c, c.In(3), c.In(2), c.In(5), bias, &window);
  if (!sums) return;
  Val scale = b.Mul(b.Cast(c.In(1), DType::kDouble), b.Cast(c.In(4), DType::kDouble));
  scale = b.Div(scale, b.Cast(c.In(6), DType::kDouble));
  if (b.RankOf(scale) == 1) {
    Ints shape(window.spatial() + 1, 1);
    shape[0] = -1;
    scale = b.Reshape(scale, shape);
  }
  const DType type = b.TypeOf(c.In(7));
  const bool is_signed = type == DType::kInt8;
  if (!is_signed && type != DType::kUint8) return c.Refuse("its result must be of 8 bits");
  Val result = b.Add(b.Op("Rint", {b.Mul(*sums, scale)}), b.Cast(c.In(7), DType::kDouble));
  result = b.Op("Maximum", {result, b.Scalar(DType::kDouble, is_signed ? -128 : 0)});
  result = b.Op("Minimum", {result, b.Scalar(DType::kDouble, is_signed ? 127 : 255)});
  c.Out(b.Cast(result, type));
}

// output_shape, or SAME, gives the result's size, from which the pads follow.
bool PadsFromShape(Context& c, const Val& x, const Ints& output_padding, const Ints& shape, Window* window) {
  Builder& b = c.b;
  const bool lower = c.Text("auto_pad", "NOTSET") == "SAME_LOWER";
  for (size_t i = 0; i < window->spatial(); ++i) {
    const int64_t size = b.DimsOf(x)[i + 2];
    if (size < 0) {
      c.Refuse("with output_shape or auto_pad the spatial sizes must be known");
      return false;
    }
    const int64_t wanted = shape.empty() ? size * window->strides[i] : shape[i];
    const int64_t total = window->strides[i] * (size - 1) + output_padding[i] +
                          (window->kernel[i] - 1) * window->dilations[i] + 1 - wanted;
    const int64_t less = total / 2;
    window->pads[i] = lower ? total - less : less;
    window->pads[window->spatial() + i] = total - window->pads[i];
  }
  return true;
}

void ConvTranspose(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val filter = c.In(1);
  const std::string mode = c.Text("auto_pad", "NOTSET");
  Window window;
  if (!ReadWindow(c, x, KernelOf(c, filter), &window)) return;
  const Ints output_padding = c.List("output_padding", Ints(window.spatial(), 0));
  Ints shape = c.List("output_shape");
  if (shape.size() > window.spatial()) shape.erase(shape.begin(), shape.end() - static_cast<int64_t>(window.spatial()));
  if (output_padding.size() != window.spatial() || (!shape.empty() && shape.size() != window.spatial())) {
    return c.Refuse("output_padding or output_shape is not for %zu spatial dimensions", window.spatial());
  }
  const bool same = mode.starts_with("SAME");
  if ((same || !shape.empty()) && !PadsFromShape(c, x, output_padding, shape, &window)) return;
  c.Out(b.Op("MillpondConvTranspose", {x, filter, c.Maybe(2)},
             {{"strides", window.strides},
              {"pads", window.pads},
              {"dilations", window.dilations},
              {"output_padding", output_padding},
              {"groups", c.Int("group", 1)}}));
}

struct Pool {
  Val x;
  Window window;
  bool ceil = false;
};

// False after refusing.
bool ReadPool(Context& c, Pool* out) {
  out->x = c.In(0);
  out->ceil = c.Int("ceil_mode", 0) != 0;
  return ReadWindow(c, out->x, c.List("kernel_shape"), &out->window);
}

Vals Pooled(Context& c, const Pool& pool, const char* how, double p = 2, bool column_major = false) {
  return c.b.Ops("MillpondPool", {pool.x},
                 {{"kernel", pool.window.kernel},
                  {"strides", pool.window.strides},
                  {"pads", pool.window.pads},
                  {"dilations", pool.window.dilations},
                  {"ceil_mode", pool.ceil},
                  {"how", how},
                  {"p", p},
                  {"column_major", column_major}});
}

// Cases that GE's own image operators handle, faster.
bool IsPlain(const Window& window) {
  const auto one = [](int64_t value) { return value == 1; };
  return window.spatial() == 2 && std::all_of(window.dilations.begin(), window.dilations.end(), one);
}

void MaxPool(Context& c) {
  Builder& b = c.b;
  Pool pool;
  const bool column_major = c.Int("storage_order", 0) != 0;
  if (!ReadPool(c, &pool)) return;
  const auto& [x, window, ceil] = pool;
  const DType type = b.TypeOf(x);
  if (IsPlain(window) && !c.Wants(1) && !ceil && (type == DType::kFloat || type == DType::kDouble)) {
    return c.Out(
        b.Op("MaxPoolV3", {x},
             {{"ksize", Full(window.kernel)}, {"strides", Full(window.strides)}, {"pads", Paired(window.pads)}}));
  }
  const Vals out = Pooled(c, pool, "max", 2, column_major);
  c.Out(0, out[0]);
  c.Out(1, out[1]);
}

void AveragePool(Context& c) {
  Builder& b = c.b;
  Pool pool;
  const bool padded = c.Int("count_include_pad", 0) != 0;
  if (!ReadPool(c, &pool)) return;
  const auto& [x, window, ceil] = pool;
  if (IsPlain(window) && !ceil && b.TypeOf(x) == DType::kFloat) {
    return c.Out(b.Op("AvgPoolV2", {x},
                      {{"ksize", Full(window.kernel)},
                       {"strides", Full(window.strides)},
                       {"pads", Paired(window.pads)},
                       {"exclusive", !padded}}));
  }
  c.Out(Pooled(c, pool, padded ? "average_padded" : "average")[0]);
}

void LpPool(Context& c) {
  Pool pool;
  const auto p = static_cast<double>(c.Int("p", 2));
  if (ReadPool(c, &pool)) c.Out(Pooled(c, pool, "lp", p)[0]);
}

void GlobalPool(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 2) return c.Refuse("its input must have two dimensions or more");
  Ints axes;
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  c.Out(b.Reduce(c.type() == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean", x, axes, true));
}

void Resize(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const bool old = c.opset < 11;
  Val roi = old ? Val() : c.Maybe(1);
  Val scales = old ? c.Maybe(1) : c.Maybe(2);
  Val sizes = old ? Val() : c.Maybe(3);
  if (c.type() == "Upsample" && c.HasAttr("scales")) return c.Refuse("scales as an attribute are of opset 7");
  const auto none = [&](const Val& value) { return b.RankOf(value) == 1 && b.DimsOf(value)[0] == 0; };
  if (none(roi)) roi = {};
  if (none(scales)) scales = {};
  if (none(sizes)) sizes = {};
  const std::string mode = c.Text("mode", "nearest");
  // Before opset 11 there was only one coordinate mode.
  const std::string placed = old ? "asymmetric" : c.Text("coordinate_transformation_mode", "half_pixel");
  const std::string nearest = old ? "floor" : c.Text("nearest_mode", "round_prefer_floor");
  const std::string policy = c.Text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return c.Refuse("keep_aspect_ratio_policy \"%s\" is not known", policy.c_str());
  }
  c.Out(b.Op("MillpondResize", {x, placed == "tf_crop_and_resize" ? roi : Val(), scales, sizes},
             {{"coordinates", placed},
              {"cubic", c.Real("cubic_coeff_a", -0.75)},
              {"exclude_outside", c.Int("exclude_outside", 0) != 0},
              {"extrapolation", c.Real("extrapolation_value", 0)},
              {"mode", mode},
              {"nearest_mode", nearest},
              {"antialias", c.Int("antialias", 0) != 0},
              {"axes", c.List("axes")},
              {"policy", policy == "stretch"      ? 0
                         : policy == "not_larger" ? 1
                                                  : 2}}));
}

void GridSample(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  std::string mode = c.Text("mode", c.opset < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  const int64_t rank = c.KnownRank(x);
  if (rank != 4 && rank != 5)
    return c.Refuse("images and volumes are supported, not %lld dimensions", static_cast<long long>(rank));
  c.Out(b.Op(rank == 4 ? "GridSampler2D" : "GridSampler3D", {x, c.In(1)},
             {{"interpolation_mode", mode},
              {"padding_mode", c.Text("padding_mode", "zeros")},
              {"align_corners", c.Int("align_corners", 0) != 0}}));
}

constexpr HandlerEntry kWindowHandlers[] = {
    MP_ONNX(AveragePool),
    MP_ONNX(Conv),
    MP_ONNX(ConvInteger),
    MP_ONNX(ConvTranspose),
    {"GlobalAveragePool", &GlobalPool},
    {"GlobalMaxPool", &GlobalPool},
    MP_ONNX(GridSample),
    MP_ONNX(LpPool),
    MP_ONNX(MaxPool),
    MP_ONNX(QLinearConv),
    MP_ONNX(Resize),
    {"Upsample", &Resize},
};

}  // namespace

std::span<const HandlerEntry> WindowHandlers() { return kWindowHandlers; }

}  // namespace millpond::onnx
