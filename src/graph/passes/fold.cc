// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {
namespace {

// A node whose output is much larger than its inputs (Fill, Tile) is better run than folded.
constexpr size_t kMaxGrowth = 16;

bool HasWriter(const ir::Node& node) {
  for (const ir::NodePtr& user : node.Users()) {
    if (!HasEffect(*user)) continue;
    const auto pairs = InPlace(*user);
    for (size_t place = 0; place < user->inputs.size(); ++place) {
      const bool changes = pairs.empty() || std::any_of(pairs.begin(), pairs.end(),
                                                        [&](const auto& pair) { return pair.first == place; });
      if (changes && user->inputs[place].source.get() == &node) return true;
    }
  }
  return false;
}

ir::TensorPtr IntegerTensor(DType dtype, const ir::Dims& values, const ir::Dims& dims) {
  auto tensor = std::make_shared<ir::Tensor>();
  tensor->desc.dtype = dtype;
  tensor->desc.dims = dims;
  tensor->desc.has_shape = true;
  if (dtype == DType::kInt64) {
    tensor->data = ir::Bytes::Copy(values.data(), values.size() * sizeof(int64_t));
    return tensor;
  }
  std::vector<int32_t> narrow;
  for (const int64_t value : values) {
    if (value > std::numeric_limits<int32_t>::max()) return nullptr;
    narrow.push_back(static_cast<int32_t>(value));
  }
  tensor->data = ir::Bytes::Copy(narrow.data(), narrow.size() * sizeof(int32_t));
  return tensor;
}

// The result of Shape, Size or Rank for one input; null when it is not known yet.
ir::TensorPtr ShapeValue(const ir::Node& node, size_t place) {
  if (place >= node.inputs.size() || place >= node.outputs.size()) return nullptr;
  const ir::Dims& dims = node.inputs[place].desc.dims;
  const DType dtype = node.outputs[place].dtype;
  if (!node.inputs[place].desc.has_shape || !ir::IsKnownRank(dims)) return nullptr;
  const auto rank = static_cast<int64_t>(dims.size());
  if (node.type == "Rank") return IntegerTensor(dtype, {rank}, {});
  if (!ir::IsStatic(dims)) return nullptr;
  if (node.type == "Size") return ir::ElementsOf(dims) < 0 ? nullptr : IntegerTensor(dtype, {ir::ElementsOf(dims)}, {});
  return IntegerTensor(dtype, dims, {rank});
}

ir::NodePtr ConstantNode(const ir::Graph& graph, const ir::Node& from, size_t output, const ir::TensorPtr& tensor) {
  auto node = std::make_shared<ir::Node>(FreeName(graph, Format("%s_folded%zu", from.name.c_str(), output)), "Const");
  node->attributes["value"].value = tensor;
  ir::TensorDesc desc = from.outputs[output];
  desc.name = "y";
  desc.dtype = tensor->desc.dtype;
  desc.dims = desc.origin_dims = tensor->desc.dims;
  desc.has_shape = desc.has_origin_shape = true;
  node->outputs.push_back(std::move(desc));
  return node;
}

}  // namespace

Status Folder::Fold(const ir::NodePtr& node) {
  // A node with control inputs keeps its place in the order.
  if (!options_.fold || !node->controls.empty()) return Ok();
  std::vector<ir::TensorPtr> outputs;
  if (KindOf(*node) == Kind::kShape) {
    if (IsChanged(node.get())) return Ok();
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      outputs.push_back(ShapeValue(*node, i));
      if (outputs.back() == nullptr) return Ok();
    }
    return Replace(node, outputs);
  }
  std::vector<ir::TensorPtr> inputs;
  if (!environment_.run || !MayRun(*node, &inputs)) return Ok();
  // What cannot be computed now succeeds or fails when the graph runs.
  if (!environment_.run(*node, inputs, &outputs).ok()) return Ok();
  MP_CHECK(
      outputs.size() == node->outputs.size() && std::find(outputs.begin(), outputs.end(), nullptr) == outputs.end(),
      kInternal, "%s: folding gave %zu tensors for %zu outputs", Named(*node).c_str(), outputs.size(),
      node->outputs.size());
  return Replace(node, outputs);
}

bool Folder::IsChanged(const ir::Node* node) {
  const auto [known, is_new] = changed_.try_emplace(node, false);
  if (is_new) known->second = HasWriter(*node);
  return known->second;
}

bool Folder::MayRun(const ir::Node& node, std::vector<ir::TensorPtr>* out_inputs) {
  if (KindOf(node) != Kind::kOperator || node.outputs.empty() || FindGeDefinition(node.type) == nullptr) return false;
  size_t given = 0;
  for (const ir::Input& input : node.inputs) {
    out_inputs->push_back(input.source != nullptr ? ConstantAt(input.source.get(), input.index) : nullptr);
    if (input.source == nullptr) continue;
    const ir::TensorPtr& tensor = out_inputs->back();
    if (tensor == nullptr || tensor->desc.dtype == DType::kString || !input.source->controls.empty()) return false;
    given += tensor->data.size;
  }
  if (std::all_of(out_inputs->begin(), out_inputs->end(), [](const auto& input) { return input == nullptr; })) {
    return false;
  }
  size_t made = 0;
  for (const ir::TensorDesc& output : node.outputs) {
    const int64_t bytes = output.has_shape ? ir::BytesOf(output.dtype, output.dims) : -1;
    if (bytes < 0 || static_cast<size_t>(bytes) > options_.fold_bytes) return false;
    made += static_cast<size_t>(bytes);
  }
  if (made > options_.fold_bytes - std::min(options_.fold_bytes, bytes_)) return false;
  if (made > options_.small_fold_bytes && made / kMaxGrowth > given) return false;
  if (HasEffect(node) || IsRandom(node) || IsChanged(&node)) return false;
  return std::none_of(node.inputs.begin(), node.inputs.end(), [this](const ir::Input& input) {
    return input.source != nullptr && IsChanged(input.source.get());
  });
}

Status Folder::Replace(const ir::NodePtr& node, std::span<const ir::TensorPtr> outputs) {
  ir::Graph* graph = node->graph();
  Returned& returned = returned_.try_emplace(graph, graph).first->second;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::NodePtr constant = ConstantNode(*graph, *node, i, outputs[i]);
    MP_RETURN_IF_ERROR(graph->AddNode(constant));
    MP_RETURN_IF_ERROR(ReplaceUses({node, static_cast<int32_t>(i)}, {constant, 0}, &returned));
    bytes_ += outputs[i]->data.size;
  }
  MoveControls(graph, node, {});  // a constant is available from the start
  gone_[graph].push_back(node);
  ++folded_;
  return Ok();
}

void Folder::Sweep() {
  for (auto& [graph, nodes] : gone_) graph->RemoveNodes(nodes);
  gone_.clear();
  returned_.clear();
  changed_.clear();
}

}  // namespace millpond::passes
