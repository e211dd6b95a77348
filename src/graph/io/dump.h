// SPDX-License-Identifier: Apache-2.0
// Graphs as text, and the files that DUMP_GE_GRAPH asks for (docs/compat.md, "Log and dump variables").
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
  kOnnx = 0,      // as ONNX, for viewers: ge_onnx_*.pbtxt
  kText = 1,      // everything a file would hold: ge_proto_*.txt
  kReadable = 2,  // one line per node: ge_readable_*.txt
};

// Numbered as DUMP_GE_GRAPH's values.
enum class DumpContent : uint32_t {
  kNothing = 0,
  kFull = 1,    // with the values of constants
  kNoData = 2,  // without them
  kEdges = 3,   // only nodes and edges, where the format distinguishes them
};

// Appends to `out`. Graphs that would not compile (cycles, wrong types) can be dumped too; what a file could not
// hold is refused.
Status DumpGraph(const ir::Graph& graph, DumpFormat format, DumpContent content, std::string* out);

// "ge_proto_00000007_graph_3_PreRunBegin.txt". Characters unsuitable for a file name become '_'.
std::string DumpFileName(DumpFormat format, uint64_t index, uint32_t graph_id, std::string_view suffix);

// Into a new file in `folder` (created if missing; empty: the current one), numbered per format within the
// process. `out_path` may be null.
Status DumpGraphToFile(const ir::Graph& graph, DumpFormat format, DumpContent content, const std::string& folder,
                       uint32_t graph_id, std::string_view suffix, std::string* out_path);

// The environment's settings: DUMP_GE_GRAPH, DUMP_GRAPH_FORMAT, DUMP_GRAPH_LEVEL and, for the folder,
// NPU_COLLECT_PATH, DUMP_GRAPH_PATH, ASCEND_WORK_PATH.
struct DumpSettings {
  DumpContent content = DumpContent::kNothing;
  std::vector<DumpFormat> formats;
  std::string level;  // "1".."4", or parts of stage names separated by '|'
  std::string folder;

  static DumpSettings FromEnvironment(int32_t device);

  bool enabled() const { return content != DumpContent::kNothing; }
  // Level 3 selects the last stage, 4 the first, a string those whose name contains a part of it, others all.
  bool Wants(std::string_view stage, bool is_first, bool is_last) const;
  // In every requested format.
  Status Dump(const ir::Graph& graph, uint32_t graph_id, std::string_view stage) const;
};

// The nodes in execution order, as events for chrome://tracing.
Status TraceJson(const ir::Graph& graph, std::string* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_DUMP_H_
