// SPDX-License-Identifier: Apache-2.0
// From another door to a row: a GE node's (or a single operator's) inputs, outputs and attributes become the row's
// arguments, as the row's `ge` line says.
#ifndef MILLPOND_SRC_OPS_DOOR_H_
#define MILLPOND_SRC_OPS_DOOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "src/base/status.h"
#include "src/base/tensor_view.h"
#include "src/ops/call.h"
#include "src/ops/row.h"

namespace millpond {

using AttrValue =
    std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>, std::vector<double>,
                 std::vector<bool>, std::vector<std::string>, std::vector<DType>, std::vector<std::vector<int64_t>>>;
using Attributes = std::map<std::string, AttrValue, std::less<>>;

struct DoorTensor {
  TensorView view;  // dtype kUndefined: absent
  // The values, where they are known on the host: needed when the row wants numbers and the door gives a tensor.
  const void* values = nullptr;
};

struct DoorArguments {
  std::vector<DoorTensor> inputs;  // in the door's order, dynamic ones one after the other
  std::vector<DoorTensor> outputs;
  Attributes attributes;
  // How many tensors each of the door's operands has. Empty: dynamic operands share evenly what the others leave.
  std::vector<uint32_t> input_counts;
  std::vector<uint32_t> output_counts;
};

// Fills the call. Fails with the name of the argument that is missing or of another kind.
Status CallFromDoor(const OpRow& row, const DoorBinding& binding, const DoorArguments& given, OpCall* call);

// An argument of the row that wants numbers from an input whose values are not known.
struct UnknownArgument {
  uint8_t place;  // in the row
  size_t input;   // in DoorArguments::inputs
};
// The same for asking only: such arguments are left out of the call and told instead.
Status CallFromDoor(const OpRow& row, const DoorBinding& binding, const DoorArguments& given, OpCall* call,
                    std::vector<UnknownArgument>* out_unknown);

// The places in given.inputs whose values the row wants as numbers when it is launched: in order, each once, absent
// ones left out.
std::vector<size_t> ValueInputs(const OpRow& row, const DoorBinding& binding, const DoorArguments& given);

// How many tensors each dynamic operand has when `given` are shared out evenly. Operands at the end may be left out.
size_t EvenShare(std::span<const DoorOperand> operands, size_t given);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_DOOR_H_
