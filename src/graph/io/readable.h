// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_GRAPH_IO_READABLE_H_
#define MILLPOND_SRC_GRAPH_IO_READABLE_H_

#include <string>

#include "src/graph/ir/graph.h"

namespace millpond::io {

// A graph and its subgraphs in the documented form of ge_readable files. `with_types`: a comment with the types and
// shapes of outputs ends each node's line.
void PrintReadable(const ir::Graph& graph, bool with_types, std::string* out);

// "[1 2 3 ... 98 99 100]", "<empty>", "<not_supported>".
std::string ValuesText(const ir::Tensor& tensor);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_READABLE_H_
