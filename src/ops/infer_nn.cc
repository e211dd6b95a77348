// SPDX-License-Identifier: Apache-2.0
// Normalisation, losses, tables of rows, random numbers.

#include <array>
#include <string>
#include <string_view>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

// As x, with ones from dimension `from` on.
Status OnesFrom(const InferArgs& args, size_t from, Shape* out) {
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  std::fill(out->dims + from, out->dims + out->rank, 1);
  return Ok();
}

// like_second, rows_second: whether the second of two quantised results is wanted.
bool SecondWanted(const InferArgs& args) {
  if (Has(args, 3) && !Ints(args, 3).empty()) return Ints(args, 3).size() > 1 && Ints(args, 3)[1] != 0;
  return Has(args, 1) && Has(args, 2);
}

int64_t BagsOf(const InferArgs& args, size_t offsets, size_t include_last) {
  const int64_t count = ShapeOf(args, offsets).empty() ? 1 : ShapeOf(args, offsets)[0];
  return std::max<int64_t>(count - (Int(args, include_last) != 0 ? 1 : 0), 0);
}

}  // namespace

Status rows(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  const Dims x = ShapeOf(args, 0);
  return Assign(args, x.first(x.size() - 1), out);
}
Status first(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  return Assign(args, ShapeOf(args, 0).first(1), out);
}
Status empty(const InferArgs& args, Shape* out) { return Vector(args, 0, out); }

Status last_is(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(rows(args, out));
  return Append(args, Int(args, 1), out);
}
Status last_of(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  MP_RETURN_IF_ERROR(rows(args, out));
  return Append(args, ShapeOf(args, 1).back(), out);
}

Status same_or_empty(const InferArgs& args, Shape* out) {
  return Has(args, 0) ? Assign(args, ShapeOf(args, 0), out) : Vector(args, 0, out);
}
Status like_if(const InferArgs& args, Shape* out) {
  return Has(args, 1) ? Assign(args, ShapeOf(args, 0), out) : Vector(args, 1, out);
}
Status like_flag(const InferArgs& args, Shape* out) {
  return Int(args, 1) != 0 ? Assign(args, ShapeOf(args, 0), out) : Vector(args, 0, out);
}
Status like_second(const InferArgs& args, Shape* out) {
  return SecondWanted(args) ? Assign(args, ShapeOf(args, 0), out) : Vector(args, 1, out);
}
Status rows_second(const InferArgs& args, Shape* out) {
  return SecondWanted(args) ? rows(args, out) : Vector(args, 1, out);
}

Status ones_behind(const InferArgs& args, Shape* out) {
  const size_t rank = ShapeOf(args, 0).size();
  const size_t behind = KindOf(args, 1) == ArgKind::kInts ? Ints(args, 1).size() : ShapeOf(args, 1).size();
  MP_REQUIRE(behind <= rank, "%s: %s has shape %s; %zu of its dimensions are normalised", RowName(args),
             NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str(), behind);
  return OnesFrom(args, rank - behind, out);
}
Status ones_behind_if(const InferArgs& args, Shape* out) {
  return Int(args, 2) != 0 ? ones_behind(args, out) : Vector(args, 1, out);
}
Status ones_from(const InferArgs& args, Shape* out) {
  size_t axis = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), ShapeOf(args, 0).size(), &axis));
  return OnesFrom(args, axis, out);
}

Status group_stats(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  const int64_t dims[] = {ShapeOf(args, 0)[0], Int(args, 1)};
  return Assign(args, dims, out);
}
Status instance_stats(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  const int16_t format = ViewOf(args, 0).format;
  const bool channels_last = format == 1 || format == 27 || (format == 2 && TextOf(args, 1).back() == 'C');
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  const size_t channel = channels_last ? out->rank - 1U : 1U;
  for (size_t i = 1; i < out->rank; ++i) {
    if (i != channel) out->dims[i] = 1;
  }
  return Ok();
}

Status loss(const InferArgs& args, Shape* out) {
  if (Int(args, 0) != 0) return scalar(args, out);
  return broadcast({.call = args.call, .from = args.from.subspan(1), .member = args.member}, out);
}
Status nll(const InferArgs& args, Shape* out) {
  return Int(args, 0) != 0 ? scalar(args, out) : Assign(args, ShapeOf(args, 1), out);
}
Status loss_by_name(const InferArgs& args, Shape* out) {
  return TextOf(args, 0) != "none" ? scalar(args, out) : Assign(args, ShapeOf(args, 1), out);
}

Status bags(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  const int64_t dims[] = {BagsOf(args, 1, 2), ShapeOf(args, 0)[1]};
  return Assign(args, dims, out);
}
Status bag_count(const InferArgs& args, Shape* out) { return Vector(args, BagsOf(args, 0, 1), out); }
Status bag_maxima(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  constexpr int64_t kMax = 2;
  if (Int(args, 2) != kMax) return Vector(args, BagsOf(args, 1, 3), out);
  const int64_t dims[] = {BagsOf(args, 1, 3), ShapeOf(args, 0)[1]};
  return Assign(args, dims, out);
}

Status keep_mask(const InferArgs& args, Shape* out) {
  const int64_t elements = Elements(Ints(args, 0));
  MP_REQUIRE(elements >= 0, "%s: the shape %s has too many elements", RowName(args), ShapeText(Ints(args, 0)).c_str());
  return Vector(args, (elements + 127) / 128 * 16, out);
}
Status keep_mask_of(const InferArgs& args, Shape* out) {
  return Vector(args, (Elements(ShapeOf(args, 0)) + 127) / 128 * 16, out);
}
Status status_words(const InferArgs& args, Shape* out) { return Vector(args, 8, out); }
Status samples_of(const InferArgs& args, Shape* out) { return last_is(args, out); }

Status distances(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 2));
  const Dims x = ShapeOf(args, 0);
  const Dims y = ShapeOf(args, 1);
  MP_RETURN_IF_ERROR(Assign(args, x.first(x.size() - 2), out));
  MP_REQUIRE(Widen(y.first(y.size() - 2), out), "%s: the leading dimensions of %s and %s cannot be broadcast",
             RowName(args), ShapeText(x).c_str(), ShapeText(y).c_str());
  MP_RETURN_IF_ERROR(Append(args, x[x.size() - 2], out));
  return Append(args, y[y.size() - 2], out);
}
Status pairs_within(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  const int64_t rows = ShapeOf(args, 0)[0];
  return Vector(args, rows * (rows - 1) / 2, out);
}
Status each_with_each(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  const int64_t dims[] = {ShapeOf(args, 0)[0], ShapeOf(args, 1)[0]};
  return Assign(args, dims, out);
}
Status best(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  const int64_t dims[] = {ShapeOf(args, 0)[0], Int(args, 1)};
  return Assign(args, dims, out);
}
Status best_boxes(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(best(args, out));
  return Append(args, 4, out);
}
Status cells(const InferArgs& args, Shape* out) {
  constexpr int64_t kMaxCells = int64_t{1} << 20;  // of each number: their product stays far from an overflow
  const Dims size = Ints(args, 0);
  const int64_t each = Int(args, 1);
  MP_REQUIRE(size.size() == 2 && size[0] >= 0 && size[0] <= kMaxCells && size[1] >= 0 && size[1] <= kMaxCells &&
                 each >= 0 && each <= kMaxCells,
             "%s: %s %s and %s %lld; two sizes and a count, each from 0 to %lld, are needed", RowName(args),
             NameOf(args, 0), ShapeText(size).c_str(), NameOf(args, 1), static_cast<long long>(each),
             static_cast<long long>(kMaxCells));
  const int64_t dims[] = {size[0] * size[1] * each};
  return Assign(args, dims, out);
}
Status one_row(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 1));
  MP_RETURN_IF_ERROR(Assign(args, ShapeOf(args, 0), out));
  out->dims[0] = 1;
  return Ok();
}
Status regions(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 2));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  const int64_t dims[] = {ShapeOf(args, 1)[0], ShapeOf(args, 0)[1], Int(args, 2), Int(args, 3)};
  return Assign(args, dims, out);
}

Status rnn_steps(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(NeedRank(args, 0, 3));
  MP_RETURN_IF_ERROR(NeedRank(args, 1, 1));
  const int64_t dims[] = {ShapeOf(args, 0)[0], ShapeOf(args, 0)[1], ShapeOf(args, 1).back() / 4};
  return Assign(args, dims, out);
}

Status text_room(const InferArgs& args, Shape* out) {
  constexpr int64_t kPerNumber = 48;  // with what stands between two
  const int64_t most = Int(args, 2);
  auto bytes = static_cast<int64_t>(TextOf(args, 1).size()) + 1;
  for (const TensorView& tensor : args.call.views(args.from[0])) {
    int64_t numbers = 1;
    for (const int64_t dim : tensor.shape())
      numbers *= most < 0 ? std::max<int64_t>(dim, 1) : std::min(dim, 2 * most) + 1;
    bytes += numbers * (kPerNumber + 2 * tensor.rank) + kPerNumber;
  }
  return Vector(args, bytes, out);
}

namespace {

constexpr size_t kLetters = 128;

// The operands' letters and the result's, out of "ij,jk->ik". Without an arrow: those that appear once, sorted.
Status SizesOfLetters(const InferArgs& args, std::string_view operands, std::array<int64_t, kLetters>* sizes,
                      std::array<int, kLetters>* uses) {
  sizes->fill(-1);
  uses->fill(0);
  size_t member = 0;
  const auto views = args.call.views(args.from[0]);
  size_t at = 0;
  for (const char letter : operands) {
    if (letter == ',') {
      ++member;
      at = 0;
      continue;
    }
    if (letter == ' ') continue;
    const auto code = static_cast<unsigned char>(letter);
    MP_REQUIRE(member < views.size() && at < views[member].shape().size() && code < kLetters && letter != '.',
               "%s: the equation '%s' does not fit its %zu operands", RowName(args),
               std::string(TextOf(args, 1)).c_str(), views.size());
    int64_t& size = (*sizes)[code];
    const int64_t dim = views[member].shape()[at++];
    MP_REQUIRE(size < 0 || size == dim || dim == 1 || size == 1, "%s: '%c' of the equation is %lld and %lld",
               RowName(args), letter, static_cast<long long>(size), static_cast<long long>(dim));
    size = std::max(size, dim);
    ++(*uses)[code];
  }
  return Ok();
}

}  // namespace

Status einsum(const InferArgs& args, Shape* out) {
  const std::string_view equation = TextOf(args, 1);
  const size_t arrow = equation.find("->");
  std::array<int64_t, kLetters> sizes;
  std::array<int, kLetters> uses;
  MP_RETURN_IF_ERROR(SizesOfLetters(args, equation.substr(0, arrow), &sizes, &uses));
  out->rank = 0;
  if (arrow == std::string_view::npos) {
    for (size_t code = 0; code < kLetters; ++code) {
      if (uses[code] == 1) MP_RETURN_IF_ERROR(Append(args, sizes[code], out));
    }
    return Ok();
  }
  for (const char letter : equation.substr(arrow + 2)) {
    if (letter == ' ') continue;
    const auto code = static_cast<unsigned char>(letter);
    MP_REQUIRE(code < kLetters && sizes[code] >= 0, "%s: '%c' stands only in the result of '%s'", RowName(args), letter,
               std::string(equation).c_str());
    MP_RETURN_IF_ERROR(Append(args, sizes[code], out));
  }
  return Ok();
}

}  // namespace millpond::infer
