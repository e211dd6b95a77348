// SPDX-License-Identifier: Apache-2.0
#include "src/ops/infer.h"

#include <algorithm>

#include "src/ops/call.h"

namespace millpond::infer {
namespace {

const char* NameOf(const OpCall& call, uint8_t place) { return call.row().args[place].name; }

void Assign(std::span<const int64_t> dims, Shape* out) {
  out->rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out->dims);
}

// Widens *out to cover dims too. pre: both have at most kMaxRank dimensions.
bool Widen(std::span<const int64_t> dims, Shape* out) {
  if (dims.size() > out->rank) {
    const size_t more = dims.size() - out->rank;
    std::copy_backward(out->dims, out->dims + out->rank, out->dims + dims.size());
    std::fill(out->dims, out->dims + more, 1);
    out->rank = static_cast<uint8_t>(dims.size());
  }
  const size_t skip = out->rank - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t& have = out->dims[skip + i];
    if (have == dims[i] || dims[i] == 1) continue;
    if (have != 1) return false;
    have = dims[i];
  }
  return true;
}

}  // namespace

Status same(const OpCall& call, std::span<const uint8_t> from, Shape* out) {
  Assign(call.view(from[0]).shape(), out);
  return Ok();
}

Status broadcast(const OpCall& call, std::span<const uint8_t> from, Shape* out) {
  out->rank = 0;
  uint8_t last = from[0];
  for (const uint8_t place : from) {
    if (!call.has(place)) continue;
    const auto dims = call.view(place).shape();
    MP_REQUIRE(Widen(dims, out), "%s: shape %s of %s cannot be broadcast with %s's; the sizes must be equal or 1",
               call.row().name, ShapeText(dims).c_str(), NameOf(call, place), NameOf(call, last));
    last = place;
  }
  return Ok();
}

Status reduce(const OpCall& call, std::span<const uint8_t> from, Shape* out) {
  const auto shape = call.view(from[0]).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  const bool keep = call.integer(from[2]) != 0;
  bool gone[TensorView::kMaxRank] = {};
  const bool is_list = call.row().args[from[1]].kind == ArgKind::kInts;
  const int64_t single = is_list ? 0 : call.integer(from[1]);
  const auto dims = is_list ? (call.has(from[1]) ? call.ints(from[1]) : std::span<const int64_t>())
                            : std::span<const int64_t>(&single, 1);
  for (const int64_t dim : dims) {
    const int64_t bound = std::max<int64_t>(rank, 1);
    MP_REQUIRE(dim >= -bound && dim < bound,
               "%s: dimension %lld is out of range; %s has %lld, so it must be in [%lld, %lld]", call.row().name,
               static_cast<long long>(dim), NameOf(call, from[0]), static_cast<long long>(rank),
               static_cast<long long>(-bound), static_cast<long long>(bound - 1));
    gone[dim < 0 ? dim + bound : dim] = true;
  }
  if (dims.empty()) std::fill(std::begin(gone), std::end(gone), true);
  out->rank = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!gone[i]) {
      out->dims[out->rank++] = shape[i];
    } else if (keep) {
      out->dims[out->rank++] = 1;
    }
  }
  return Ok();
}

Status matmul(const OpCall& call, std::span<const uint8_t> from, Shape* out) {
  const auto a = call.view(from[0]).shape();
  const auto b = call.view(from[1]).shape();
  MP_REQUIRE(!a.empty() && !b.empty(), "%s: %s has no dimensions; a product needs at least one", call.row().name,
             NameOf(call, a.empty() ? from[0] : from[1]));
  const int64_t inner_a = a.back();
  const int64_t inner_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  MP_REQUIRE(inner_a == inner_b, "%s: %s %s and %s %s do not multiply: %lld columns against %lld rows", call.row().name,
             NameOf(call, from[0]), ShapeText(a).c_str(), NameOf(call, from[1]), ShapeText(b).c_str(),
             static_cast<long long>(inner_a), static_cast<long long>(inner_b));
  Assign(a.first(a.size() < 2 ? 0 : a.size() - 2), out);
  MP_REQUIRE(Widen(b.first(b.size() < 2 ? 0 : b.size() - 2), out),
             "%s: the leading dimensions of %s %s and %s %s cannot be broadcast", call.row().name,
             NameOf(call, from[0]), ShapeText(a).c_str(), NameOf(call, from[1]), ShapeText(b).c_str());
  if (a.size() > 1) out->dims[out->rank++] = a[a.size() - 2];
  if (b.size() > 1) out->dims[out->rank++] = b.back();
  return Ok();
}

Status scalar(const OpCall&, std::span<const uint8_t>, Shape* out) {
  out->rank = 0;
  return Ok();
}

}  // namespace millpond::infer
