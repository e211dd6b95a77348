// SPDX-License-Identifier: Apache-2.0
// Shapes of what only arranges elements anew.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {

Status given(const InferArgs& args, Shape* out) {
  int64_t single = 0;
  const Dims dims = List(args, 0, &single);
  for (const int64_t dim : dims) {
    MP_REQUIRE(dim >= 0, "%s: %s is %s; a size cannot be negative", RowName(args), NameOf(args, 0),
               ShapeText(dims).c_str());
  }
  return Assign(args, dims, out);
}

Status vector_of(const InferArgs& args, Shape* out) {
  const int64_t count = Int(args, 0);
  MP_REQUIRE(count >= 0, "%s: %s is %lld; it cannot be negative", RowName(args), NameOf(args, 0),
             static_cast<long long>(count));
  return Assign(args, {&count, 1}, out);
}

// Sizes that hold `count` elements of the first argument; one may be -1 and is what is left.
static Status AppendFitting(const InferArgs& args, Dims wanted, int64_t count, Shape* out) {
  int64_t known = 1;
  int open = -1;
  for (const int64_t dim : wanted) {
    MP_REQUIRE(dim >= -1 && (dim != -1 || open < 0), "%s: shape %s is not possible; one size may be -1, none less",
               RowName(args), ShapeText(wanted).c_str());
    if (dim == -1) {
      open = out->rank;
    } else {
      known = Times(known, dim);
    }
    MP_RETURN_IF_ERROR(Append(args, dim, out));
  }
  MP_REQUIRE(open < 0 ? known == count : known != 0 && count % known == 0, "%s: %s %s does not fit shape %s",
             RowName(args), NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str(), ShapeText(wanted).c_str());
  if (open >= 0) out->dims[open] = count / known;
  return Ok();
}

Status reshape(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims wanted = Ints(args, 1);
  const int64_t axis_given = args.from.size() > 2 ? Int(args, 2) : 0;
  const int64_t span_given = args.from.size() > 3 ? Int(args, 3) : -1;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = axis_given < 0 ? axis_given + rank + 1 : axis_given;
  const int64_t span = span_given < 0 ? rank - axis : span_given;
  MP_REQUIRE(axis >= 0 && span >= 0 && axis + span <= rank, "%s: %lld dimensions from %lld on are not in %s %s",
             RowName(args), static_cast<long long>(span_given), static_cast<long long>(axis_given), NameOf(args, 0),
             ShapeText(shape).c_str());
  const Dims changed = shape.subspan(static_cast<size_t>(axis), static_cast<size_t>(span));
  MP_RETURN_IF_ERROR(Assign(args, shape.first(static_cast<size_t>(axis)), out));
  MP_RETURN_IF_ERROR(AppendFitting(args, wanted, Elements(changed), out));
  for (const int64_t dim : shape.subspan(static_cast<size_t>(axis + span))) {
    MP_RETURN_IF_ERROR(Append(args, dim, out));
  }
  return Ok();
}

Status reshape_keeping(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims wanted = Ints(args, 1);
  std::vector<int64_t> sizes(wanted.begin(), wanted.end());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 0) continue;
    MP_REQUIRE(i < shape.size(), "%s: shape %s keeps size %zu of %s %s, which is not there", RowName(args),
               ShapeText(wanted).c_str(), i, NameOf(args, 0), ShapeText(shape).c_str());
    sizes[i] = shape[i];
  }
  return AppendFitting(args, sizes, Elements(shape), out);
}

Status squeeze(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  int64_t single = 0;
  const Dims axes = List(args, 1, &single);
  bool gone[TensorView::kMaxRank] = {};
  for (const int64_t axis : axes) {
    size_t place = 0;
    MP_RETURN_IF_ERROR(Wrap(args, axis, shape.size(), &place));
    MP_REQUIRE(shape.empty() || shape[place] == 1, "%s: dimension %zu of %s %s is not 1 and cannot be left out",
               RowName(args), place, NameOf(args, 0), ShapeText(shape).c_str());
    gone[place] = true;
  }
  out->rank = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (axes.empty() ? shape[i] == 1 : gone[i]) continue;
    out->dims[out->rank++] = shape[i];
  }
  return Ok();
}

Status unsqueeze(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  int64_t single = 0;
  const Dims axes = List(args, 1, &single);
  const size_t rank = shape.size() + axes.size();
  MP_REQUIRE(rank <= TensorView::kMaxRank, "%s: the result would have %zu dimensions; at most %zu are possible",
             RowName(args), rank, TensorView::kMaxRank);
  bool fresh[TensorView::kMaxRank] = {};
  for (const int64_t axis : axes) {
    size_t place = 0;
    MP_RETURN_IF_ERROR(Wrap(args, axis, rank, &place));
    MP_REQUIRE(!fresh[place], "%s: %s %s names a place twice", RowName(args), NameOf(args, 1), ShapeText(axes).c_str());
    fresh[place] = true;
  }
  out->rank = static_cast<uint8_t>(rank);
  for (size_t i = 0, from = 0; i < rank; ++i) out->dims[i] = fresh[i] ? 1 : shape[from++];
  return Ok();
}

Status flatten(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = Int(args, 1) < 0 ? Int(args, 1) + rank : Int(args, 1);
  MP_REQUIRE(axis >= 0 && axis <= rank, "%s: axis %lld is outside of %s %s", RowName(args),
             static_cast<long long>(Int(args, 1)), NameOf(args, 0), ShapeText(shape).c_str());
  out->rank = 2;
  out->dims[0] = Elements(shape.first(static_cast<size_t>(axis)));
  out->dims[1] = Elements(shape.subspan(static_cast<size_t>(axis)));
  return Ok();
}

Status flatten_range(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  size_t first = 0, last = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), shape.size(), &first));
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 2), shape.size(), &last));
  MP_REQUIRE(first <= last, "%s: dimensions %zu to %zu are not in order", RowName(args), first, last);
  if (shape.empty()) return one(args, out);
  MP_RETURN_IF_ERROR(Assign(args, shape.first(first), out));
  MP_RETURN_IF_ERROR(Append(args, Elements(shape.subspan(first, last - first + 1)), out));
  for (const int64_t dim : shape.subspan(last + 1)) MP_RETURN_IF_ERROR(Append(args, dim, out));
  return Ok();
}

Status permute(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims perm = Ints(args, 1);
  bool used[TensorView::kMaxRank] = {};
  MP_REQUIRE(perm.size() == shape.size(), "%s: %s %s has %zu entries; %s %s needs %zu", RowName(args), NameOf(args, 1),
             ShapeText(perm).c_str(), perm.size(), NameOf(args, 0), ShapeText(shape).c_str(), shape.size());
  out->rank = static_cast<uint8_t>(shape.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    size_t place = 0;
    MP_RETURN_IF_ERROR(Wrap(args, perm[i], shape.size(), &place));
    MP_REQUIRE(!used[place], "%s: %s %s names dimension %zu twice", RowName(args), NameOf(args, 1),
               ShapeText(perm).c_str(), place);
    used[place] = true;
    out->dims[i] = shape[place];
  }
  return Ok();
}

namespace {

Status CheckBroadcast(const InferArgs& args, bool fits) {
  MP_REQUIRE(fits, "%s: %s %s cannot be broadcast to %s", RowName(args), NameOf(args, 0),
             ShapeText(ShapeOf(args, 0)).c_str(), ShapeText(Ints(args, 1)).c_str());
  return Ok();
}

}  // namespace

Status expand_to(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, Ints(args, 1), out));
  const size_t skip = shape.size() > out->rank ? 0 : out->rank - shape.size();
  bool fits = shape.size() <= out->rank;
  for (size_t i = 0; fits && i < out->rank; ++i) {
    const int64_t own = i < skip ? 1 : shape[i - skip];
    int64_t& dim = out->dims[i];
    if (dim == -1 || dim == 1) dim = own;
    fits = dim == own || (own == 1 && dim >= 0);
  }
  return CheckBroadcast(args, fits);
}

Status broadcast_to(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, Ints(args, 1), out));
  const bool longer = shape.size() > out->rank;
  const size_t skip = longer ? 0 : out->rank - shape.size();
  bool fits = !longer;
  for (size_t i = 0; fits && i < out->rank; ++i) {
    int64_t& dim = out->dims[i];
    if (i < skip) {
      fits = dim >= 0;
    } else if (dim == -1) {
      dim = shape[i - skip];
    } else {
      fits = dim >= 0 && (shape[i - skip] == dim || shape[i - skip] == 1);
    }
  }
  return CheckBroadcast(args, fits);
}

Status repeat(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, Ints(args, 1), out));
  MP_REQUIRE(shape.size() <= out->rank, "%s: %s %s has fewer entries than %s %s has dimensions", RowName(args),
             NameOf(args, 1), ShapeText(Ints(args, 1)).c_str(), NameOf(args, 0), ShapeText(shape).c_str());
  for (const int64_t times : Ints(args, 1)) {
    MP_REQUIRE(times >= 0, "%s: %s %s has a negative entry", RowName(args), NameOf(args, 1),
               ShapeText(Ints(args, 1)).c_str());
  }
  const size_t skip = out->rank - shape.size();
  for (size_t i = 0; i < shape.size(); ++i) out->dims[skip + i] *= shape[i];
  return Ok();
}

namespace {

// Adds what stands before and after each dimension, or takes it away again. Nobody cuts off more than there is.
Status Padded(const InferArgs& args, bool away, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims paddings = Ints(args, 1);
  const bool pairs = args.from.size() < 3 || Int(args, 2) != 0;
  MP_REQUIRE(paddings.size() == 2 * shape.size(), "%s: %s has %zu entries; %s %s needs %zu", RowName(args),
             NameOf(args, 1), paddings.size(), NameOf(args, 0), ShapeText(shape).c_str(), 2 * shape.size());
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  constexpr int64_t kMax = int64_t{1} << 48;  // sums stay far from overflowing
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t before = pairs ? paddings[2 * i] : paddings[i];
    const int64_t after = pairs ? paddings[2 * i + 1] : paddings[shape.size() + i];
    const bool sane = std::abs(std::max(before, -kMax)) < kMax && std::abs(std::max(after, -kMax)) < kMax;
    const int64_t size = sane ? shape[i] + (away ? -before - after : before + after) : -1;
    const bool cuts = !away && sane && (-before > shape[i] || -after > shape[i]);
    MP_REQUIRE(sane && size >= 0 && !cuts, "%s: paddings %lld and %lld do not fit dimension %zu of %s %s",
               RowName(args), static_cast<long long>(before), static_cast<long long>(after), i, NameOf(args, 0),
               ShapeText(shape).c_str());
    out->dims[i] = size;
  }
  return Ok();
}

}  // namespace

Status pad(const InferArgs& args, Shape* out) { return Padded(args, false, out); }
Status unpad(const InferArgs& args, Shape* out) { return Padded(args, true, out); }

Status tiled(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), out->rank, &dim));
  MP_REQUIRE(out->rank > 0 && Int(args, 2) > 0, "%s: %s cannot be repeated %lld times", RowName(args), NameOf(args, 0),
             static_cast<long long>(Int(args, 2)));
  out->dims[dim] *= Int(args, 2);
  return Ok();
}

Status confused(const InferArgs& args, Shape* out) {
  const Dims perm = Ints(args, 1);
  const Dims wanted = Ints(args, 2);
  const uint8_t places[] = {args.from[0], args.from[2]};
  if (Int(args, 3) != 0) return reshape({.call = args.call, .from = places}, out);
  Shape before;
  MP_RETURN_IF_ERROR(reshape({.call = args.call, .from = places}, &before));
  MP_REQUIRE(perm.size() == before.rank, "%s: %s %s does not permute shape %s", RowName(args), NameOf(args, 1),
             ShapeText(perm).c_str(), ShapeText(wanted).c_str());
  out->rank = before.rank;
  for (size_t i = 0; i < perm.size(); ++i) {
    size_t place = 0;
    MP_RETURN_IF_ERROR(Wrap(args, perm[i], before.rank, &place));
    out->dims[i] = before.dims[place];
  }
  return Ok();
}

Status bits_as(const InferArgs& args, Shape* out) {
  MP_RETURN_IF_ERROR(same(args, out));
  const int from = BitsOf(ViewOf(args, 0).dtype);
  const int to = BitsOf(static_cast<DType>(Int(args, 1)));
  MP_REQUIRE(from > 0 && to > 0, "%s: %s has a type without a size", RowName(args), NameOf(args, from > 0 ? 1 : 0));
  if (from == to) return Ok();
  const int ratio = std::max(from, to) / std::min(from, to);
  const bool keep = Int(args, 2) != 0;
  if (from > to) {
    if (!keep) return Append(args, ratio, out);
    MP_REQUIRE(out->rank > 0, "%s: %s has no dimension that could grow", RowName(args), NameOf(args, 0));
    out->dims[out->rank - 1] *= ratio;
    return Ok();
  }
  const bool fits = out->rank > 0 && (keep ? out->dims[out->rank - 1] % ratio == 0 : out->dims[out->rank - 1] == ratio);
  MP_REQUIRE(fits, "%s: the last dimension of %s %s does not make elements that are %d times as large", RowName(args),
             NameOf(args, 0), ShapeText(ShapeOf(args, 0)).c_str(), ratio);
  if (keep) {
    out->dims[out->rank - 1] /= ratio;
  } else {
    --out->rank;
  }
  return Ok();
}

Status concat(const InferArgs& args, Shape* out) {
  const auto members = args.call.views(args.from[0]);
  MP_REQUIRE(!members.empty(), "%s: there is nothing to join", RowName(args));
  // A scalar joins as a vector of one, as GE has it.
  static constexpr int64_t kOne[] = {1};
  const auto shape_of = [&](size_t i) { return members[i].rank == 0 ? Dims(kOne) : members[i].shape(); };
  MP_RETURN_IF_ERROR(Assign(args, shape_of(0), out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), out->rank, &dim));
  for (size_t i = 1; i < members.size(); ++i) {
    const Dims shape = shape_of(i);
    bool fits = shape.size() == out->rank;
    for (size_t j = 0; fits && j < shape.size(); ++j) fits = j == dim || shape[j] == out->dims[j];
    MP_REQUIRE(fits, "%s: member %zu has shape %s, member 0 has %s; they may differ only in dimension %zu",
               RowName(args), i, ShapeText(shape).c_str(), ShapeText(members[0].shape()).c_str(), dim);
    out->dims[dim] += shape[dim];
  }
  return Ok();
}

Status stack(const InferArgs& args, Shape* out) {
  const auto members = args.call.views(args.from[0]);
  MP_REQUIRE(!members.empty(), "%s: there is nothing to stack", RowName(args));
  const Dims shape = members[0].shape();
  for (size_t i = 1; i < members.size(); ++i) {
    MP_REQUIRE(std::ranges::equal(shape, members[i].shape()), "%s: member %zu has shape %s, member 0 has %s",
               RowName(args), i, ShapeText(members[i].shape()).c_str(), ShapeText(shape).c_str());
  }
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), shape.size() + 1, &dim));
  MP_RETURN_IF_ERROR(Assign(args, shape.first(dim), out));
  MP_RETURN_IF_ERROR(Append(args, static_cast<int64_t>(members.size()), out));
  for (const int64_t size : shape.subspan(dim)) MP_RETURN_IF_ERROR(Append(args, size, out));
  return Ok();
}

Status split(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  const Dims sizes = Ints(args, 1);
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 2), shape.size(), &dim));
  int64_t sum = 0;
  int64_t open = 0;
  for (const int64_t size : sizes) (size < 0 ? open : sum) += size < 0 ? 1 : size;
  const int64_t whole = shape.empty() ? 0 : shape[dim];
  MP_REQUIRE(!shape.empty() && open <= 1 && (open == 0 ? sum == whole : sum <= whole),
             "%s: sizes %s do not add up to dimension %zu of %s %s", RowName(args), ShapeText(sizes).c_str(), dim,
             NameOf(args, 0), ShapeText(shape).c_str());
  MP_REQUIRE(args.member < sizes.size(), "%s: there are %zu sizes, but output %zu is asked for", RowName(args),
             sizes.size(), args.member);
  out->dims[dim] = sizes[args.member] < 0 ? whole - sum : sizes[args.member];
  return Ok();
}

Status split_even(const InferArgs& args, Shape* out) {
  const Dims shape = ShapeOf(args, 0);
  MP_RETURN_IF_ERROR(Assign(args, shape, out));
  size_t dim = 0;
  MP_RETURN_IF_ERROR(Wrap(args, Int(args, 1), shape.size(), &dim));
  const int64_t count = Int(args, 2);
  MP_REQUIRE(!shape.empty() && count > 0 && shape[dim] % count == 0,
             "%s: dimension %zu of %s %s cannot be split into %lld equal parts", RowName(args), dim, NameOf(args, 0),
             ShapeText(shape).c_str(), static_cast<long long>(count));
  out->dims[dim] /= count;
  return Ok();
}

Status unstack(const InferArgs& args, Shape* out) { return reduce_one(args, out); }

Status rank_of(const InferArgs& args, Shape* out) {
  const auto rank = static_cast<int64_t>(ShapeOf(args, 0).size());
  return Assign(args, {&rank, 1}, out);
}

}  // namespace millpond::infer
