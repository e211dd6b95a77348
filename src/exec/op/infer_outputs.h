// SPDX-License-Identifier: Apache-2.0
// Types and shapes of one node's outputs, outside of any compiled graph: for clients that ask an operator.
#ifndef MILLPOND_SRC_EXEC_OP_INFER_OUTPUTS_H_
#define MILLPOND_SRC_EXEC_OP_INFER_OUTPUTS_H_

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond {

// Reads the descriptions of the inputs, and the values of those whose source is a constant; fills in the outputs.
Status InferOutputs(const ir::NodePtr& node);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_INFER_OUTPUTS_H_
