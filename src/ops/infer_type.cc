// SPDX-License-Identifier: Apache-2.0
// Types of outputs.
#include <utility>

#include "src/ops/infer.h"
#include "src/ops/infer_tools.h"

namespace millpond::infer {

Status type_of(const InferArgs& args, DType* out) {
  const ArgKind kind = KindOf(args, 0);
  if (kind == ArgKind::kTensor || kind == ArgKind::kTensorList) {
    if (Has(args, 0)) *out = ViewOf(args, 0).dtype;
    return Ok();
  }
  constexpr int64_t kNoType = 28;  // GE's own name for a type that was not given
  if (Has(args, 0) && Int(args, 0) >= 0 && Int(args, 0) != kNoType) *out = static_cast<DType>(Int(args, 0));
  return Ok();
}

namespace {

constexpr std::pair<DType, DType> kComplexPairs[] = {
    {DType::kHalf, DType::kComplex32}, {DType::kFloat, DType::kComplex64}, {DType::kDouble, DType::kComplex128}};

// Rank in the usual order: bool, integers by width, halves, floats, complex.
int Weight(DType type) {
  switch (ClassOf(type)) {
    case kBoolTypes:
      return 0;
    case kIntTypes:
      return BitsOf(type) * 2 + (type == DType::kUint8 ? 0 : 1);
    case kHalfTypes:
      return 200 + (type == DType::kBfloat16 ? 1 : 0);
    case kFloatTypes:
      return 200 + BitsOf(type);
    case kComplexTypes:
      return 400 + BitsOf(type);
    default:
      return 0;
  }
}

}  // namespace

Status promoted(const InferArgs& args, DType* out) {
  DType best = DType::kUndefined;
  for (size_t i = 0; i < args.from.size(); ++i) {
    if (!Has(args, i)) continue;
    const DType type = ViewOf(args, i).dtype;
    // Two kinds that cannot hold each other meet in the next larger one.
    const bool halves = ClassOf(type) == kHalfTypes && ClassOf(best) == kHalfTypes;
    const bool bytes =
        (type == DType::kUint8 && best == DType::kInt8) || (type == DType::kInt8 && best == DType::kUint8);
    if (halves && type != best) {
      best = DType::kFloat;
    } else if (bytes) {
      best = DType::kInt16;
    } else if (best == DType::kUndefined || Weight(type) > Weight(best)) {
      best = type;
    }
  }
  if (best != DType::kUndefined) *out = best;
  return Ok();
}

Status common_or_float(const InferArgs& args, DType* out) {
  const auto type = [&](size_t i) { return static_cast<DType>(Int(args, i)); };
  *out = type(0);
  for (size_t i = 1; i < args.from.size(); ++i) {
    if (type(i) != *out) *out = DType::kFloat;
  }
  return Ok();
}

Status gemm_type(const InferArgs& args, DType* out) {
  const DType type = ViewOf(args, 0).dtype;
  *out = type == DType::kInt8 || type == DType::kUint8 ? DType::kInt32 : type;
  return Ok();
}

Status real_number(const InferArgs& args, DType* out) {
  const DType type = ViewOf(args, 0).dtype;
  *out = ClassOf(type) == kIntTypes || ClassOf(type) == kBoolTypes ? DType::kFloat : type;
  return Ok();
}

Status widened(const InferArgs& args, DType* out) {
  *out = ViewOf(args, 0).dtype;
  if (Int(args, 1) != 0 && ClassOf(*out) == kHalfTypes) *out = DType::kFloat;
  return Ok();
}

Status complex_of(const InferArgs& args, DType* out) {
  *out = ViewOf(args, 0).dtype;
  for (const auto& [real, complex] : kComplexPairs) {
    if (*out == real) {
      *out = complex;
      break;
    }
  }
  return Ok();
}

Status real_of(const InferArgs& args, DType* out) {
  const DType type = ViewOf(args, 0).dtype;
  *out = type;
  for (const auto& [real, complex] : kComplexPairs) {
    if (type == complex) *out = real;
  }
  return Ok();
}

}  // namespace millpond::infer
