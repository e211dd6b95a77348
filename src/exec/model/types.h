// SPDX-License-Identifier: Apache-2.0
// Types that options ask for at a graph's ends; inside it the types stay as they are.
#ifndef MILLPOND_SRC_EXEC_MODEL_TYPES_H_
#define MILLPOND_SRC_EXEC_MODEL_TYPES_H_

#include <cstddef>
#include <span>
#include <utility>

#include "src/base/status.h"
#include "src/exec/session/options.h"
#include "src/graph/ir/graph.h"

namespace millpond {

// Whether one of the two below would change a graph.
bool ChangesTypes(const GraphOptions& options);

// ge.INPUT_NODES_SET_FP16, "x;y": these inputs are fed as halves.
Status ApplyInputTypes(const GraphOptions& options, ir::Graph* graph);

// Those that read `data` read the first output of `instead`; so does the graph's end. `reads`: data->Reads(), from
// before `instead` was there.
Status ReadInstead(ir::Graph* graph, std::span<const std::pair<ir::NodePtr, size_t>> reads, const ir::NodePtr& data,
                   const ir::NodePtr& instead);

// ge.outputDatatype, "FP16" for all outputs or "node:0:FP16;other:1:FP32" for some.
Status ApplyOutputTypes(const GraphOptions& options, ir::Graph* graph);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_TYPES_H_
