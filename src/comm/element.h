// SPDX-License-Identifier: Apache-2.0
// Types of the elements that collectives move, and reductions over ranks. Numbered as HCCL numbers them.
#ifndef MILLPOND_SRC_COMM_ELEMENT_H_
#define MILLPOND_SRC_COMM_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace millpond::comm {

enum class Element : uint32_t {
  kInt8 = 0,
  kInt16 = 1,
  kInt32 = 2,
  kFloat16 = 3,
  kFloat32 = 4,
  kInt64 = 5,
  kUint64 = 6,
  kUint8 = 7,
  kUint16 = 8,
  kUint32 = 9,
  kFloat64 = 10,
  kBfloat16 = 11,
  kInt128 = 12,
  kHifloat8 = 14,
  kFloat8E4M3 = 15,
  kFloat8E5M2 = 16,
  kFloat8E8M0 = 17,
};
enum class Reduction : uint32_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kNone = 255 };

// Any number, also one that another rank wrote.
std::string ElementName(uint32_t element);
std::string ReductionName(uint32_t reduction);
// Of one element; 0 for a number that is no type.
size_t ElementBytes(uint32_t element);

// out[i] = ((parts[0][i] op parts[1][i]) op parts[2][i]) ...: in the order of the ranks, whoever computes it, so every
// rank has the same bits. Integers wrap. Halves are added up as floats and rounded once; a NaN anywhere gives NaN.
// `out` may be one of the parts. pre: the type has reductions; all addresses can be touched.
void Reduce(Reduction op, Element type, std::span<const void* const> parts, void* out, size_t bytes);

// The same in steps, with the same bits: `before` is what the steps before have left, or null. Unless this is the last,
// `out` gets what is computed with, ComputedScale times as large. `bytes` are those of the parts.
struct ReduceStep {
  const void* before = nullptr;
  bool is_last = true;
};
void Reduce(Reduction op, Element type, ReduceStep step, std::span<const void* const> parts, void* out, size_t bytes);
size_t ComputedScale(Element type);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_ELEMENT_H_
