// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/constants.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/kernel_table.h"
#include "src/graph/io/files.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

constexpr size_t kLarge = size_t{64} << 10;
constexpr size_t kWorthTrimming = size_t{4} << 20;

ir::TensorPtr WithoutBytes(const ir::Tensor& tensor) {
  auto made = std::make_shared<ir::Tensor>();
  made->desc = tensor.desc;
  return made;
}

// Lowering may do without its bytes.
bool IsAreaOnly(const NodeInfo& info) {
  return info.kind == NodeKind::kConstant && !info.wanted_on_host && info.constant != nullptr &&
         ir::BytesOf(info.constant->desc.dtype, info.constant->desc.dims) >= static_cast<int64_t>(kLarge);
}

}  // namespace

ConstantArea::ConstantArea(Plan* plan)
    : offsets_(plan->constant_offsets), bytes_(plan->const_bytes), constants_(std::move(plan->constants)) {
  plan->constants.clear();
}

bool ConstantArea::Same(const ConstantArea& other) const {
  if (this == &other) return true;
  MutexLocks locks(mutex_, other.mutex_);
  const auto same = [](const ir::Bytes& left, const ir::Bytes& right) {
    return left.size == right.size &&
           (left.data == right.data || left.size == 0 || std::memcmp(left.data, right.data, left.size) == 0);
  };
  return !given_up_ && !other.given_up_ && bytes_ == other.bytes_ && offsets_ == other.offsets_ &&
         std::equal(constants_.begin(), constants_.end(), other.constants_.begin(), other.constants_.end(), same);
}

Status ConstantArea::Load(void* base, LoadKind kind, Stream* stream) {
  if (bytes_ == 0) return Ok();
  {
    MutexLock lock(mutex_);
    MP_CHECK(!given_up_, kInternal, "the graph's constants were loaded for the last time; compile it again");
  }
  // What is captured may run again and again.
  const bool give_up = kind == LoadKind::kLast && stream->capture() == nullptr;
  return stream->Launch<TaskKind::kCopy>(
      "GraphConstants", {{base, bytes_, trace::Mode::kWrite}},
      [self = shared_from_this(), base, give_up] { return self->Copy(base, give_up); });
}

Status ConstantArea::Copy(void* base, bool give_up) {
  MutexLock lock(mutex_);
  MP_CHECK(!given_up_, kInternal, "the graph's constants were given up before they were loaded");
  for (size_t i = 0; i < constants_.size(); ++i) {
    const ir::Bytes& bytes = constants_[i];
    if (bytes.size == 0) continue;
    CopyBytes(static_cast<std::byte*>(base) + offsets_[i], bytes.data, bytes.size);
    if (bytes.size >= kLarge) io::LetGoOfPages(bytes.keep, bytes.data, bytes.size);
    if (give_up) constants_[i] = {};  // at once, so that host and device never hold all of it together
  }
  if (!give_up) return Ok();
  given_up_ = true;
  if (bytes_ >= kWorthTrimming) TrimKernels();
  return Ok();
}

void DropConstants(ir::Graph* graph) {
  for (const ir::NodePtr& node : graph->nodes()) {
    const ir::TensorPtr tensor = passes::ConstantOf(*node);
    if (tensor != nullptr && tensor->data.size >= kLarge) node->attributes["value"].value = WithoutBytes(*tensor);
  }
  for (const ir::GraphPtr& subgraph : graph->subgraphs()) DropConstants(subgraph.get());
}

void StripConstants(ir::Graph* graph, Recipes* recipes) {
  const auto strip = [&](Recipe* recipe) {
    for (NodeInfo& info : recipe->nodes) {
      if (!IsAreaOnly(info)) continue;
      info.constant = WithoutBytes(*info.constant);
      recipes->constants[info.position] = info.constant;
    }
  };
  DropConstants(graph);
  strip(recipes->root_owner.get());
  for (const auto& recipe : recipes->subgraphs) strip(recipe.get());
}

void LetGoOfFiles(const ir::Graph& graph) {
  for (const ir::NodePtr& node : graph.nodes()) {
    const ir::TensorPtr tensor = passes::ConstantOf(*node);
    if (tensor == nullptr || tensor->data.size < kLarge) continue;
    io::LetGoOfPages(tensor->data.keep, tensor->data.data, tensor->data.size);
  }
  for (const ir::GraphPtr& subgraph : graph.subgraphs()) LetGoOfFiles(*subgraph);
}

}  // namespace millpond::program
