// SPDX-License-Identifier: Apache-2.0
// Forced precision (ge.exec.precision_mode): types stay, values become those that the smaller type has. A card computes
// halves in float32 inside and rounds each operator's result, so a Cast to half and back after it gives the card's
// values.
#ifndef MILLPOND_SRC_GRAPH_PASSES_PRECISION_H_
#define MILLPOND_SRC_GRAPH_PASSES_PRECISION_H_

#include "src/base/dtype.h"
#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Puts the casts in. What is changed in place keeps its value: its address is the point. pre: verified and inferred.
Status RoundToHalf(ir::Graph* graph, Rounding rounding, bool* out_changed);

// A Cast of that output, already in the graph and read by nobody.
Status AddCast(ir::Graph* graph, const ir::Endpoint& from, DType type, ir::NodePtr* out);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_PRECISION_H_
