// SPDX-License-Identifier: Apache-2.0
// Runs one node on host memory, at once: what constant folding asks for.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_HOST_H_
#define MILLPOND_SRC_EXEC_PROGRAM_HOST_H_

#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::program {

// `inputs` by place, null where absent; one tensor for each output. Refuses nodes that change an operand, wait for
// their own shape or have no kernel. pre: verified.
Status RunNodeOnHost(const ir::Node& node, std::span<const ir::TensorPtr> inputs,
                     std::vector<ir::TensorPtr>* out_outputs);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_HOST_H_
