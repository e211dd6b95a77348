// SPDX-License-Identifier: Apache-2.0
// What Verify asks of one node alone.
#ifndef MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_
#define MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Its type is known, its operands and attributes fit the definition; puts the operands in the definition's order.
Status VerifyNode(const ir::NodePtr& node, const ClientOperators& clients);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_
