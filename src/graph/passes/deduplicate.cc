// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {
namespace {

size_t Mix(size_t seed, size_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15u + (seed >> 29); }

// Only attributes of the definition count, not annotations by tools.
bool SameAttributes(const ir::Node& a, const ir::Node& b) {
  const GeOp* definition = FindGeDefinition(a.type);
  if (definition == nullptr) return ir::Same(a.attributes, b.attributes);
  return std::all_of(definition->attributes.begin(), definition->attributes.end(), [&](const GeAttribute& attribute) {
    const ir::Attr* left = a.FindAttr(attribute.name);
    const ir::Attr* right = b.FindAttr(attribute.name);
    if (left == nullptr || right == nullptr) return left == right;
    return ir::Same(*left, *right);
  });
}

bool SameTensors(const ir::Tensor& a, const ir::Tensor& b) {
  return a.desc.dtype == b.desc.dtype && a.desc.dims == b.desc.dims && a.desc.format == b.desc.format &&
         a.data.size == b.data.size &&
         (a.data.data == b.data.data || a.data.size == 0 || std::memcmp(a.data.data, b.data.data, a.data.size) == 0);
}

bool SameOutputs(const ir::Node& a, const ir::Node& b) {
  return std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(),
                    [](const ir::TensorDesc& x, const ir::TensorDesc& y) {
                      return x.dtype == y.dtype && x.dims == y.dims && x.format == y.format;
                    });
}

bool SameNodes(const ir::Node& a, const ir::Node& b) {
  if (a.type != b.type || a.controls != b.controls || !SameOutputs(a, b)) return false;
  if (KindOf(a) == Kind::kConst) {
    const ir::TensorPtr left = ConstantOf(a);
    const ir::TensorPtr right = ConstantOf(b);
    return left != nullptr && right != nullptr && (left == right || SameTensors(*left, *right));
  }
  return std::equal(
             a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
             [](const ir::Input& x, const ir::Input& y) { return x.source == y.source && x.index == y.index; }) &&
         SameAttributes(a, b);
}

size_t HashOf(const ir::Node& node) {
  size_t hash = std::hash<std::string>()(node.type);
  for (const ir::Input& input : node.inputs) {
    hash = Mix(hash, std::hash<const void*>()(input.source.get()));
    hash = Mix(hash, static_cast<size_t>(input.index));
  }
  for (const ir::TensorDesc& output : node.outputs) {
    for (const int64_t dim : output.dims) hash = Mix(hash, static_cast<size_t>(dim));
  }
  if (const ir::TensorPtr tensor = ConstantOf(node)) {
    constexpr size_t kEnough = 4096;  // bytes hashed of a large constant; the comparison reads all of it
    const std::string_view head(reinterpret_cast<const char*>(tensor->data.data), std::min(tensor->data.size, kEnough));
    hash = Mix(hash, std::hash<std::string_view>()(head));
    hash = Mix(hash, tensor->data.size);
  }
  return hash;
}

bool MayMerge(const ir::Node& node, const MutableOutputs& changed) {
  const Kind kind = KindOf(node);
  if (kind != Kind::kConst && kind != Kind::kShape && kind != Kind::kOperator) return false;
  if (HasEffect(node) || IsRandom(node)) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (changed.Contains(&node, static_cast<int32_t>(i))) return false;
  }
  // A shape does not change with the contents.
  return kind == Kind::kShape || std::none_of(node.inputs.begin(), node.inputs.end(), [&](const ir::Input& input) {
           return changed.Contains(input.source.get(), input.index);
         });
}

}  // namespace

Status Deduplicate(ir::Graph* graph, bool* out_changed) {
  const MutableOutputs changed(*graph);
  std::vector<ir::NodePtr> order;
  MP_RETURN_IF_ERROR(graph->Sorted(&order));
  std::unordered_map<size_t, std::vector<ir::NodePtr>> seen;
  std::vector<ir::NodePtr> gone;
  Returned returned(graph);
  for (const ir::NodePtr& node : order) {
    if (!MayMerge(*node, changed)) continue;
    std::vector<ir::NodePtr>& alike = seen[HashOf(*node)];
    const auto found =
        std::find_if(alike.begin(), alike.end(), [&](const ir::NodePtr& other) { return SameNodes(*other, *node); });
    if (found == alike.end()) {
      alike.push_back(node);
      continue;
    }
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      const auto index = static_cast<int32_t>(i);
      MP_RETURN_IF_ERROR(ReplaceUses({node, index}, {*found, index}, &returned));
    }
    MoveControls(graph, node, {&*found, 1});
    gone.push_back(node);
  }
  if (gone.empty()) return Ok();
  graph->RemoveNodes(gone);
  *out_changed = true;
  return Ok();
}

}  // namespace millpond::passes
