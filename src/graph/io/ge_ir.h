// SPDX-License-Identifier: Apache-2.0
// Serialised graphs as GE has them: a ModelDef of ge_ir.proto (docs/compat.md, "Graphs in files"), which is what `.air`
// files hold and what torchair sends.
#ifndef MILLPOND_SRC_GRAPH_IO_GE_IR_H_
#define MILLPOND_SRC_GRAPH_IO_GE_IR_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

// Reads a graph and its subgraphs. Large constants refer to `bytes`, which `keep` keeps alive, and have no alignment;
// with a null `keep` they are copied. The result may still be an invalid graph (cycles, types, shapes): the passes
// check that. kParseFile: not a ModelDef; kInvalidArgument: one that contradicts itself.
//
// How the file maps to the IR:
//   graph.input or else Data nodes by `index` -> Graph::inputs; graph.output or else NetOutput's inputs (the node
//   stays)
//   -> Graph::outputs; device_type and the other rare fields of a description -> an attribute of the same name.
//   A description without a shape has none, except that those of Data, Const and the like are scalars.
Status ReadModel(std::span<const std::byte> bytes, std::shared_ptr<const void> keep, ir::GraphPtr* out);

// The whole of `graph` (a root). Fails, naming the node, when it cannot be written faithfully.
Status WriteModel(const ir::Graph& graph, std::string* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_GE_IR_H_
