// SPDX-License-Identifier: Apache-2.0
// Converts a node for the operator table's door: its attributes, and how many tensors each operand has.
#ifndef MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_
#define MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/ops/door.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {

// Kinds that no row uses (tensors, graphs) are omitted.
millpond::Attributes DoorAttributes(const ir::Attributes& attributes);

// The definition's operand for each index, from the names (dynamic operands are name0, name1, ...) or, when a
// name does not match, from the positions alone. False when there are too many or too few.
bool MatchOperands(std::span<const GeOperand> operands, std::span<const std::string_view> names,
                   std::vector<uint32_t>* out_operands);
std::vector<std::string_view> InputNames(const ir::Node& node);
std::vector<std::string_view> OutputNames(const ir::Node& node);

// The parts of a node that never change between runs.
struct NodeDoor {
  millpond::Attributes attributes;
  // How many tensors each operand of the definition has; empty where there is no definition.
  std::vector<uint32_t> input_counts;
  std::vector<uint32_t> output_counts;
};
// pre: verified.
NodeDoor DoorOf(const ir::Node& node);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_
