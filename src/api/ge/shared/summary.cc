// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/summary.h"

#include <memory>
#include <utility>

#include "src/api/ge/shared/entry.h"
#include "src/api/ge/shared/summary_impl.h"
#include "src/api/graph/access.h"

namespace ge {

using millpond::geapi::kFailed;
using millpond::geapi::kSuccess;
using millpond::session::CompiledSummary;

class FeatureMemory::FeatureMemoryData {
 public:
  MemoryType type = MemoryType::MEMORY_TYPE_DEFAULT;
  size_t bytes = 0;
  bool fixed = false;
};

class FeatureMemory::Builder {
 public:
  static FeatureMemoryPtr Make(MemoryType type, size_t bytes, bool fixed) {
    FeatureMemoryPtr made(new FeatureMemory);
    made->data_ = std::make_shared<FeatureMemoryData>();
    *made->data_ = {type, bytes, fixed};
    return made;
  }
};

FeatureMemory::~FeatureMemory() = default;
MemoryType FeatureMemory::GetType() const { return data_->type; }
size_t FeatureMemory::GetSize() const { return data_->bytes; }
bool FeatureMemory::IsFixed() const { return data_->fixed; }

class ExternalWeightDesc::ExternalWeightDescData {
 public:
  AscendString location;
  AscendString id;
  size_t bytes = 0;
  size_t offset = 0;
};

ExternalWeightDesc::~ExternalWeightDesc() = default;
AscendString ExternalWeightDesc::GetLocation() const { return data_->location; }
size_t ExternalWeightDesc::GetSize() const { return data_->bytes; }
size_t ExternalWeightDesc::GetOffset() const { return data_->offset; }
AscendString ExternalWeightDesc::GetId() const { return data_->id; }

CompiledGraphSummaryPtr CompiledGraphSummary::Builder::Make(CompiledSummary summary) {
  CompiledGraphSummaryPtr made(new CompiledGraphSummary);
  made->data_ = std::make_shared<SummaryData>();
  made->data_->summary = std::move(summary);
  made->data_->streams = Streams(made->data_->summary);
  return made;
}

CompiledGraphSummary::~CompiledGraphSummary() = default;
bool CompiledGraphSummary::IsStatic() const { return data_->summary.is_static; }

namespace {

// A static graph's figure; a dynamic one has none before it runs.
template <class T>
Status TellStatic(const CompiledSummary& summary, const T& figure, T& out) {
  out = summary.is_static ? figure : T{};
  return summary.is_static ? kSuccess : kFailed;
}

}  // namespace

Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const {
  return TellStatic(data_->summary, data_->summary.const_bytes, size);
}

Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const {
  return TellStatic(data_->summary, data_->summary.feature_bytes, size);
}

// All of it: no part has an address that may not change.
Status CompiledGraphSummary::GetRefreshableFeatureMemorySize(size_t& size) const {
  return TellStatic(data_->summary, data_->summary.feature_bytes, size);
}

Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& v) const {
  return TellStatic(data_->summary, data_->summary.refreshable, v);
}

Status CompiledGraphSummary::GetEventNum(size_t& num) const { return TellStatic(data_->summary, size_t{0}, num); }

Status CompiledGraphSummary::GetOutputShapes(std::vector<ge::Shape>& shapes) const {
  shapes.clear();
  if (!data_->summary.is_static) return kFailed;
  for (const millpond::ir::TensorDesc& output : data_->summary.outputs) shapes.emplace_back(output.dims);
  return kSuccess;
}

Status CompiledGraphSummary::GetOutputDtypes(std::vector<ge::DataType>& dtypes) const {
  dtypes.clear();
  if (!data_->summary.is_static) return kFailed;
  for (const millpond::ir::TensorDesc& output : data_->summary.outputs) {
    dtypes.push_back(millpond::api::Wrap(output.dtype));
  }
  return kSuccess;
}

Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const {
  size = 0;
  return kSuccess;
}

std::vector<FeatureMemoryPtr> CompiledGraphSummary::GetAllFeatureMemoryTypeSize() const {
  if (!data_->summary.is_static) return {};
  return {FeatureMemory::Builder::Make(MemoryType::MEMORY_TYPE_DEFAULT, data_->summary.feature_bytes, false)};
}

Status CompiledGraphSummary::GetStreamNum(size_t& num) const {
  num = 1;
  return kSuccess;
}

Status CompiledGraphSummary::GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& io_indexes) const {
  io_indexes = data_->summary.aliases;
  return kSuccess;
}

// Constants are never put into files of their own.
Status CompiledGraphSummary::GetExternalWeightPaths(std::vector<ExternalWeightDescPtr>& paths) const {
  paths.clear();
  return kSuccess;
}

Status CompiledGraphSummary::GetStreamAllocationSummary(
    std::shared_ptr<StreamAllocationSummary>& stream_allocation) const {
  stream_allocation = data_->streams;
  return kSuccess;
}

}  // namespace ge

namespace millpond::geapi {

::ge::CompiledGraphSummaryPtr SummaryOf(uint64_t session_id, uint32_t graph_id) {
  ::ge::CompiledGraphSummaryPtr made;
  EnterGraph("GetCompiledGraphSummary", session_id, graph_id, Numbers::kFailed,
             [&](session::Session&, session::NumberedGraph& graph) -> Status {
               session::CompiledSummary summary;
               MP_RETURN_IF_ERROR(graph.Summary(&summary));
               made = ::ge::CompiledGraphSummary::Builder::Make(std::move(summary));
               return Ok();
             });
  return made;
}

}  // namespace millpond::geapi
