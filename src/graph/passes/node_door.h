// SPDX-License-Identifier: Apache-2.0
// From a node to the operator table's door: attributes in its terms and how many tensors each operand has.
#ifndef MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_
#define MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/ops/door.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {

// Attributes that the table has no kind for (tensors, graphs) are left out.
millpond::Attributes DoorAttributes(const ir::Node& node);

// How many of `names` (operands by place; dynamic ones are name0, name1, ...) each operand of the definition has. Where
// a name does not tell, the place does. False when they do not fit.
bool CountOperands(std::span<const GeOperand> operands, std::span<const std::string_view> names,
                   std::vector<uint32_t>* out_counts);

// What of a node never changes from run to run.
struct NodeDoor {
  millpond::Attributes attributes;
  std::vector<uint32_t> input_counts;  // empty where the definition is not known
  std::vector<uint32_t> output_counts;
};
// pre: verified.
NodeDoor DoorOf(const ir::Node& node);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_NODE_DOOR_H_
