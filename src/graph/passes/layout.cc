// SPDX-License-Identifier: Apache-2.0
// Channels last: a CPU's convolution reads and writes [N, H, W, C] fastest. Each convolution, and layout-agnostic
// nodes between them, are rebuilt on transposed values; transposes remain only at the borders of such a region.
//
// Why new nodes: an old one stays as long as it has users outside, so there is no need to prove a region closed.
#include <algorithm>
#include <map>
#include <set>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

const std::set<std::string, std::less<>>& Elementwise() {
  static const auto& types = *new std::set<std::string, std::less<>>{
      "Relu",        "Relu6",     "Sigmoid", "Tanh",    "Gelu",    "GeluV2", "Swish", "HardSwish",
      "HardSigmoid", "LeakyRelu", "Elu",     "Exp",     "Abs",     "Neg",    "Sqrt",  "Mish",
      "Add",         "Sub",       "Mul",     "RealDiv", "Maximum", "Minimum"};
  return types;
}

template <class T>
std::vector<T> ChannelsLast(const std::vector<T>& dims) {
  return {dims[0], dims[2], dims[3], dims[1]};
}

ir::TensorDesc ChannelsLast(const ir::TensorDesc& desc) {
  ir::TensorDesc turned = desc;
  turned.dims = turned.origin_dims = ChannelsLast(desc.dims);
  turned.format = turned.origin_format = ir::kFormatNd;
  turned.range.clear();
  return turned;
}

class Layout : public FusingPass {
  using FusingPass::FusingPass;

  Status Walk(const std::vector<ir::NodePtr>& order) override {
    MP_RETURN_IF_ERROR(FusingPass::Walk(order));
    // Last first: users of a transposed value are removed before the value is examined.
    for (auto turned = turned_.rbegin(); turned != turned_.rend(); ++turned) MP_RETURN_IF_ERROR(Leave(*turned));
    return Ok();
  }

  using Key = std::pair<const ir::Node*, int32_t>;

  Status Visit(const ir::NodePtr& node) override {
    if (node->outputs.empty() || !fuser_.MayMove(*node)) return Ok();
    if (node->type == "MillpondFusedConv") return Conv(node);
    if (Fuser::RankOf({node, 0}) == 4 && Elementwise().contains(node->type)) return Pointwise(node);
    if (node->type == "MaxPoolV3" || node->type == "AvgPoolV2") return Pool(node);
    if (node->type == "ReduceMean" || node->type == "ReduceMax") return Reduce(node);
    if (node->type == "ConcatV2") return Concat(node);
    return Ok();
  }

  const ir::Endpoint* Find(const ir::Endpoint& value) const {
    const auto found = values_.find(Key(value.node.get(), value.index));
    return found != values_.end() ? &found->second : nullptr;
  }

  // The value with channels last; created on first use. `value` by copy: it may be what `out` points to.
  Status Turn(const ir::Node& after, const ir::Endpoint value, ir::Endpoint* out) {
    if (const ir::Endpoint* there = Find(value)) {
      *out = *there;
      return Ok();
    }
    ir::NodePtr made;
    const Fuser::Operand inputs[] = {{"x", value}};
    ir::Attributes attributes;
    attributes["perm"].value = std::vector<int64_t>{0, 2, 3, 1};
    MP_RETURN_IF_ERROR(
        fuser_.NewNode("TransposeD", after, inputs, ChannelsLast(Fuser::DescOf(value)), std::move(attributes), &made));
    *out = {made, 0};
    values_[Key(value.node.get(), value.index)] = *out;
    return Ok();
  }

  void Remember(const ir::NodePtr& old, const ir::NodePtr& turned) {
    values_[Key(old.get(), 0)] = {turned, 0};
    turned_.push_back(old);
  }

  // A copy of the node on other inputs, its first output with channels last.
  Status Copy(const ir::NodePtr& node, const std::vector<ir::Endpoint>& inputs, ir::Attributes attributes,
              ir::NodePtr* out) {
    std::vector<Fuser::Operand> operands;
    operands.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) operands.push_back({node->inputs[i].desc.name.c_str(), inputs[i]});
    return fuser_.NewNode(node->type.c_str(), *node, operands, ChannelsLast(node->outputs[0]), std::move(attributes),
                          out);
  }

  Status Conv(const ir::NodePtr& node) {
    if (Fuser::BoolAttr(*node, "channels_last", false) || Fuser::RankOf({node, 0}) != 4) return Ok();
    std::vector<ir::Endpoint> inputs;
    inputs.reserve(node->inputs.size());
    for (size_t i = 0; i < node->inputs.size(); ++i) inputs.push_back(Fuser::At(*node, i));
    MP_RETURN_IF_ERROR(Turn(*node, inputs[0], &inputs[0]));
    if (inputs.size() > 3 && inputs[3].node != nullptr) MP_RETURN_IF_ERROR(Turn(*node, inputs[3], &inputs[3]));
    ir::Attributes attributes = node->attributes;
    attributes["channels_last"].value = true;
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(Copy(node, inputs, std::move(attributes), &made));
    Remember(node, made);
    return Ok();
  }

  // All operands are already transposed and of one shape, or are scalars.
  Status Pointwise(const ir::NodePtr& node) {
    std::vector<ir::Endpoint> inputs;
    bool any = false;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const ir::Endpoint value = Fuser::At(*node, i);
      if (value.node == nullptr) return Ok();
      const ir::Endpoint* turned = Find(value);
      if (turned == nullptr && !Fuser::NumberOf(value).has_value()) return Ok();
      if (turned != nullptr && Fuser::DescOf(value).dims != node->outputs[0].dims) return Ok();
      any |= turned != nullptr;
      inputs.push_back(turned != nullptr ? *turned : value);
    }
    if (!any || node->outputs.size() != 1) return Ok();
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(Copy(node, inputs, node->attributes, &made));
    Remember(node, made);
    return Ok();
  }

  Status Pool(const ir::NodePtr& node) {
    const ir::Endpoint* turned = Find(Fuser::At(*node, 0));
    std::vector<int64_t> window = Fuser::IntsAttr(*node, "ksize");
    std::vector<int64_t> strides = Fuser::IntsAttr(*node, "strides");
    if (turned == nullptr || window.size() != 4 || strides.size() != 4) return Ok();
    if (Fuser::TextAttr(*node, "data_format", "NCHW") != "NCHW" || Fuser::RankOf({node, 0}) != 4) return Ok();
    ir::Attributes attributes = node->attributes;
    attributes["data_format"].value = std::string("NHWC");
    attributes["ksize"].value = ChannelsLast(window);
    attributes["strides"].value = ChannelsLast(strides);
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(Copy(node, {*turned}, std::move(attributes), &made));
    Remember(node, made);
    return Ok();
  }

  // Over all pixels: the result has one value per channel, so its order is the same either way.
  Status Reduce(const ir::NodePtr& node) {
    const ir::Endpoint* turned = Find(Fuser::At(*node, 0));
    std::vector<int64_t> axes = Fuser::IntsOf(Fuser::At(*node, 1));
    for (int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::sort(axes.begin(), axes.end());
    if (turned == nullptr || axes != std::vector<int64_t>{2, 3} || Fuser::RankOf({node, 0}) < 2) return Ok();
    // A reshape needs all sizes but one.
    const ir::Dims& dims = node->outputs[0].dims;
    if (std::count_if(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }) > 1) return Ok();
    constexpr int64_t kPixels[] = {1, 2};
    ir::NodePtr where, flat, result;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*node, DType::kInt64, {2}, kPixels, &where));
    ir::Attributes attributes = node->attributes;
    attributes["keep_dims"].value = false;
    ir::TensorDesc desc = node->outputs[0];
    desc.dims = desc.origin_dims = {desc.dims[0], desc.dims[1]};
    desc.format = desc.origin_format = ir::kFormatNd;
    const Fuser::Operand inputs[] = {{"x", *turned}, {"axes", {where, 0}}};
    MP_RETURN_IF_ERROR(fuser_.NewNode(node->type.c_str(), *node, inputs, desc, std::move(attributes), &flat));
    ir::NodePtr shape;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*node, DType::kInt64, {static_cast<int64_t>(dims.size())}, dims.data(), &shape));
    const Fuser::Operand reshape[] = {{"x", {flat, 0}}, {"shape", {shape, 0}}};
    MP_RETURN_IF_ERROR(fuser_.NewNode("Reshape", *node, reshape, node->outputs[0], {}, &result));
    return fuser_.Replace({node, 0}, {result, 0});
  }

  Status Concat(const ir::NodePtr& node) {
    if (node->inputs.size() < 2 || Fuser::RankOf({node, 0}) != 4) return Ok();
    const std::vector<int64_t> axis = Fuser::IntsOf(Fuser::At(*node, node->inputs.size() - 1));
    if (axis.size() != 1 || (axis[0] != 1 && axis[0] != -3)) return Ok();
    std::vector<ir::Endpoint> inputs;
    for (size_t i = 0; i + 1 < node->inputs.size(); ++i) {
      const ir::Endpoint* turned = Find(Fuser::At(*node, i));
      if (turned == nullptr) return Ok();
      inputs.push_back(*turned);
    }
    constexpr int32_t kChannels = 3;
    ir::NodePtr where, made;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*node, DType::kInt32, {}, &kChannels, &where));
    inputs.push_back({where, 0});
    MP_RETURN_IF_ERROR(Copy(node, inputs, node->attributes, &made));
    Remember(node, made);
    return Ok();
  }

  // Users of the old value that have no channels-last form.
  Status Leave(const ir::NodePtr& old) {
    if (!old->HasUsers() && !fuser_.Returns({old, 0})) {
      fuser_.Drop(old);
      return Ok();
    }
    const ir::Endpoint turned = values_.at(Key(old.get(), 0));
    ir::NodePtr back;
    const Fuser::Operand inputs[] = {{"x", turned}};
    ir::Attributes attributes;
    attributes["perm"].value = std::vector<int64_t>{0, 3, 1, 2};
    MP_RETURN_IF_ERROR(fuser_.NewNode("TransposeD", *old, inputs, old->outputs[0], std::move(attributes), &back));
    return fuser_.Replace({old, 0}, {back, 0});
  }

  std::map<Key, ir::Endpoint> values_;
  std::vector<ir::NodePtr> turned_;
};

}  // namespace

Status ChooseLayout(ir::Graph* graph, bool* out_changed) { return Layout(graph).Run(out_changed); }

}  // namespace millpond::passes
