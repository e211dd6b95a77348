// SPDX-License-Identifier: Apache-2.0
// Element types and formats, with CANN's numbering, so that no door needs a table (src/api checks that).
#ifndef MILLPOND_SRC_BASE_DTYPE_H_
#define MILLPOND_SRC_BASE_DTYPE_H_

#include <cstddef>
#include <cstdint>

namespace millpond {

enum class DType : int8_t {
  kUndefined = -1,
  kFloat = 0,
  kHalf = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kInt64 = 9,
  kUint64 = 10,
  kDouble = 11,
  kBool = 12,
  kString = 13,
  kComplex64 = 16,
  kComplex128 = 17,
  kBfloat16 = 27,
  kInt4 = 29,
  kUint1 = 30,
  kComplex32 = 33,
  kHifloat8 = 34,
  kFloat8E5m2 = 35,
  kFloat8E4m3 = 36,
  kFloat8E8m0 = 37,
  kFloat6E3m2 = 38,
  kFloat6E2m3 = 39,
  kFloat4E2m1 = 40,
  kFloat4E1m2 = 41,
};

// Sets of types, as the operator table names them.
enum TypeClass : uint8_t { kHalfTypes = 1, kFloatTypes = 2, kIntTypes = 4, kBoolTypes = 8, kComplexTypes = 16 };

// The class of a type; 0 for those without one.
constexpr uint8_t ClassOf(DType type) {
  switch (type) {
    case DType::kHalf:
    case DType::kBfloat16:
      return kHalfTypes;
    case DType::kFloat:
    case DType::kDouble:
      return kFloatTypes;
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return kIntTypes;
    case DType::kBool:
      return kBoolTypes;
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
      return kComplexTypes;
    default:
      return 0;
  }
}

// Bits of one element; 0 for non-numeric (strings) or unknown types.
constexpr int BitsOf(DType type) {
  switch (type) {
    case DType::kUint1:
      return 1;
    case DType::kInt4:
    case DType::kFloat4E2m1:
    case DType::kFloat4E1m2:
      return 4;
    case DType::kFloat6E3m2:
    case DType::kFloat6E2m3:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kBool:
    case DType::kHifloat8:
    case DType::kFloat8E5m2:
    case DType::kFloat8E4m3:
    case DType::kFloat8E8m0:
      return 8;
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kInt16:
    case DType::kUint16:
      return 16;
    case DType::kFloat:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kComplex32:
      return 32;
    case DType::kInt64:
    case DType::kUint64:
    case DType::kDouble:
    case DType::kComplex64:
      return 64;
    case DType::kComplex128:
      return 128;
    case DType::kUndefined:
    case DType::kString:
      return 0;
  }
  return 0;
}

// Calls `visit` with a zero of the C++ type that elements of an integer type have; false for other types, bool among
// them.
template <class Visit>
bool VisitInteger(DType type, const Visit& visit) {
  const auto visited = [&](DType integer, auto zero) {
    if (type == integer) visit(zero);
    return type == integer;
  };
  return visited(DType::kInt8, int8_t{}) || visited(DType::kUint8, uint8_t{}) || visited(DType::kInt16, int16_t{}) ||
         visited(DType::kUint16, uint16_t{}) || visited(DType::kInt32, int32_t{}) ||
         visited(DType::kUint32, uint32_t{}) || visited(DType::kInt64, int64_t{}) ||
         visited(DType::kUint64, uint64_t{});
}

const char* DTypeName(DType type);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_DTYPE_H_
