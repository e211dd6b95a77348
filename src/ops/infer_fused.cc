// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

std::string_view Text(const InferArgs& args, size_t which) { return args.call.text(args.from[which]); }

// An addend that was as large when the graph was compiled, as far as its dimensions were known.
Status Added(const InferArgs& args, size_t which, Shape* out) {
  if (!Has(args, which)) return Ok();
  MP_REQUIRE(Widen(ShapeOf(args, which), out), "%s: the addend's shape cannot be broadcast with the result's",
             RowName(args));
  return Ok();
}

// The size of the dimension that a layout gives this letter.
Status SizeOf(const InferArgs& args, Dims shape, std::string_view layout, char letter, int64_t* out) {
  const size_t at = layout.find(letter);
  MP_REQUIRE(shape.size() == 4 && layout.size() == 4 && at < 4, "%s: layout '%.*s' of a tensor with %zu dimensions",
             RowName(args), static_cast<int>(layout.size()), layout.data(), shape.size());
  *out = shape[at];
  return Ok();
}

}  // namespace

Status fused_conv(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  const Dims filter = Ints(args, 1);
  const Dims strides = Ints(args, 2);
  const Dims pads = Ints(args, 3);
  const Dims dilations = Ints(args, 4);
  const bool last = Int(args, 5) != 0;
  MP_REQUIRE(x.size() == 4 && filter.size() == 4, "%s: x has %zu and the filter %zu dimensions; both need 4",
             RowName(args), x.size(), filter.size());
  MP_REQUIRE(strides.size() == 2 && pads.size() == 4 && dilations.size() == 2,
             "%s: %zu strides, %zu pads and %zu dilations; 2, 4 and 2 are needed", RowName(args), strides.size(),
             pads.size(), dilations.size());
  int64_t sizes[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    MP_REQUIRE(strides[i] > 0 && dilations[i] > 0 && filter[i + 2] > 0,
               "%s: stride, dilation and filter must be positive", RowName(args));
    const int64_t room = x[i + (last ? 1 : 2)] + pads[i] + pads[i + 2] - dilations[i] * (filter[i + 2] - 1) - 1;
    MP_REQUIRE(room >= 0, "%s: the filter is larger than the padded input", RowName(args));
    sizes[i] = room / strides[i] + 1;
  }
  const int64_t first[] = {x[0], filter[0], sizes[0], sizes[1]};
  const int64_t channels_last[] = {x[0], sizes[0], sizes[1], filter[0]};
  MP_RETURN_IF_ERROR(Assign(args, last ? channels_last : first, out));
  return Added(args, 6, out);
}

Status listed(const InferArgs& args, Shape* out) { return Assign(args, Ints(args, 0), out); }

Status with_columns(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(!x.empty(), "%s: x has no dimension", RowName(args));
  for (size_t i = 0; i + 1 < x.size(); ++i) MP_RETURN_IF_ERROR(Append(args, x[i], out));
  MP_RETURN_IF_ERROR(Append(args, Int(args, 1), out));
  return Added(args, 2, out);
}

Status attended(const InferArgs& args, Shape* out) {
  // Scores are [b, h, s, columns]: batches, heads and rows may also be the mask's, or a key's that q is repeated for.
  Shape sizes;  // b, h, s, d
  sizes.rank = 4;
  for (const size_t which : {0, 1, 2}) {
    for (size_t i = 0; i < 4; ++i) {
      if ((i == 2 && which != 0) || (i == 3 && which != 2)) continue;
      int64_t size = 0;
      MP_RETURN_IF_ERROR(SizeOf(args, ShapeOf(args, which), Text(args, which + 4), "bhsd"[i], &size));
      const bool first = which == 0 || i == 3;
      const int64_t before = first ? size : sizes.dims[i];
      MP_REQUIRE(before == size || before == 1 || size == 1, "%s: %lld and %lld batches or heads do not go together",
                 RowName(args), static_cast<long long>(before), static_cast<long long>(size));
      sizes.dims[i] = before == 1 ? size : before;
    }
  }
  if (Has(args, 3)) {
    const Dims mask = ShapeOf(args, 3);
    for (size_t i = 0; i < 3 && i + mask.size() < 8; ++i) {
      if (i + mask.size() < 4) continue;  // it has no such dimension
      const int64_t size = mask[i + mask.size() - 4];
      if (size != 1 && sizes.dims[i] == 1) sizes.dims[i] = size;
    }
  }
  for (const char letter : Text(args, 7)) {
    const size_t at = std::string_view("bhsd").find(letter);
    MP_REQUIRE(at < 4, "%s: layout '%.*s'", RowName(args), static_cast<int>(Text(args, 7).size()),
               Text(args, 7).data());
    MP_RETURN_IF_ERROR(Append(args, sizes.dims[at], out));
  }
  return Ok();
}

Status broadcast_all(const InferArgs& args, Shape* out) {
  out->rank = 0;
  const auto members = args.call.views(args.from[0]);
  MP_REQUIRE(!members.empty(), "%s: it has no input", RowName(args));
  for (size_t i = 0; i < members.size(); ++i) {
    MP_REQUIRE(Widen(members[i].shape(), out), "%s: the shape of input %zu cannot be broadcast with those before it",
               RowName(args), i);
  }
  return Ok();
}

}  // namespace millpond::infer
