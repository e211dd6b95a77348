// SPDX-License-Identifier: Apache-2.0
// The part of Verify that looks at a single node.
#ifndef MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_
#define MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Checks that its type is known and its operands and attributes match the definition; puts the operands in the
// definition's order.
Status VerifyNode(const ir::NodePtr& node, const ClientOperators& clients);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_VERIFY_NODE_H_
