// SPDX-License-Identifier: Apache-2.0
//
// What a compiled graph needs: sizes of its memories, its outputs, its streams.
#ifndef MILLPOND_INCLUDE_GE_GE_GRAPH_COMPILE_SUMMARY_H_
#define MILLPOND_INCLUDE_GE_GE_GRAPH_COMPILE_SUMMARY_H_

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ge/ge_api_types.h"
#include "ge/ge_error_codes.h"
#include "ge/ge_external_weight_desc.h"
#include "ge/ge_feature_memory.h"
#include "graph/gnode.h"

namespace ge {

class StreamAllocationSummary;

// Every getter that fails leaves 0 (or nothing) in its argument. A graph with unknown shapes is not static: it has no
// sizes before it runs.
class GE_FUNC_VISIBILITY CompiledGraphSummary {
 public:
  class Builder;
  class SummaryData;

  ~CompiledGraphSummary();
  CompiledGraphSummary(const CompiledGraphSummary&) = delete;
  CompiledGraphSummary& operator=(const CompiledGraphSummary&) & = delete;

  bool IsStatic() const;

  // Static graphs only. Feature memory is the fixed and the refreshable part together, without inputs and outputs.
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  Status GetRefreshableFeatureMemorySize(size_t& size) const;
  Status GetFeatureMemoryBaseRefreshable(bool& v) const;
  Status GetEventNum(size_t& num) const;
  Status GetOutputShapes(std::vector<ge::Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<ge::DataType>& dtypes) const;

  // All graphs.
  Status GetFixedFeatureMemorySize(size_t& size) const;
  std::vector<FeatureMemoryPtr> GetAllFeatureMemoryTypeSize() const;
  Status GetStreamNum(size_t& num) const;
  // (input, output) pairs that must be given one address.
  Status GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& io_indexes) const;
  Status GetExternalWeightPaths(std::vector<ExternalWeightDescPtr>& paths) const;
  Status GetStreamAllocationSummary(std::shared_ptr<StreamAllocationSummary>& stream_allocation) const;

 private:
  CompiledGraphSummary() = default;
  std::shared_ptr<SummaryData> data_;
};
using CompiledGraphSummaryPtr = std::shared_ptr<CompiledGraphSummary>;
static_assert(sizeof(CompiledGraphSummary) == 16, "frozen layout");

class LogicalStreamAllocationInfo;

// How nodes were spread over streams, by graph name.
class GE_FUNC_VISIBILITY StreamAllocationSummary {
 public:
  class StreamAllocationSummaryImpl;

  StreamAllocationSummary();
  ~StreamAllocationSummary();

  // A text drawing of each graph's streams.
  const std::map<AscendString, AscendString>& ToStreamGraph() const;
  const std::map<AscendString, std::vector<LogicalStreamAllocationInfo>>& GetAllLogicalStreamInfos() const;

 private:
  friend class CompiledGraphSummary::Builder;
  std::unique_ptr<StreamAllocationSummaryImpl> impl_;
};
static_assert(sizeof(StreamAllocationSummary) == 8, "frozen layout");

// One stream of a compiled graph.
class GE_FUNC_VISIBILITY LogicalStreamAllocationInfo {
 public:
  class LogicalStreamAllocationInfoImpl;

  LogicalStreamAllocationInfo();
  ~LogicalStreamAllocationInfo();
  LogicalStreamAllocationInfo(const LogicalStreamAllocationInfo& stream_info);
  LogicalStreamAllocationInfo& operator=(const LogicalStreamAllocationInfo& stream_info);

  AscendString ToStringInfo() const;
  int64_t GetLogicalStreamId() const;
  AscendString GetUsrStreamLabel() const;
  bool IsAssignedByStreamPass() const;
  std::vector<int64_t> GetAttachedStreamIds() const;
  size_t GetPhysicalStreamNum() const;
  size_t GetHcclFollowedStreamNum() const;
  const std::vector<GNode>& GetAllNodes() const;

 private:
  friend class StreamAllocationSummary::StreamAllocationSummaryImpl;
  std::unique_ptr<LogicalStreamAllocationInfoImpl> impl_;
};
static_assert(sizeof(LogicalStreamAllocationInfo) == 8, "frozen layout");

// The same one column at a time, for clients that look functions up by name.
extern "C" {
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetStringInfos(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<AscendString>>& graph_to_string_infos);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetLogicalStreamIds(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_logical_stream_ids);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetUsrStreamLabels(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<AscendString>>& graph_to_user_stream_labels);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryIsAssignedByStreamPass(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<bool>>& graph_to_is_assigned_by_stream_pass);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetAttachedStreamIds(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<std::vector<int64_t>>>& graph_to_attached_stream_ids);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetPhysicalStreamNums(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_physical_stream_nums);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetHcclFollowedStreamNums(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_hccl_followed_stream_nums);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetAllNodes(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<std::vector<GNode>>>& graph_to_all_nodes);
GE_FUNC_VISIBILITY ge::Status GEStreamAllocationSummaryGetStreamGraphs(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, AscendString>& graph_to_stream_graphs);
}

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_GRAPH_COMPILE_SUMMARY_H_
