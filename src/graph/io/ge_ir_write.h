// SPDX-License-Identifier: Apache-2.0
// Internals of the writer; the public header is ge_ir.h.
#ifndef MILLPOND_SRC_GRAPH_IO_GE_IR_WRITE_H_
#define MILLPOND_SRC_GRAPH_IO_GE_IR_WRITE_H_

#include <string>

#include "src/graph/io/wire.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

// WriteModel with an option: dumps may omit the bytes of constants.
Status WriteModel(const ir::Graph& graph, bool with_data, std::string* out);

// Each writes the fields of one message, whose frame the caller has begun.
Status WriteGraph(const ir::Graph& graph, wire::Writer* writer);
Status WriteDesc(const ir::TensorDesc& desc, wire::Writer* writer);
// The map of attributes as field `number`.
Status WriteAttributes(uint32_t number, const ir::Attributes& attributes, wire::Writer* writer);
Status WriteEntry(uint32_t number, std::string_view key, const ir::Attr& attr, wire::Writer* writer);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_GE_IR_WRITE_H_
