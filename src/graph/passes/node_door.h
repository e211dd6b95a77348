// SPDX-License-Identifier: Apache-2.0
// From a node to the operator table's door: attributes in its terms and how many tensors each operand has.
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

// Kinds that no row takes (tensors, graphs) are left out.
millpond::Attributes DoorAttributes(const ir::Attributes& attributes);

// The operand of the definition that each place belongs to, told by the names at the places (dynamic operands are
// name0, name1, ...) or, when some name tells nothing, by the places alone. False when there are too many or too few.
bool MatchOperands(std::span<const GeOperand> operands, std::span<const std::string_view> names,
                   std::vector<uint32_t>* out_operands);
std::vector<std::string_view> InputNames(const ir::Node& node);
std::vector<std::string_view> OutputNames(const ir::Node& node);

// What of a node never changes from run to run.
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
