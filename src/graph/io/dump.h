// SPDX-License-Identifier: Apache-2.0
// Graphs as text, and the files that DUMP_GE_GRAPH asks for (facts/ge.md 9.3).
#ifndef MILLPOND_SRC_GRAPH_IO_DUMP_H_
#define MILLPOND_SRC_GRAPH_IO_DUMP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

// Numbered as ge::Graph::DumpFormat.
enum class DumpFormat : uint32_t {
  kOnnx = 0,      // in the shape of ONNX, for viewers: ge_onnx_*.pbtxt
  kText = 1,      // all that a file would hold: ge_proto_*.txt
  kReadable = 2,  // a line for each node: ge_readable_*.txt
};

// Numbered as DUMP_GE_GRAPH's values.
enum class DumpContent : uint32_t {
  kNothing = 0,
  kFull = 1,    // with the values of constants
  kNoData = 2,  // without them
  kEdges = 3,   // nodes and edges alone, where the format tells them apart
};

// Appends to `out`. Graphs that would not compile (cycles, wrong types) can be looked at too; what a file could not
// hold is refused.
Status DumpGraph(const ir::Graph& graph, DumpFormat format, DumpContent content, std::string* out);

// "ge_proto_00000007_graph_3_PreRunBegin.txt". What no file name should have becomes '_'.
std::string DumpFileName(DumpFormat format, uint64_t index, uint32_t graph_id, std::string_view suffix);

// Into a new file of `folder` (made when it is not there; empty: the current one), numbered by format through the
// process. `out_path` may be null.
Status DumpGraphToFile(const ir::Graph& graph, DumpFormat format, DumpContent content, const std::string& folder,
                       uint32_t graph_id, std::string_view suffix, std::string* out_path);

// What the environment asks for: DUMP_GE_GRAPH, DUMP_GRAPH_FORMAT, DUMP_GRAPH_LEVEL and, for the folder,
// NPU_COLLECT_PATH, DUMP_GRAPH_PATH, ASCEND_WORK_PATH.
struct DumpSettings {
  DumpContent content = DumpContent::kNothing;
  std::vector<DumpFormat> formats;
  std::string level;  // "1".."4", or parts of stages' names with '|' between
  std::string folder;

  static DumpSettings FromEnvironment(int32_t device);

  bool enabled() const { return content != DumpContent::kNothing; }
  // Level 3 asks for the last stage, 4 for the first, a text for those whose name holds a part of it, others for all.
  bool Wants(std::string_view stage, bool is_first, bool is_last) const;
  // In every format that is asked for.
  Status Dump(const ir::Graph& graph, uint32_t graph_id, std::string_view stage) const;
};

// The nodes in the order they run, as events that chrome://tracing shows.
Status TraceJson(const ir::Graph& graph, std::string* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_DUMP_H_
