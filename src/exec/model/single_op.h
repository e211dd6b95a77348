// SPDX-License-Identifier: Apache-2.0
// One operator as a graph.
#ifndef MILLPOND_SRC_EXEC_MODEL_SINGLE_OP_H_
#define MILLPOND_SRC_EXEC_MODEL_SINGLE_OP_H_

#include "src/base/status.h"
#include "src/graph/io/om.h"
#include "src/graph/ir/graph.h"

namespace millpond {

// A Data node for each operand that is given (a Const for one with a fixed value), the operator, and its outputs.
// Operands that nobody named get the names of the definition, by place.
Status GraphOfOne(const io::OmSingleOp& op, ir::GraphPtr* out);

// The operator is known and takes operands and attributes like these.
Status CheckSingleOp(const io::OmSingleOp& op);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_SINGLE_OP_H_
