// SPDX-License-Identifier: Apache-2.0
// Shapes of the less common arrangements: blocks, diagonals, repetitions.
#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

// Where channels, rows and columns are in an image of that format.
struct ImageAxes {
  size_t channel, height, width;
};
Status ImageOf(const InferArgs& args, size_t format_at, ImageAxes* out) {
  const std::string_view format = args.call.text(args.from[format_at]);
  const Dims shape = ShapeOf(args, 0);
  MP_REQUIRE(shape.size() == 4 && (format == "NHWC" || format == "NCHW"),
             "%s: %s %s in format %s is not an image of four dimensions in NHWC or NCHW", RowName(args),
             NameOf(args, 0), ShapeText(shape).c_str(), std::string(format).c_str());
  *out = format == "NHWC" ? ImageAxes{3, 1, 2} : ImageAxes{1, 2, 3};
  return Ok();
}

// ND is any order; the device's own layouts stay as they come, since there is one layout here.
bool HasNoOrder(std::string_view layout) {
  return layout == "ND" || layout.starts_with("FRACTAL") || layout.find("C1") != std::string_view::npos;
}

}  // namespace

Status depth_to_space(const InferArgs& args, Shape* out) {
  ImageAxes at{};
  MP_RETURN_IF_ERROR(ImageOf(args, 2, &at));
  MP_RETURN_IF_ERROR(same(args, out));
  const int64_t block = Int(args, 1);
  MP_REQUIRE(block > 0 && out->dims[at.channel] % (block * block) == 0, "%s: %lld channels do not make blocks of %lld",
             RowName(args), static_cast<long long>(out->dims[at.channel]), static_cast<long long>(block));
  out->dims[at.channel] /= block * block;
  out->dims[at.height] *= block;
  out->dims[at.width] *= block;
  return Ok();
}

Status space_to_depth(const InferArgs& args, Shape* out) {
  ImageAxes at{};
  MP_RETURN_IF_ERROR(ImageOf(args, 2, &at));
  MP_RETURN_IF_ERROR(same(args, out));
  const int64_t block = Int(args, 1);
  MP_REQUIRE(block > 0 && out->dims[at.height] % block == 0 && out->dims[at.width] % block == 0,
             "%s: %s %s cannot be cut into blocks of %lld", RowName(args), NameOf(args, 0),
             ShapeText(ShapeOf(args, 0)).c_str(), static_cast<long long>(block));
  out->dims[at.channel] *= block * block;
  out->dims[at.height] /= block;
  out->dims[at.width] /= block;
  return Ok();
}

namespace {

// Starts from x; `edges` (paddings, crops) has two entries for each block.
Status StartBlocks(const InferArgs& args, const char* edges, Shape* out) {
  const Dims block = Ints(args, 1);
  MP_RETURN_IF_ERROR(same(args, out));
  MP_REQUIRE(out->rank > block.size() && Ints(args, 2).size() == 2 * block.size(),
             "%s: blocks %s and %s %s do not fit %s %s", RowName(args), ShapeText(block).c_str(), edges,
             ShapeText(Ints(args, 2)).c_str(), NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str());
  return Ok();
}

}  // namespace

Status space_to_batch(const InferArgs& args, Shape* out) {
  const Dims block = Ints(args, 1);
  const Dims paddings = Ints(args, 2);
  MP_RETURN_IF_ERROR(StartBlocks(args, "paddings", out));
  for (size_t i = 0; i < block.size(); ++i) {
    int64_t& size = out->dims[i + 1];
    size += paddings[2 * i] + paddings[2 * i + 1];
    MP_REQUIRE(block[i] > 0 && size % block[i] == 0, "%s: dimension %zu of %s, padded %lld, is no multiple of %lld",
               RowName(args), i + 1, NameOf(args, 0), static_cast<long long>(size), static_cast<long long>(block[i]));
    size /= block[i];
    out->dims[0] *= block[i];
  }
  return Ok();
}

Status batch_to_space(const InferArgs& args, Shape* out) {
  const Dims block = Ints(args, 1);
  const Dims crops = Ints(args, 2);
  MP_RETURN_IF_ERROR(StartBlocks(args, "crops", out));
  for (size_t i = 0; i < block.size(); ++i) {
    MP_REQUIRE(block[i] > 0 && out->dims[0] % block[i] == 0, "%s: %s %s does not consist of blocks %s", RowName(args),
               NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str(), ShapeText(block).c_str());
    out->dims[0] /= block[i];
    out->dims[i + 1] = out->dims[i + 1] * block[i] - crops[2 * i] - crops[2 * i + 1];
    MP_REQUIRE(out->dims[i + 1] >= 0, "%s: the crops %s leave nothing", RowName(args), ShapeText(crops).c_str());
  }
  return Ok();
}

Status repeated_each(const InferArgs& args, Shape* out) {
  constexpr int64_t kFlat = 1000;  // the door's own mark for no axis
  const Dims repeats = Ints(args, 1);
  const int64_t axis = Int(args, 2);
  if (axis == kFlat) {
    const int64_t count = Elements(ShapeOf(args, 0));
    MP_RETURN_IF_ERROR(Assign(args, {&count, 1}, out));
  } else {
    MP_RETURN_IF_ERROR(same(args, out));
  }
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, axis == kFlat ? 0 : axis, out->rank, &dim));
  MP_REQUIRE(out->rank > 0 && (repeats.size() == 1 || static_cast<int64_t>(repeats.size()) == out->dims[dim]),
             "%s: there are %zu repeats for dimension %zu of %s %s", RowName(args), repeats.size(), dim,
             NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str());
  int64_t total = 0;
  for (const int64_t times : repeats) total += times;
  out->dims[dim] = repeats.size() == 1 ? out->dims[dim] * total : total;
  return Ok();
}

Status matrix_diag(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  MP_REQUIRE(out->rank > 0, "%s: %s has no dimensions; at least one is needed", RowName(args), NameOf(args, 0));
  return Append(args, out->dims[out->rank - 1], out);
}

Status matrix_diag_part(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  MP_REQUIRE(out->rank > 1, "%s: %s %s is not a matrix", RowName(args), NameOf(args, 0),
             ShapeText(ShapeOf(args, 0)).c_str());
  --out->rank;
  out->dims[out->rank - 1] = std::min(out->dims[out->rank - 1], out->dims[out->rank]);
  return Ok();
}

Status diag(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  for (const int64_t dim : shape) MP_RETURN_IF_ERROR(Append(args, dim, out));
  return Ok();
}

Status diag_part(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const size_t half = shape.size() / 2;
  MP_REQUIRE(half > 0 && shape.size() % 2 == 0 && std::ranges::equal(shape.first(half), shape.last(half)),
             "%s: %s %s has not each of its dimensions twice", RowName(args), NameOf(args, 0),
             ShapeText(shape).c_str());
  return Assign(args, shape.first(half), out);
}

Status reformatted(const InferArgs& args, Shape* out) {
  const std::string from(args.call.text(args.from[1]));
  const std::string to(args.call.text(args.from[2]));
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  if (from == to || HasNoOrder(from) || HasNoOrder(to)) return Ok();
  MP_CHECK(std::is_permutation(from.begin(), from.end(), to.begin(), to.end()) && from.size() == shape.size(),
           kUnsupported, "%s: %s %s in layout %s cannot become %s; only orders of the same dimensions can",
           RowName(args), NameOf(args, 0), ShapeText(shape).c_str(), from.c_str(), to.c_str());
  for (size_t i = 0; i < to.size(); ++i) out->dims[i] = shape[from.find(to[i])];
  return Ok();
}

Status outer(const InferArgs& args, Shape* out) {
  const Dims a = ShapeOf(args, 0);
  const Dims b = ShapeOf(args, 1);
  MP_REQUIRE(a.size() == 1 && b.size() == 1, "%s: %s %s and %s %s must be vectors", RowName(args), NameOf(args, 0),
             ShapeText(a).c_str(), NameOf(args, 1), ShapeText(b).c_str());
  out->rank = 2;
  out->dims[0] = a[0];
  out->dims[1] = b[0];
  return Ok();
}

}  // namespace millpond::infer
