// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/fuse_tools.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/format.h"

namespace millpond::passes {

ir::Endpoint Fuser::At(const ir::Node& node, size_t place) {
  if (place >= node.inputs.size()) return {};
  return {node.inputs[place].source, node.inputs[place].index};
}

int Fuser::RankOf(const ir::Endpoint& value) {
  const ir::TensorDesc& desc = DescOf(value);
  return desc.has_shape && ir::IsKnownRank(desc.dims) ? static_cast<int>(desc.dims.size()) : -1;
}

ir::TensorPtr Fuser::ConstOf(const ir::Endpoint& value, DType dtype) {
  if (value.node == nullptr) return nullptr;
  ir::TensorPtr tensor = ConstantAt(value.node.get(), value.index);
  if (tensor == nullptr || tensor->desc.dtype != dtype) return nullptr;
  const int64_t bytes = ir::BytesOf(dtype, tensor->desc.dims);
  return bytes >= 0 && tensor->data.size >= static_cast<size_t>(bytes) ? tensor : nullptr;
}

std::optional<float> Fuser::NumberOf(const ir::Endpoint& value) {
  const ir::TensorPtr tensor = ConstOf(value, DType::kFloat);
  if (tensor == nullptr || ir::ElementsOf(tensor->desc.dims) != 1) return std::nullopt;
  float number = 0;
  std::memcpy(&number, tensor->data.data, sizeof number);
  return number;
}

bool Fuser::IsNumber(const ir::Endpoint& value, double wanted) {
  const std::optional<float> number = NumberOf(value);
  return number.has_value() && std::abs(*number - wanted) <= 1e-5 * std::max(1.0, std::abs(wanted));
}

std::vector<int64_t> Fuser::IntsAttr(const ir::Node& node, std::string_view name) {
  const ir::Attr* attr = node.FindAttr(name);
  const auto* list = attr != nullptr ? attr->As<std::vector<int64_t>>() : nullptr;
  return list != nullptr ? *list : std::vector<int64_t>();
}

std::vector<int64_t> Fuser::IntsOf(const ir::Endpoint& value) {
  std::vector<int64_t> numbers;
  if (const ir::TensorPtr wide = ConstOf(value, DType::kInt64)) {
    numbers.resize(static_cast<size_t>(ir::ElementsOf(wide->desc.dims)));
    if (!numbers.empty()) std::memcpy(numbers.data(), wide->data.data, numbers.size() * sizeof(int64_t));
  } else if (const ir::TensorPtr narrow = ConstOf(value, DType::kInt32)) {
    for (int64_t i = 0; i < ir::ElementsOf(narrow->desc.dims); ++i) {
      int32_t number = 0;
      std::memcpy(&number, narrow->data.data + i * static_cast<int64_t>(sizeof number), sizeof number);
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::vector<int64_t> Fuser::PermOf(const ir::Node& node) {
  std::vector<int64_t> perm;
  if (node.type == "TransposeD") perm = IntsAttr(node, "perm");
  if (node.type == "Transpose") perm = IntsOf(At(node, 1));
  std::vector<bool> seen(perm.size());
  for (int64_t& dim : perm) {
    dim += dim < 0 ? static_cast<int64_t>(perm.size()) : 0;
    if (dim < 0 || dim >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(dim)]) return {};
    seen[static_cast<size_t>(dim)] = true;
  }
  return perm;
}

int64_t Fuser::IntAttr(const ir::Node& node, std::string_view name, int64_t otherwise) {
  const ir::Attr* attr = node.FindAttr(name);
  const auto* number = attr != nullptr ? attr->As<int64_t>() : nullptr;
  return number != nullptr ? *number : otherwise;
}

bool Fuser::BoolAttr(const ir::Node& node, std::string_view name, bool otherwise) {
  const ir::Attr* attr = node.FindAttr(name);
  const auto* flag = attr != nullptr ? attr->As<bool>() : nullptr;
  return flag != nullptr ? *flag : otherwise;
}

float Fuser::FloatAttr(const ir::Node& node, std::string_view name, float otherwise) {
  const ir::Attr* attr = node.FindAttr(name);
  const auto* number = attr != nullptr ? attr->As<float>() : nullptr;
  return number != nullptr ? *number : otherwise;
}

std::string_view Fuser::TextAttr(const ir::Node& node, std::string_view name, std::string_view otherwise) {
  const ir::Attr* attr = node.FindAttr(name);
  const auto* text = attr != nullptr ? attr->As<std::string>() : nullptr;
  return text != nullptr ? std::string_view(*text) : otherwise;
}

Fuser::Fuser(ir::Graph* graph) : graph_(graph), mutable_(*graph), returned_(graph) {
  for (const ir::NodePtr& target : graph->targets) targets_.insert(target.get());
  for (const ir::NodePtr& node : graph->nodes()) {
    for (const ir::NodePtr& control : node->controls) waited_for_.insert(control.get());
  }
}

bool Fuser::IsPlain(const ir::Node& node) const {
  if (!node.controls.empty() || HasEffect(node)) return false;
  return !waited_for_.contains(&node) && !targets_.contains(&node);
}

bool Fuser::MayMove(const ir::Node& node) const {
  return IsPlain(node) && std::none_of(node.inputs.begin(), node.inputs.end(), [&](const ir::Input& input) {
           return input.source != nullptr && IsMutable({input.source, input.index});
         });
}

bool Fuser::Pairs(const ir::Node& node, const ir::Endpoint& value, ir::Endpoint* out_other) {
  const ir::Endpoint left = At(node, 0);
  const ir::Endpoint right = At(node, 1);
  if (left.node == nullptr || right.node == nullptr) return false;
  if (!SameValue(left, value) && !SameValue(right, value)) return false;
  *out_other = SameValue(left, value) ? right : left;
  return true;
}

bool Fuser::HasNumber(const ir::Node& node, float* out_number, ir::Endpoint* out_rest) {
  for (size_t place = 0; place < 2; ++place) {
    const std::optional<float> number = NumberOf(At(node, place));
    if (!number.has_value()) continue;
    *out_number = *number;
    *out_rest = At(node, 1 - place);
    return out_rest->node != nullptr;
  }
  return false;
}

ir::NodePtr Fuser::SoleReader(const ir::Endpoint& value) const {
  if (value.node == nullptr || !MayMove(*value.node) || Returns(value)) return nullptr;
  ir::NodePtr reader;
  size_t reads = 0;
  for (const ir::NodePtr& user : value.node->Users(value.node->outputs.size() == 1 ? 2 : SIZE_MAX)) {
    for (const ir::Input& input : user->inputs) {
      if (input.source != value.node || input.index != value.index) continue;
      reader = user;
      ++reads;
    }
  }
  return reads == 1 ? reader : nullptr;
}

Status Fuser::NewNode(const char* type, const ir::Node& after, std::span<const Operand> inputs,
                      const ir::TensorDesc& like, ir::Attributes attributes, ir::NodePtr* out) {
  const std::string end = Format("/%s", type);
  const std::string name = after.name.ends_with(end) ? after.name : after.name + end;
  auto node = std::make_shared<ir::Node>(FreeName(*graph_, name), type);
  node->attributes = std::move(attributes);
  node->outputs.push_back(like);
  node->outputs.back().name = "y";
  MP_RETURN_IF_ERROR(graph_->AddNode(node));
  for (const Operand& operand : inputs) {
    node->inputs.emplace_back();
    node->inputs.back().desc.name = operand.name;
    if (operand.value.node == nullptr) continue;
    ir::TensorDesc desc = DescOf(operand.value);
    desc.name = operand.name;
    node->inputs.back().desc = std::move(desc);
    MP_RETURN_IF_ERROR(node->Connect(node->inputs.size() - 1, operand.value.node, operand.value.index));
  }
  changed_ = true;
  *out = std::move(node);
  return Ok();
}

Status Fuser::NewConst(const ir::Node& after, const ir::TensorPtr& tensor, ir::NodePtr* out) {
  ir::TensorDesc desc;
  desc.dtype = tensor->desc.dtype;
  desc.dims = desc.origin_dims = tensor->desc.dims;
  desc.has_shape = desc.has_origin_shape = true;
  ir::Attributes attributes;
  attributes["value"].value = tensor;
  return NewNode("Const", after, {}, desc, std::move(attributes), out);
}

Status Fuser::NewConst(const ir::Node& after, DType dtype, ir::Dims dims, const void* data, ir::NodePtr* out) {
  auto tensor = std::make_shared<ir::Tensor>();
  tensor->desc.dtype = dtype;
  tensor->desc.dims = tensor->desc.origin_dims = std::move(dims);
  tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
  tensor->data = ir::Bytes::Copy(data, static_cast<size_t>(ir::BytesOf(dtype, tensor->desc.dims)));
  return NewConst(after, tensor, out);
}

Status Fuser::Replace(const ir::Endpoint& old, const ir::Endpoint& value) {
  MP_RETURN_IF_ERROR(ReplaceUses(old, value, &returned_));
  changed_ = true;
  if (old.node != value.node) Drop(old.node);
  return Ok();
}

// For a node that was itself fused, or renamed by a pass, its origins are listed.
static void SetOrigins(std::span<const ir::NodePtr> gone, ir::Node* made) {
  std::vector<std::string> names, types;
  for (size_t i = gone.size(); i-- > 0;) {
    const ir::Node& node = *gone[i];
    if (KindOf(node) == Kind::kConst) continue;
    const ir::Attr* const earlier = node.FindAttr(kOriginNames);
    const ir::Attr* const earlier_types = node.FindAttr(kOriginTypes);
    const auto* more = earlier != nullptr ? earlier->As<std::vector<std::string>>() : nullptr;
    const auto* more_types = earlier_types != nullptr ? earlier_types->As<std::vector<std::string>>() : nullptr;
    if (more != nullptr && more_types != nullptr && more->size() == more_types->size()) {
      names.insert(names.end(), more->begin(), more->end());
      types.insert(types.end(), more_types->begin(), more_types->end());
    } else {
      names.push_back(node.name);
      types.push_back(node.type);
    }
  }
  if (names.empty()) return;
  made->attributes[std::string(kOriginNames)].value = std::move(names);
  made->attributes[std::string(kOriginTypes)].value = std::move(types);
}

Status Fuser::Fuse(const ir::Endpoint& old, const ir::NodePtr& made) {
  MP_RETURN_IF_ERROR(ReplaceUses(old, {made, 0}, &returned_));
  changed_ = true;
  std::vector<ir::NodePtr> gone;
  Drop(old.node, &gone);
  SetOrigins(gone, made.get());
  return Ok();
}

void Fuser::Drop(const ir::NodePtr& node, std::vector<ir::NodePtr>* out_gone) {
  std::vector<ir::NodePtr> pending = {node};
  while (!pending.empty()) {
    const ir::NodePtr now = std::move(pending.back());
    pending.pop_back();
    const Kind kind = KindOf(*now);
    const bool structural = kind == Kind::kData || kind == Kind::kVariable;
    if (now->graph() != graph_ || structural || now->HasUsers() || !IsPlain(*now)) continue;
    bool returned = false;
    for (size_t i = 0; i < now->outputs.size(); ++i) returned |= Returns({now, static_cast<int32_t>(i)});
    if (returned) continue;
    std::vector<ir::NodePtr> sources;
    for (const ir::Input& input : now->inputs) {
      if (input.source != nullptr) sources.push_back(input.source);
    }
    graph_->Detach(now);
    if (out_gone != nullptr) out_gone->push_back(now);
    changed_ = true;
    pending.insert(pending.end(), sources.begin(), sources.end());
  }
}

Status FusingPass::Run(bool* out_changed) {
  std::vector<ir::NodePtr> order;
  MP_RETURN_IF_ERROR(fuser_.graph()->Sorted(&order));
  Status walked = Walk(order);
  fuser_.Finish();
  *out_changed |= fuser_.changed();
  return walked;
}

Status FusingPass::Walk(const std::vector<ir::NodePtr>& order) {
  for (const ir::NodePtr& node : order) {
    if (!fuser_.Gone(node)) MP_RETURN_IF_ERROR(Visit(node));
  }
  return Ok();
}

}  // namespace millpond::passes
