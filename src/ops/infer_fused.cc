// SPDX-License-Identifier: Apache-2.0
#include "src/ops/infer_fused.h"

#include <string_view>

#include "src/ops/infer_tools.h"

namespace millpond::infer {
namespace {

std::string_view Text(const InferArgs& args, size_t which) { return args.call.text(args.from[which]); }

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
  return Assign(args, last ? channels_last : first, out);
}

Status listed(const InferArgs& args, Shape* out) { return Assign(args, Ints(args, 0), out); }

Status with_columns(const InferArgs& args, Shape* out) {
  const Dims x = ShapeOf(args, 0);
  MP_REQUIRE(!x.empty(), "%s: x has no dimension", RowName(args));
  for (size_t i = 0; i + 1 < x.size(); ++i) MP_RETURN_IF_ERROR(Append(args, x[i], out));
  return Append(args, Int(args, 1), out);
}

Status attended(const InferArgs& args, Shape* out) {
  for (const char letter : Text(args, 4)) {
    int64_t size = 0;
    MP_RETURN_IF_ERROR(letter == 'd' ? SizeOf(args, ShapeOf(args, 1), Text(args, 3), 'd', &size)
                                     : SizeOf(args, ShapeOf(args, 0), Text(args, 2), letter, &size));
    MP_RETURN_IF_ERROR(Append(args, size, out));
  }
  return Ok();
}

}  // namespace millpond::infer
