// SPDX-License-Identifier: Apache-2.0
// A small program of elementwise operations, as the graph compiler writes it (src/graph/passes/fuse_chains.cc) and the
// kernel runs it (src/kernels/tensor/fused_chain.cc). Each instruction is three integers: what it does, and its two
// operands; one that takes a single operand has it twice. Operands count the inputs first, then the results of the
// instructions; negative ones count a list of numbers: -1 is its first. The last instruction's result is the program's.
#ifndef MILLPOND_SRC_OPS_CHAIN_H_
#define MILLPOND_SRC_OPS_CHAIN_H_

#include <cstddef>
#include <cstdint>

namespace millpond::chain {

enum class Op : int64_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaximum,
  kMinimum,
  kPow,
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSquare,
  kRelu,
  kSigmoid,
  kTanh,
  kErf,
  kGelu,      // by erf
  kGeluTanh,  // by its approximation
  kSwish,
  kHardSwish,
  kOps,  // how many there are
};

inline constexpr size_t kMaxInputs = 8;
inline constexpr size_t kMaxInstructions = 32;
inline constexpr size_t kMaxNumbers = 32;
inline constexpr size_t kInstructionInts = 3;

}  // namespace millpond::chain

#endif  // MILLPOND_SRC_OPS_CHAIN_H_
