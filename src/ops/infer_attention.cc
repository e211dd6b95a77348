// SPDX-License-Identifier: Apache-2.0
// Attention by its layouts (B batches, S sequence, N heads, D head size, H = N * D, T tokens), and experts.
#include <string>
#include <string_view>
#include <utility>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

struct Sizes {
  bool packed = false;  // T, no B and S
  int64_t b = 1, s = 1, t = 0, n = 0, d = 0;
};

using SizeField = int64_t Sizes::*;

// Null for H, which is two of them, and for letters that are not known.
SizeField FieldOf(char letter) {
  constexpr std::pair<char, SizeField> kFields[] = {
      {'B', &Sizes::b}, {'S', &Sizes::s}, {'T', &Sizes::t}, {'N', &Sizes::n}, {'D', &Sizes::d}};
  for (const auto& [known, field] : kFields) {
    if (known == letter) return field;
  }
  return nullptr;
}

Status ReadLayout(const InferArgs& args, size_t which, std::string_view layout, int64_t heads, Sizes* out) {
  const Dims dims = ShapeOf(args, which);
  MP_REQUIRE(dims.size() == layout.size() && heads > 0, "%s: %s has shape %s, which is not %s with %lld heads",
             RowName(args), NameOf(args, which), ShapeText(dims).c_str(), std::string(layout).c_str(),
             static_cast<long long>(heads));
  out->n = heads;
  for (size_t i = 0; i < layout.size(); ++i) {
    if (layout[i] == 'H') {
      out->d = dims[i] / heads;
      continue;
    }
    const SizeField field = FieldOf(layout[i]);
    if (field == nullptr) {
      return InvalidArgument(std::string(RowName(args)) + ": the layout '" + std::string(layout) + "' is not known");
    }
    out->*field = dims[i];
    out->packed |= layout[i] == 'T';
  }
  return Ok();
}

Status WriteLayout(const InferArgs& args, std::string_view layout, const Sizes& sizes, Shape* out) {
  out->rank = 0;
  for (const char letter : layout) {
    const SizeField field = FieldOf(letter);
    MP_RETURN_IF_ERROR(Append(args, field != nullptr ? sizes.*field : sizes.n * sizes.d, out));
  }
  return Ok();
}

Status Statistics(const InferArgs& args, const Sizes& sizes, int64_t last, Shape* out) {
  const int64_t packed[] = {sizes.t, sizes.n, last};
  const int64_t batched[] = {sizes.b, sizes.n, sizes.s, last};
  return sizes.packed ? Assign(args, packed, out) : Assign(args, batched, out);
}

// "BNSD_BSND": in one layout, out in another.
struct Layouts {
  std::string_view in, out;
};
Layouts SplitLayout(std::string_view layout) {
  const size_t bar = layout.find('_');
  if (bar == std::string_view::npos) return {layout, layout};
  return {layout.substr(0, bar), layout.substr(bar + 1)};
}

Status InferOut(const InferArgs& args, bool paged, int64_t heads, int64_t key_heads, std::string_view layout,
                Shape* out) {
  const Layouts layouts = SplitLayout(layout);
  Sizes sizes;
  MP_RETURN_IF_ERROR(ReadLayout(args, 0, layouts.in, heads, &sizes));
  const Dims value = ShapeOf(args, 1);
  if (!paged && value.size() == layouts.in.size()) {
    const int64_t of_values = key_heads > 0 ? key_heads : heads;
    sizes.d = layouts.in.back() == 'H' ? value.back() / of_values : value.back();
  }
  return WriteLayout(args, layouts.out, sizes, out);
}

// As x with other rows in front: those of dimension 0 become `dims`.
Status WithRows(const InferArgs& args, Dims dims, Shape* out) {
  MP_RETURN_IF_ERROR(Assign(args, dims, out));
  const Dims x = ShapeOf(args, 0);
  for (size_t i = 1; i < x.size(); ++i) MP_RETURN_IF_ERROR(Append(args, x[i], out));
  return Ok();
}

struct Routed {
  bool padded = false;
  int64_t rows = 0, experts = 0, capacity = 0;
};
// (x, choices, most, capacity, experts, padded)
Routed RoutedOf(const InferArgs& args) {
  Routed routed;
  routed.rows = Elements(ShapeOf(args, 1));
  if (Int(args, 2) > 0) routed.rows = std::min(routed.rows, Int(args, 2));
  routed.capacity = Int(args, 3);
  routed.experts = Int(args, 4);
  routed.padded = Int(args, 5) != 0;
  return routed;
}

}  // namespace

Status flash_stats(const InferArgs& args, Shape* out) {
  Sizes sizes;
  MP_RETURN_IF_ERROR(ReadLayout(args, 0, TextOf(args, 2), Int(args, 1), &sizes));
  return Statistics(args, sizes, 8, out);
}

Status flash_out(const InferArgs& args, Shape* out) {
  const std::string_view layout = TextOf(args, 4);
  Sizes sizes;
  MP_RETURN_IF_ERROR(ReadLayout(args, 0, layout, Int(args, 3), &sizes));
  const Dims key = ShapeOf(args, 1);
  const Dims value = ShapeOf(args, 2);
  MP_REQUIRE(!key.empty() && !value.empty() && key.back() > 0, "%s: %s has shape %s and %s %s", RowName(args),
             NameOf(args, 1), ShapeText(key).c_str(), NameOf(args, 2), ShapeText(value).c_str());
  // Values may have heads of another size; with H their number follows from the keys.
  sizes.d = layout.back() == 'H' ? value.back() * sizes.d / key.back() : value.back();
  return WriteLayout(args, layout, sizes, out);
}

Status infer_attention(const InferArgs& args, Shape* out) {
  return InferOut(args, Has(args, 2), Int(args, 3), Int(args, 4), TextOf(args, 5), out);
}
Status infer_attention_one(const InferArgs& args, Shape* out) {
  return InferOut(args, /*paged=*/false, Int(args, 2), Int(args, 3), TextOf(args, 4), out);
}
Status attention_lse(const InferArgs& args, Shape* out) {
  const int64_t one = 1;
  if (Int(args, 3) == 0) return Assign(args, {&one, 1}, out);
  Sizes sizes;
  MP_RETURN_IF_ERROR(ReadLayout(args, 0, SplitLayout(TextOf(args, 2)).in, Int(args, 1), &sizes));
  return Statistics(args, sizes, 1, out);
}

Status chosen_keys(const InferArgs& args, Shape* out) {
  const Dims query = ShapeOf(args, 0);
  const Dims key = ShapeOf(args, 1);
  MP_REQUIRE(query.size() >= 3 && key.size() >= 3, "%s: %s has shape %s and %s %s", RowName(args), NameOf(args, 0),
             ShapeText(query).c_str(), NameOf(args, 1), ShapeText(key).c_str());
  // All but heads and their size; heads of the keys; the chosen.
  MP_RETURN_IF_ERROR(Assign(args, query.first(query.size() - 2), out));
  MP_RETURN_IF_ERROR(Append(args, key[key.size() - 2], out));
  return Append(args, Int(args, 4), out);
}

Status sparse_stats(const InferArgs& args, Shape* out) {
  const int64_t none = 0;
  if (Int(args, 4) == 0) return Assign(args, {&none, 1}, out);
  const Dims query = ShapeOf(args, 0);
  const Dims key = ShapeOf(args, 1);
  MP_REQUIRE(query.size() >= 3 && key.size() >= 3, "%s: %s has shape %s and %s %s", RowName(args), NameOf(args, 0),
             ShapeText(query).c_str(), NameOf(args, 1), ShapeText(key).c_str());
  const int64_t heads = query[query.size() - 2];
  const int64_t key_heads = key[key.size() - 2];
  const int64_t share = key_heads > 0 ? heads / key_heads : 0;
  const int64_t packed[] = {key_heads, query[0], share};
  const int64_t batched[] = {query[0], key_heads, query[1], share};
  return query.size() == 3 ? Assign(args, packed, out) : Assign(args, batched, out);
}

Status expanded_rows(const InferArgs& args, Shape* out) {
  int64_t rows = Elements(ShapeOf(args, 1));
  if (Int(args, 2) > 0) rows = std::min(rows, KindOf(args, 0) == ArgKind::kTensor ? Int(args, 2) : rows);
  return WithRows(args, {&rows, 1}, out);
}
Status chosen_rows(const InferArgs& args, Shape* out) {
  const Dims choices = ShapeOf(args, 1);
  MP_REQUIRE(choices.size() == 2, "%s: the experts have shape %s; it must be tokens by choices", RowName(args),
             ShapeText(choices).c_str());
  const int64_t rows = std::min(choices[0], std::max<int64_t>(Int(args, 2), 0)) * choices[1];
  return WithRows(args, {&rows, 1}, out);
}
Status routed_rows(const InferArgs& args, Shape* out) {
  const Routed routed = RoutedOf(args);
  const int64_t padded[] = {routed.experts, routed.capacity};
  return routed.padded ? WithRows(args, padded, out) : WithRows(args, {&routed.rows, 1}, out);
}
Status routed_scales(const InferArgs& args, Shape* out) {
  const Routed routed = RoutedOf(args);
  const int64_t count = routed.padded ? routed.experts * routed.capacity : routed.rows;
  return Assign(args, {&count, 1}, out);
}
Status routed_type(const InferArgs& args, DType* out) {
  *out = Int(args, 1) < 0 ? ViewOf(args, 0).dtype : DType::kInt8;
  return Ok();
}

Status expert_counts(const InferArgs& args, Shape* out) {
  constexpr int64_t kPairs = 2;
  const bool ranged = Has(args, 1) && Ints(args, 1).size() == 2;
  const int64_t experts = ranged ? Ints(args, 1)[1] - Ints(args, 1)[0] : Int(args, 0);
  const int64_t pairs[] = {Int(args, 0), 2};
  return Int(args, 2) == kPairs ? Assign(args, pairs, out) : Assign(args, {&experts, 1}, out);
}

Status finalized_rows(const InferArgs& args, Shape* out) {
  const Dims expanded = ShapeOf(args, 0);
  MP_REQUIRE(!expanded.empty(), "%s: %s has no dimensions", RowName(args), NameOf(args, 0));
  int64_t rows = Elements(ShapeOf(args, 1));
  if (Has(args, 3)) {
    rows = ShapeOf(args, 3).empty() ? rows : ShapeOf(args, 3)[0];
  } else if (Has(args, 2)) {
    rows = ShapeOf(args, 2).empty() ? rows : ShapeOf(args, 2)[0];
  }
  const int64_t dims[] = {rows, expanded.back()};
  return Assign(args, dims, out);
}
Status scales_of(const InferArgs& args, Shape* out) {
  return Has(args, 0) ? Assign(args, ShapeOf(args, 0), out) : Assign(args, ShapeOf(args, 1).first(1), out);
}

Status merged_choices(const InferArgs& args, Shape* out) {
  MP_REQUIRE(Int(args, 2) > 0, "%s: %s is %lld; it must be positive", RowName(args), NameOf(args, 2),
             static_cast<long long>(Int(args, 2)));
  const int64_t rows = Elements(ShapeOf(args, 1)) / Int(args, 2);
  return WithRows(args, {&rows, 1}, out);
}
Status merged_tokens(const InferArgs& args, Shape* out) {
  const int64_t rows = Has(args, 2) && !ShapeOf(args, 2).empty() ? ShapeOf(args, 2)[0] : Elements(ShapeOf(args, 1));
  return WithRows(args, {&rows, 1}, out);
}

}  // namespace millpond::infer
