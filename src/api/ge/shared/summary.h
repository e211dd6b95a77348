// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_API_GE_SHARED_SUMMARY_H_
#define MILLPOND_SRC_API_GE_SHARED_SUMMARY_H_

#include <cstdint>
#include <string>

#include "include/ge/ge_graph_compile_summary.h"
#include "src/exec/session/numbered_graph.h"

namespace millpond::geapi {

// Null when the session, the graph or its program is not there; the message says which.
::ge::CompiledGraphSummaryPtr SummaryOf(uint64_t session_id, uint32_t graph_id);

// The compiled graph, node by node.
std::string GraphJson(const ir::Graph& graph);

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_SUMMARY_H_
