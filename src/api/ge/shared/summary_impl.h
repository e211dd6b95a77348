// SPDX-License-Identifier: Apache-2.0
// What the summary's objects hold.
#ifndef MILLPOND_SRC_API_GE_SHARED_SUMMARY_IMPL_H_
#define MILLPOND_SRC_API_GE_SHARED_SUMMARY_IMPL_H_

#include <map>
#include <memory>
#include <vector>

#include "include/ge/ge_graph_compile_summary.h"
#include "src/exec/session/numbered_graph.h"

namespace ge {

class CompiledGraphSummary::SummaryData {
 public:
  millpond::session::CompiledSummary summary;
  std::shared_ptr<StreamAllocationSummary> streams;
};

class CompiledGraphSummary::Builder {
 public:
  static CompiledGraphSummaryPtr Make(millpond::session::CompiledSummary summary);

 private:
  static std::shared_ptr<StreamAllocationSummary> Streams(const millpond::session::CompiledSummary& summary);
};

class LogicalStreamAllocationInfo::LogicalStreamAllocationInfoImpl {
 public:
  AscendString text;
  std::vector<GNode> nodes;
};

// A graph runs on the one stream it is given: stream 0 has all nodes.
class StreamAllocationSummary::StreamAllocationSummaryImpl {
 public:
  void Add(const millpond::ir::Graph& graph);

  std::map<AscendString, AscendString> drawings;
  std::map<AscendString, std::vector<LogicalStreamAllocationInfo>> infos;
};

}  // namespace ge

#endif  // MILLPOND_SRC_API_GE_SHARED_SUMMARY_IMPL_H_
