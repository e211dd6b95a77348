// SPDX-License-Identifier: Apache-2.0
// Which types and shapes a GE operator's outputs have: the `shape`, `infer` and `dtype` lines of its row, asked through
// its `ge` line. All dimensions that come in are known.
#ifndef MILLPOND_SRC_OPS_GE_INFER_H_
#define MILLPOND_SRC_OPS_GE_INFER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/ops/door.h"

namespace millpond {

struct GeInferTensor {
  DType dtype = DType::kUndefined;  // kUndefined: absent
  std::vector<int64_t> dims;
  const void* values = nullptr;  // the elements, contiguous, where they are known on the host
  int32_t format = 2;            // of the description: where channels are; 2: nobody said
};

struct GeInferInput {
  std::vector<GeInferTensor> inputs;  // in IR order, dynamic ones one after the other; absent ones keep their place
  const Attributes* attributes = nullptr;
  // How many tensors each operand of the definition has; empty: dynamic operands share evenly what the others leave.
  std::vector<uint32_t> input_counts;
  std::vector<uint32_t> output_counts;
  // All outputs together. 0: one for each output of the definition.
  size_t outputs = 0;
};

struct GeInferOutput {
  struct Tensor {
    DType dtype = DType::kUndefined;
    std::vector<int64_t> dims;
  };
  std::vector<Tensor> outputs;  // in IR order
  bool types_known = false;     // the outputs' types are right even if the call failed, for what it says of a shape
  // The values of this input decide a shape, and they are not known: the call failed for no other reason. -1: not so.
  int needed_input = -1;
  // The real shapes are known only after the run; `dims` are as large as they can get.
  bool waits = false;
};

// Fails with the operator, the operand and what was expected. An operator that has no row is kUnsupported.
Status InferGe(std::string_view type, const GeInferInput& in, GeInferOutput* out);

// The outputs of a GE type that no rule speaks of; empty when InferGe can answer for all of them. For tests.
std::vector<std::string_view> OutputsWithoutRule(const OpRow& row, const DoorBinding& binding);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_GE_INFER_H_
