// SPDX-License-Identifier: Apache-2.0
// Convolution, pooling, resampling: how many windows fit.
#include <cmath>
#include <string>
#include <string_view>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"
#include "src/ops/layout_name.h"

namespace millpond::infer {
namespace {

constexpr size_t kMaxSpatial = 3;

// Sizes by their letters: those of x, and of the lists that have an entry for each of its dimensions.
struct Plane {
  std::string_view layout;
  std::string_view spatial;  // "HW" or "DHW"
  Dims dims;

  int64_t at(char letter) const { return dims[layout.find(letter)]; }
  // The entry of spatial dimension i of a list; a list may also have the spatial ones alone, or one for all.
  int64_t entry(Dims list, size_t i) const {
    if (list.size() == layout.size()) return list[layout.find(spatial[i])];
    return list.size() == 1 ? list[0] : list[i];
  }
  bool fits(Dims list) const {
    return list.size() == layout.size() || list.size() == spatial.size() || list.size() == 1;
  }
};

// A format may be any text.
Status RequireLetters(const InferArgs& args, std::string_view layout, std::string_view letters) {
  for (const char letter : letters) {
    MP_REQUIRE(layout.find(letter) != std::string_view::npos, "%s: the format %s has no %c", RowName(args),
               std::string(layout).c_str(), letter);
  }
  return Ok();
}

Status PlaneOf(const InferArgs& args, size_t which, std::string_view data_format, Plane* out) {
  const TensorView& view = ViewOf(args, which);
  out->layout = LayoutName(view.format, data_format);
  out->spatial = out->layout.size() == 5 ? "DHW" : "HW";
  out->dims = view.shape();
  MP_REQUIRE(out->dims.size() == out->layout.size() && out->layout.size() == out->spatial.size() + 2,
             "%s: %s has shape %s, which cannot be %s", RowName(args), NameOf(args, which),
             ShapeText(out->dims).c_str(), std::string(out->layout).c_str());
  MP_RETURN_IF_ERROR(RequireLetters(args, out->layout, "NC"));
  return RequireLetters(args, out->layout, out->spatial);
}

Status CheckList(const InferArgs& args, const Plane& plane, size_t which) {
  MP_REQUIRE(plane.fits(Ints(args, which)), "%s: %s has %zu entries; the format %s needs %zu", RowName(args),
             NameOf(args, which), Ints(args, which).size(), std::string(plane.layout).c_str(), plane.layout.size());
  return Ok();
}

// How many windows of `extent` at steps of `stride` fit in `size`.
Status WindowCount(const InferArgs& args, int64_t size, int64_t before, int64_t after, int64_t extent, int64_t stride,
                   bool ceil, int64_t* out) {
  MP_REQUIRE(stride > 0 && extent > 0, "%s: a window of %lld with a stride of %lld", RowName(args),
             static_cast<long long>(extent), static_cast<long long>(stride));
  const int64_t room = size + before + after - extent;
  MP_REQUIRE(room >= 0 || ceil, "%s: a window of %lld does not fit in %lld with padding %lld and %lld", RowName(args),
             static_cast<long long>(extent), static_cast<long long>(size), static_cast<long long>(before),
             static_cast<long long>(after));
  int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  // The last window must begin inside the input or the padding before it.
  if (ceil && (count - 1) * stride >= size + before) --count;
  *out = count;
  return Ok();
}

// The result has x's layout, with these channels and spatial sizes.
Status Assemble(const InferArgs& args, const Plane& plane, int64_t channels, Dims spatial, Shape* out) {
  int64_t dims[TensorView::kMaxRank];
  for (size_t i = 0; i < plane.layout.size(); ++i) {
    const char letter = plane.layout[i];
    const size_t at = plane.spatial.find(letter);
    dims[i] = letter == 'N' ? plane.at('N') : (letter == 'C' ? channels : spatial[at]);
  }
  return Assign(args, {dims, plane.layout.size()}, out);
}

Status Convolve(const InferArgs& args, const Plane& plane, const Plane& filter, int64_t channels, Shape* out) {
  MP_RETURN_IF_ERROR(RequireLetters(args, filter.layout, plane.spatial));
  for (const size_t which : {size_t{2}, size_t{4}}) MP_RETURN_IF_ERROR(CheckList(args, plane, which));
  const Dims pads = Ints(args, 3);
  const size_t count = plane.spatial.size();
  MP_REQUIRE(pads.size() == 2 * count, "%s: pads has %zu entries; %zu spatial dimensions need two each", RowName(args),
             pads.size(), count);
  int64_t sizes[kMaxSpatial];
  for (size_t i = 0; i < count; ++i) {
    const int64_t window = (filter.at(plane.spatial[i]) - 1) * plane.entry(Ints(args, 4), i) + 1;
    MP_RETURN_IF_ERROR(WindowCount(args, plane.at(plane.spatial[i]), pads[2 * i], pads[2 * i + 1], window,
                                   plane.entry(Ints(args, 2), i), /*ceil=*/false, &sizes[i]));
  }
  return Assemble(args, plane, channels, {sizes, count}, out);
}

struct PoolRule {
  Dims ksize, strides, pads, dilations;
  std::string_view padding;
  bool global = false, ceil = false;
};

Status Pool(const InferArgs& args, const Plane& plane, const PoolRule& rule, Shape* out) {
  const size_t count = plane.spatial.size();
  int64_t sizes[kMaxSpatial];
  if (rule.global) {
    std::fill(sizes, sizes + count, 1);
    return Assemble(args, plane, plane.at('C'), {sizes, count}, out);
  }
  MP_REQUIRE(
      plane.fits(rule.ksize) && plane.fits(rule.strides) && (rule.dilations.empty() || plane.fits(rule.dilations)),
      "%s: ksize has %zu entries, strides %zu and dilations %zu for %s", RowName(args), rule.ksize.size(),
      rule.strides.size(), rule.dilations.size(), std::string(plane.layout).c_str());
  const bool padded = rule.padding == "CALCULATED";
  MP_REQUIRE(!padded || rule.pads.size() == 2 * count, "%s: pads has %zu entries; %zu spatial dimensions need two each",
             RowName(args), rule.pads.size(), count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t size = plane.at(plane.spatial[i]);
    const int64_t stride = plane.entry(rule.strides, i);
    MP_REQUIRE(stride > 0, "%s: a stride is %lld; it must be positive", RowName(args), static_cast<long long>(stride));
    if (rule.padding == "SAME") {
      sizes[i] = (size + stride - 1) / stride;
      continue;
    }
    const int64_t dilation = rule.dilations.empty() ? 1 : plane.entry(rule.dilations, i);
    const int64_t window = (plane.entry(rule.ksize, i) - 1) * dilation + 1;
    MP_RETURN_IF_ERROR(WindowCount(args, size, padded ? rule.pads[2 * i] : 0, padded ? rule.pads[2 * i + 1] : 0, window,
                                   stride, rule.ceil, &sizes[i]));
  }
  return Assemble(args, plane, plane.at('C'), {sizes, count}, out);
}

// Lists with the spatial entries from `first` on.
Status MaskWindows(const InferArgs& args, int64_t* sizes, int64_t* window) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(x.size() == 4, "%s: %s has shape %s; it must have 4 dimensions", RowName(args), NameOf(args, 0),
             ShapeText(x).c_str());
  const auto first = static_cast<size_t>(Int(args, 4));
  for (const size_t which : {size_t{1}, size_t{2}, size_t{3}, size_t{5}}) {
    MP_REQUIRE(Ints(args, which).size() == 4, "%s: %s has %zu entries; it must have 4", RowName(args),
               NameOf(args, which), Ints(args, which).size());
  }
  *window = 1;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t pad = Ints(args, 3)[first + i];
    const int64_t kernel = Ints(args, 1)[first + i];
    MP_RETURN_IF_ERROR(WindowCount(args, x[2 + i], pad, pad, (kernel - 1) * Ints(args, 5)[first + i] + 1,
                                   Ints(args, 2)[first + i], Int(args, 6) != 0, &sizes[i]));
    *window *= kernel;
  }
  return Ok();
}

}  // namespace

Status conv(const InferArgs& args, Shape* out) {
  Plane plane, filter;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, args.from.size() > 6 ? TextOf(args, 6) : "NCHW", &plane));
  MP_RETURN_IF_ERROR(PlaneOf(args, 1, plane.layout, &filter));
  MP_REQUIRE(filter.at('C') * Int(args, 5) == plane.at('C'),
             "%s: the filter %s with %lld groups does not fit x %s: it has %lld channels in each group", RowName(args),
             ShapeText(filter.dims).c_str(), static_cast<long long>(Int(args, 5)), ShapeText(plane.dims).c_str(),
             static_cast<long long>(filter.at('C')));
  return Convolve(args, plane, filter, filter.at('N'), out);
}

Status depthwise(const InferArgs& args, Shape* out) {
  Plane plane, filter;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, TextOf(args, 5), &plane));
  MP_RETURN_IF_ERROR(PlaneOf(args, 1, plane.layout, &filter));
  return Convolve(args, plane, filter, filter.at('N') * filter.at('C'), out);
}

Status pooled(const InferArgs& args, Shape* out) {
  Plane plane;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, TextOf(args, 5), &plane));
  return Pool(args, plane,
              {Ints(args, 1), Ints(args, 2), Ints(args, 4), {}, TextOf(args, 3), Int(args, 6) != 0, Int(args, 7) != 0},
              out);
}
Status pooled_dilated(const InferArgs& args, Shape* out) {
  Plane plane;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, TextOf(args, 5), &plane));
  return Pool(args, plane,
              {Ints(args, 1), Ints(args, 2), Ints(args, 4), Ints(args, 8), TextOf(args, 3), Int(args, 6) != 0,
               Int(args, 7) != 0},
              out);
}
Status pooled_volume(const InferArgs& args, Shape* out) {
  Plane plane;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, TextOf(args, 4), &plane));
  return Pool(args, plane, {Ints(args, 1), Ints(args, 2), Ints(args, 3), {}, "CALCULATED", false, Int(args, 5) != 0},
              out);
}

Status windows(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const size_t spatial = Ints(args, 1).size();
  MP_REQUIRE(x.size() > spatial, "%s: %s has shape %s; %zu spatial dimensions and channels are needed", RowName(args),
             NameOf(args, 0), ShapeText(x).c_str(), spatial);
  MP_RETURN_IF_ERROR(Assign(args, x, out));
  const auto entry = [&](size_t which, size_t i, int64_t otherwise) {
    const Dims list = Ints(args, which);
    return list.empty() ? otherwise : (i < list.size() ? list[i] : list[0]);
  };
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t kernel = Ints(args, 1)[i];
    const int64_t pad = entry(3, i, 0);
    int64_t& dim = out->dims[x.size() - spatial + i];
    MP_RETURN_IF_ERROR(WindowCount(args, dim, pad, pad, (kernel - 1) * entry(4, i, 1) + 1, entry(2, i, kernel),
                                   Int(args, 5) != 0, &dim));
  }
  return Ok();
}

Status mask_windows(const InferArgs& args, Shape* out) {
  int64_t sizes[2], window;
  MP_RETURN_IF_ERROR(MaskWindows(args, sizes, &window));
  const Dims x = ShapeOf(args, 0);
  const int64_t dims[] = {x[0], x[1], sizes[0], sizes[1]};
  return Assign(args, dims, out);
}
Status mask_buffer(const InferArgs& args, Shape* out) {
  int64_t sizes[2], window;
  MP_RETURN_IF_ERROR(MaskWindows(args, sizes, &window));
  const Dims x = ShapeOf(args, 0);
  const int64_t dims[] = {x[0], x[1], window, ((sizes[0] * sizes[1] + 15) / 16 + 1) * 16};
  return Assign(args, dims, out);
}

Status adaptive(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const Dims size = Ints(args, 1);
  MP_REQUIRE(x.size() > size.size(), "%s: %s has shape %s; %zu of its dimensions become %s", RowName(args),
             NameOf(args, 0), ShapeText(x).c_str(), size.size(), ShapeText(size).c_str());
  MP_RETURN_IF_ERROR(Assign(args, x, out));
  std::copy(size.begin(), size.end(), out->dims + (x.size() - size.size()));
  return Ok();
}

Status resized(const InferArgs& args, Shape* out) {
  Plane plane;
  MP_RETURN_IF_ERROR(PlaneOf(args, 0, "NCHW", &plane));
  MP_REQUIRE(Ints(args, 1).size() == plane.spatial.size(), "%s: %s has %zu entries; height and width are needed",
             RowName(args), NameOf(args, 1), Ints(args, 1).size());
  return Assemble(args, plane, plane.at('C'), Ints(args, 1), out);
}

namespace {

// A scale counts when it is above 0 and the corners are not aligned: then point i of the result stands at about
// i / scale. ATen takes that place on trust: it has no bound for 64 bits, and with antialiasing none for the input.
Status CheckScale(const InferArgs& args, size_t which, int64_t from, int64_t to, bool smooth) {
  constexpr double kFarthest = 4e18;
  const double scale = args.call.real(args.from[which]);
  if (!(scale > 0)) return Ok();
  const auto points = static_cast<double>(to);
  MP_REQUIRE(!smooth || points <= std::floor(static_cast<double>(from) * scale),
             "%s: %s is %g and makes %.0f points of %lld, but %s asks for %lld; ask for no more, or set the scale to 0",
             RowName(args), NameOf(args, which), scale, std::floor(static_cast<double>(from) * scale),
             static_cast<long long>(from), NameOf(args, 1), static_cast<long long>(to));
  MP_REQUIRE(points / scale < kFarthest, "%s: %s is %g; point %lld of the result would stand at %g", RowName(args),
             NameOf(args, which), scale, static_cast<long long>(to), points / scale);
  return Ok();
}

Status Upsampled(const InferArgs& args, bool smooth, Shape* out) {
  const bool backward = KindOf(args, 0) == ArgKind::kInts;
  const Dims from = backward ? Ints(args, 0) : ShapeOf(args, 0);
  const Dims size = Ints(args, 1);
  MP_REQUIRE(from.size() == size.size() + 2, "%s: %s is %s and %s %s; the first needs N and C, then as many sizes",
             RowName(args), NameOf(args, 0), ShapeText(from).c_str(), NameOf(args, 1), ShapeText(size).c_str());
  size_t which = 2;
  bool aligned = false;
  if (which < args.from.size() && KindOf(args, which) == ArgKind::kBool) aligned = Int(args, which++) != 0;
  for (size_t i = 0; which < args.from.size() && !aligned; ++which, ++i) {
    MP_RETURN_IF_ERROR(CheckScale(args, which, from[i + 2], size[i], smooth));
  }
  MP_RETURN_IF_ERROR(Assign(args, from, out));
  if (!backward) std::copy(size.begin(), size.end(), out->dims + 2);
  return Ok();
}

}  // namespace

Status upsampled(const InferArgs& args, Shape* out) { return Upsampled(args, /*smooth=*/false, out); }
Status upsampled_smooth(const InferArgs& args, Shape* out) { return Upsampled(args, /*smooth=*/true, out); }

Status sampled(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const Dims grid = ShapeOf(args, 1);
  MP_REQUIRE(x.size() == grid.size() && x.size() >= 4, "%s: %s has shape %s and %s %s; both need as many dimensions",
             RowName(args), NameOf(args, 0), ShapeText(x).c_str(), NameOf(args, 1), ShapeText(grid).c_str());
  MP_RETURN_IF_ERROR(Assign(args, x.first(2), out));
  for (size_t i = 1; i + 1 < grid.size(); ++i) MP_RETURN_IF_ERROR(Append(args, grid[i], out));
  return Ok();
}

Status deformed_points(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const Dims offsets = ShapeOf(args, 1);
  const Dims kernel = Ints(args, 2);
  MP_REQUIRE(x.size() == 4 && offsets.size() == 4 && kernel.size() == 2,
             "%s: %s has shape %s, %s %s and %s %zu entries; 4 dimensions, 4 and 2 entries are needed", RowName(args),
             NameOf(args, 0), ShapeText(x).c_str(), NameOf(args, 1), ShapeText(offsets).c_str(), NameOf(args, 2),
             kernel.size());
  const bool last = TextOf(args, 3).ends_with('C');
  const size_t first = last ? 1 : 2;
  const int64_t height = Times(offsets[first], kernel[0]);
  const int64_t width = Times(offsets[first + 1], kernel[1]);
  const int64_t dims[] = {x[0], last ? height : x[1], last ? width : height, last ? x[3] : width};
  return Assign(args, dims, out);
}

}  // namespace millpond::infer
