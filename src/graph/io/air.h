// SPDX-License-Identifier: Apache-2.0
// `.air` files: a serialised model and nothing else (docs/compat.md, "Graphs in files").
#ifndef MILLPOND_SRC_GRAPH_IO_AIR_H_
#define MILLPOND_SRC_GRAPH_IO_AIR_H_

#include <string>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

// Creates parent folders. A name without a folder goes to ASCEND_WORK_PATH, or the current folder if that is not set.
Status SaveAir(const ir::Graph& graph, const std::string& file_name);

// A name without a folder that is not in the current one is looked for where SaveAir puts it.
Status LoadAir(const std::string& file_name, ir::GraphPtr* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_AIR_H_
