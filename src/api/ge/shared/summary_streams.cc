// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/api/ge/shared/entry.h"
#include "src/api/ge/shared/summary_impl.h"
#include "src/api/graph/build.h"

namespace ge {

using millpond::Format;
namespace api = millpond::api;

void StreamAllocationSummary::StreamAllocationSummaryImpl::Add(const millpond::ir::Graph& graph) {
  LogicalStreamAllocationInfo info;
  std::string drawing = "digraph \"" + graph.name + "\" {\n  subgraph cluster_0 { label=\"stream 0\";";
  for (const millpond::ir::NodePtr& node : graph.nodes()) {
    info.impl_->nodes.push_back(api::WrapNode(node));
    drawing += " \"" + node->name + "\";";
  }
  drawing += " }\n}\n";
  info.impl_->text = api::Wrap(
      Format("logic_stream_id: 0, user_stream_label: , is_assigned_by_user_stream_pass: false, attached_stream_ids: , "
             "physical_model_stream_num: 1, hccl_followed_stream_num: 0.\n"));
  const AscendString name = api::Wrap(graph.name);
  drawings[name] = api::Wrap(drawing);
  infos[name].push_back(std::move(info));
}

std::shared_ptr<StreamAllocationSummary> CompiledGraphSummary::Builder::Streams(
    const millpond::session::CompiledSummary& summary) {
  auto made = std::make_shared<StreamAllocationSummary>();
  made->impl_->Add(summary.program->compiled_graph());
  return made;
}

StreamAllocationSummary::StreamAllocationSummary() : impl_(std::make_unique<StreamAllocationSummaryImpl>()) {}
StreamAllocationSummary::~StreamAllocationSummary() = default;
const std::map<AscendString, AscendString>& StreamAllocationSummary::ToStreamGraph() const { return impl_->drawings; }
const std::map<AscendString, std::vector<LogicalStreamAllocationInfo>>&
StreamAllocationSummary::GetAllLogicalStreamInfos() const {
  return impl_->infos;
}

LogicalStreamAllocationInfo::LogicalStreamAllocationInfo()
    : impl_(std::make_unique<LogicalStreamAllocationInfoImpl>()) {}
LogicalStreamAllocationInfo::~LogicalStreamAllocationInfo() = default;
LogicalStreamAllocationInfo::LogicalStreamAllocationInfo(const LogicalStreamAllocationInfo& stream_info)
    : impl_(std::make_unique<LogicalStreamAllocationInfoImpl>(*stream_info.impl_)) {}
LogicalStreamAllocationInfo& LogicalStreamAllocationInfo::operator=(const LogicalStreamAllocationInfo& stream_info) {
  if (this != &stream_info) *impl_ = *stream_info.impl_;
  return *this;
}

AscendString LogicalStreamAllocationInfo::ToStringInfo() const { return impl_->text; }
int64_t LogicalStreamAllocationInfo::GetLogicalStreamId() const { return 0; }
AscendString LogicalStreamAllocationInfo::GetUsrStreamLabel() const { return AscendString(""); }
bool LogicalStreamAllocationInfo::IsAssignedByStreamPass() const { return false; }
std::vector<int64_t> LogicalStreamAllocationInfo::GetAttachedStreamIds() const { return {}; }
size_t LogicalStreamAllocationInfo::GetPhysicalStreamNum() const { return 1; }
size_t LogicalStreamAllocationInfo::GetHcclFollowedStreamNum() const { return 0; }
const std::vector<GNode>& LogicalStreamAllocationInfo::GetAllNodes() const { return impl_->nodes; }

namespace {

// One column of every stream of every graph.
template <class T, class Column>
Status TellColumn(const char* api, const CompiledGraphSummary& summary, std::map<AscendString, std::vector<T>>* out,
                  Column column) {
  return millpond::geapi::Enter(api, millpond::geapi::Numbers::kFailed, [&]() -> millpond::Status {
    std::shared_ptr<StreamAllocationSummary> streams;
    static_cast<void>(summary.GetStreamAllocationSummary(streams));
    for (const auto& [name, infos] : streams->GetAllLogicalStreamInfos()) {
      std::vector<T>& values = (*out)[name];
      for (const LogicalStreamAllocationInfo& info : infos) values.push_back(column(info));
    }
    return millpond::Ok();
  });
}

}  // namespace

extern "C" {

ge::Status GEStreamAllocationSummaryGetStringInfos(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<AscendString>>& graph_to_string_infos) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_string_infos,
                    [](const LogicalStreamAllocationInfo& info) { return info.ToStringInfo(); });
}

ge::Status GEStreamAllocationSummaryGetLogicalStreamIds(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_logical_stream_ids) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_logical_stream_ids,
                    [](const LogicalStreamAllocationInfo& info) { return info.GetLogicalStreamId(); });
}

ge::Status GEStreamAllocationSummaryGetUsrStreamLabels(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<AscendString>>& graph_to_user_stream_labels) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_user_stream_labels,
                    [](const LogicalStreamAllocationInfo& info) { return info.GetUsrStreamLabel(); });
}

ge::Status GEStreamAllocationSummaryIsAssignedByStreamPass(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<bool>>& graph_to_is_assigned_by_stream_pass) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_is_assigned_by_stream_pass,
                    [](const LogicalStreamAllocationInfo& info) { return info.IsAssignedByStreamPass(); });
}

ge::Status GEStreamAllocationSummaryGetAttachedStreamIds(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<std::vector<int64_t>>>& graph_to_attached_stream_ids) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_attached_stream_ids,
                    [](const LogicalStreamAllocationInfo& info) { return info.GetAttachedStreamIds(); });
}

ge::Status GEStreamAllocationSummaryGetPhysicalStreamNums(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_physical_stream_nums) {
  return TellColumn(
      __func__, compiled_graph_summary, &graph_to_physical_stream_nums,
      [](const LogicalStreamAllocationInfo& info) { return static_cast<int64_t>(info.GetPhysicalStreamNum()); });
}

ge::Status GEStreamAllocationSummaryGetHcclFollowedStreamNums(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<int64_t>>& graph_to_hccl_followed_stream_nums) {
  return TellColumn(
      __func__, compiled_graph_summary, &graph_to_hccl_followed_stream_nums,
      [](const LogicalStreamAllocationInfo& info) { return static_cast<int64_t>(info.GetHcclFollowedStreamNum()); });
}

ge::Status GEStreamAllocationSummaryGetAllNodes(
    const ge::CompiledGraphSummary& compiled_graph_summary,
    std::map<AscendString, std::vector<std::vector<GNode>>>& graph_to_all_nodes) {
  return TellColumn(__func__, compiled_graph_summary, &graph_to_all_nodes,
                    [](const LogicalStreamAllocationInfo& info) { return info.GetAllNodes(); });
}

ge::Status GEStreamAllocationSummaryGetStreamGraphs(const ge::CompiledGraphSummary& compiled_graph_summary,
                                                    std::map<AscendString, AscendString>& graph_to_stream_graphs) {
  return millpond::geapi::Enter(__func__, millpond::geapi::Numbers::kFailed, [&]() -> millpond::Status {
    std::shared_ptr<StreamAllocationSummary> streams;
    static_cast<void>(compiled_graph_summary.GetStreamAllocationSummary(streams));
    graph_to_stream_graphs = streams->ToStreamGraph();
    return millpond::Ok();
  });
}

}  // extern "C"

}  // namespace ge
