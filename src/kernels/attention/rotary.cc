// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/rotary.h"

#include <numeric>
#include <string>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor Rotated(const Tensor& x, RotaryMode mode) {
  const int64_t size = x.size(-1);
  const int64_t parts = mode == RotaryMode::kQuarter ? 4 : 2;
  TORCH_CHECK(size % parts == 0, "the last dimension is ", size, "; it must be a multiple of ", parts);
  if (mode == RotaryMode::kInterleave) {
    const Tensor pairs = x.unflatten(-1, {size / 2, 2});
    return at::stack({pairs.select(-1, 1).neg(), pairs.select(-1, 0)}, -1).flatten(-2);
  }
  if (mode == RotaryMode::kQuarter) {
    const Tensor halves = x.unflatten(-1, {2, size / 2});
    return Rotated(halves, RotaryMode::kHalf).flatten(-2);
  }
  return at::cat({x.narrow(-1, size / 2, size / 2).neg(), x.narrow(-1, 0, size / 2)}, -1);
}

// Even elements in front, odd ones behind, and back.
Tensor Deinterleaved(const Tensor& x) {
  TORCH_CHECK(x.size(-1) % 2 == 0, "the last dimension is ", x.size(-1), "; it must be even");
  return x.unflatten(-1, {x.size(-1) / 2, 2}).transpose(-1, -2).flatten(-2);
}
Tensor Interleaved(const Tensor& x) { return x.unflatten(-1, {2, x.size(-1) / 2}).transpose(-1, -2).flatten(-2); }

// cos and sin may cover the front of the last dimension only.
void ApplyInPlace(Tensor& x, const Tensor& cos, const Tensor& sin, RotaryMode mode) {
  TORCH_CHECK(cos.size(-1) <= x.size(-1), "cos has ", cos.size(-1), " elements for a head of ", x.size(-1));
  Tensor front = x.narrow(-1, 0, cos.size(-1));
  front.copy_(Rotary(front, cos, sin, mode));
}

// [tokens, rotary size / 2] each, out of a cache whose rows hold cosines, then sines.
RotaryParts FromCache(const Tensor& cache, const Tensor& positions, IntArrayRef sections, int64_t cache_mode) {
  TORCH_CHECK(cache.dim() == 2 && cache.size(1) > 0 && cache.size(1) % 2 == 0, "cosSinCache has shape ", cache.sizes(),
              "; it must have rows of cosines and as many sines");
  const Tensor rows = cache.to(at::kFloat).index_select(0, Long(positions).reshape({-1}));
  if (positions.dim() == 1) {
    const auto halves = rows.chunk(2, -1);
    return {halves[0], halves[1]};
  }
  TORCH_CHECK(positions.dim() == 2, "positions has shape ", positions.sizes(), "; it must have one or two dimensions");
  const auto halves = rows.view({positions.size(0), positions.size(1), -1}).chunk(2, -1);
  TORCH_CHECK(static_cast<int64_t>(sections.size()) == positions.size(0), "positions has ", positions.size(0),
              " rows for ", sections.size(), " sections of mropeSection");
  const auto joined = [&](const Tensor& x) {
    const int64_t sum = std::accumulate(sections.begin(), sections.end(), int64_t{0});
    TORCH_CHECK(sum == x.size(-1), "mropeSection adds up to ", sum, "; half of a row of cosSinCache is ", x.size(-1));
    if (cache_mode == 0) {
      std::vector<Tensor> parts;
      int64_t start = 0;
      for (size_t i = 0; i < sections.size(); ++i) {
        parts.push_back(x.select(0, static_cast<int64_t>(i)).narrow(-1, start, sections[i]));
        start += sections[i];
      }
      return at::cat(parts, -1);
    }
    TORCH_CHECK(sections.size() == 3, "cacheMode 1 goes with three sections; there are ", sections.size());
    Tensor result = x.select(0, 0).clone();
    for (int64_t axis = 1; axis < 3; ++axis) {
      const int64_t end = std::min(sections[static_cast<size_t>(axis)] * 3, result.size(-1));
      if (axis < end) result.slice(-1, axis, end, 3).copy_(x.select(0, axis).slice(-1, axis, end, 3));
    }
    return result;
  };
  return {joined(halves[0]), joined(halves[1])};
}

void RopeFromCache(const Tensor& positions, const Tensor& query, const Tensor& key, const Tensor& cache,
                   IntArrayRef sections, int64_t head_size, bool neox, int64_t cache_mode, Tensor& query_out,
                   Tensor& key_out) {
  TORCH_CHECK(head_size > 0, "headSize is ", head_size, "; it must be positive");
  TORCH_CHECK(cache_mode == 0 || cache_mode == 1, "cacheMode is ", cache_mode,
              "; 0 (parts) and 1 (interleaved) are known");
  const RotaryParts angles = FromCache(cache, positions, sections, cache_mode);
  const auto spread = [&](const Tensor& x) {
    const Tensor both = neox ? at::cat({x, x}, -1) : at::stack({x, x}, -1).flatten(-2);
    return both.unsqueeze(1);  // for all heads
  };
  const Tensor cos = spread(angles.part);
  const Tensor sin = spread(angles.rotated);
  const auto turn = [&](const Tensor& x, Tensor& out) {
    Tensor heads = x.to(at::kFloat).reshape({cos.size(0), -1, head_size}).clone();
    ApplyInPlace(heads, cos, sin, neox ? RotaryMode::kHalf : RotaryMode::kInterleave);
    WriteElements(out, heads);
  };
  turn(query, query_out);
  turn(key, key_out);
}

// In float: the gradient of Rotary. Turning back is turning the other way.
Tensor TurnedBack(const Tensor& dy, const Tensor& cos, const Tensor& sin, RotaryMode mode) {
  const bool reordered = mode == RotaryMode::kInterleaveHalf;
  const Tensor grad = dy.to(at::kFloat);
  const Tensor turned = Rotated(grad.mul(sin.to(at::kFloat)), reordered ? RotaryMode::kHalf : mode);
  const Tensor result = grad.mul(cos.to(at::kFloat)).sub_(turned);
  return reordered ? Interleaved(result) : result;
}

struct RotaryPart {
  Tensor x, cos, sin;
};
RotaryPart PartOf(const Tensor& x, const Tensor& cos, const Tensor& sin, const OptIntArrayRef& slice) {
  const bool whole = !slice.has_value() || slice->empty();
  TORCH_CHECK(whole || slice->size() == 2, "partialSlice has ", slice->size(), " entries; it has a begin and an end");
  const int64_t begin = whole ? 0 : (*slice)[0];
  const int64_t end = whole ? x.size(-1) : (*slice)[1];
  TORCH_CHECK(0 <= begin && begin <= end && end <= x.size(-1), "partialSlice [", begin, ", ", end,
              ") does not lie within the last dimension's ", x.size(-1));
  const auto angles = [&](const char* name, const Tensor& given) {
    TORCH_CHECK(given.size(-1) == end - begin || given.size(-1) == x.size(-1), name, "'s last dimension is ",
                given.size(-1), "; it must be the part's ", end - begin, " or the whole ", x.size(-1));
    return given.size(-1) == end - begin ? given : given.slice(-1, begin, end);
  };
  return {x.slice(-1, begin, end), angles("cos", cos), angles("sin", sin)};
}

}  // namespace

RotaryMode RotaryModeFrom(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 3, "mode is ", mode, "; it must be 0 to 3");
  return static_cast<RotaryMode>(mode);
}

RotaryMode RotaryModeFrom(string_view name) {
  if (name.empty() || name == "half") return RotaryMode::kHalf;
  if (name == "interleave") return RotaryMode::kInterleave;
  if (name == "quarter") return RotaryMode::kQuarter;
  TORCH_CHECK(name == "interleave-half", "rotaryMode is '", std::string(name),
              "'; supported are half, interleave, quarter and interleave-half");
  return RotaryMode::kInterleaveHalf;
}

RotaryParts SplitRotary(const Tensor& x, RotaryMode mode) {
  if (mode != RotaryMode::kInterleaveHalf) return {x, Rotated(x, mode)};
  const Tensor part = Deinterleaved(x);
  return {part, Rotated(part, RotaryMode::kHalf)};
}

Tensor Rotary(const Tensor& x, const Tensor& cos, const Tensor& sin, RotaryMode mode) {
  const RotaryParts parts = SplitRotary(x.to(at::kFloat), mode);
  return parts.part.mul(cos.to(at::kFloat)).add_(parts.rotated.mul(sin.to(at::kFloat)));
}

MP_KERNEL(aclnnRotaryPositionEmbeddingV2, const Tensor& x, const Tensor& cos, const Tensor& sin, int64_t mode,
          const OptTensor& rotate, Tensor& out) {
  const RotaryMode known = RotaryModeFrom(mode);
  if (!rotate) {
    Write(out, Rotary(x, cos, sin, known));
    return;
  }
  const Tensor wide = x.to(at::kFloat);
  Write(out, wide.mul(cos.to(at::kFloat)).add_(at::matmul(wide, rotate->to(at::kFloat)).mul_(sin.to(at::kFloat))));
}

MP_KERNEL(aclnnRotaryPositionEmbeddingGrad, const Tensor& dy, const Tensor& cos, const Tensor& sin, const OptTensor& x,
          int64_t number, Tensor& dx, Tensor* dcos, Tensor* dsin) {
  const RotaryMode mode = RotaryModeFrom(number);
  if (x) {
    const Tensor grad = dy.to(at::kFloat);
    const RotaryParts parts = SplitRotary(x->to(at::kFloat), mode);
    if (dcos != nullptr) Write(*dcos, at::sum_to(grad.mul(parts.part), cos.sizes()));
    if (dsin != nullptr) Write(*dsin, at::sum_to(grad.mul(parts.rotated), sin.sizes()));
  } else {  // the caller wants neither
    if (dcos != nullptr) dcos->zero_();
    if (dsin != nullptr) dsin->zero_();
  }
  Write(dx, TurnedBack(dy, cos, sin, mode));
}

// cos and sin are broadcast over the tensors as they lie, whatever the layout.
MP_KERNEL(aclnnApplyRotaryPosEmbV2, Tensor& query, Tensor& key, const Tensor& cos, const Tensor& sin, int64_t layout,
          string_view name) {
  TORCH_CHECK(layout >= 1 && layout <= 4, "layout is ", layout, "; it must be 1 (BSND), 2 (SBND), 3 (BNSD) or 4 (TND)");
  const RotaryMode mode = RotaryModeFrom(name);
  TORCH_CHECK(mode != RotaryMode::kInterleaveHalf,
              "rotaryMode is 'interleave-half'; half, interleave and quarter are known");
  ApplyInPlace(query, cos, sin, mode);
  ApplyInPlace(key, cos, sin, mode);
}

// Turns the elements [begin, end) of the last dimension, all where no part is named. cos and sin are of the part, or of
// the whole dimension.
MP_KERNEL(aclnnInplacePartialRotaryMul, Tensor& x, const Tensor& cos, const Tensor& sin, OptIntArrayRef slice) {
  RotaryPart part = PartOf(x, cos, sin, slice);
  if (part.x.size(-1) != 0) Write(part.x, Rotary(part.x, part.cos, part.sin, RotaryMode::kInterleave));
}
MP_KERNEL(aclnnInplacePartialRotaryMulGrad, Tensor& dy, const Tensor& cos, const Tensor& sin, int64_t number,
          OptIntArrayRef slice) {
  RotaryPart part = PartOf(dy, cos, sin, slice);
  if (part.x.size(-1) != 0) Write(part.x, TurnedBack(part.x, part.cos, part.sin, RotaryModeFrom(number)));
}

MP_KERNEL(aclnnInterleaveRope, const Tensor& x, const Tensor& cos, const Tensor& sin, Tensor& out) {
  Write(out, Rotary(x, cos, sin, RotaryMode::kInterleaveHalf));
}

MP_KERNEL(aclnnRopeWithSinCosCacheV2, const Tensor& positions, const Tensor& query, const Tensor& key,
          const Tensor& cache, OptIntArrayRef sections, int64_t head_size, bool neox, int64_t cache_mode,
          Tensor& query_out, Tensor& key_out) {
  RopeFromCache(positions, query, key, cache, sections.value_or(IntArrayRef()), head_size, neox, cache_mode, query_out,
                key_out);
}

}  // namespace millpond::kernels
