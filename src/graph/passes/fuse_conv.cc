// SPDX-License-Identifier: Apache-2.0
// Fuses a 2-D convolution with constant filter and what follows it.
#include <cmath>
#include <cstring>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tail.h"

namespace millpond::passes {
namespace {

using Floats = std::vector<float>;

constexpr int32_t kNchw = 0;

Floats FloatsOf(const ir::Tensor& tensor) {
  Floats values(static_cast<size_t>(ir::ElementsOf(tensor.desc.dims)));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data, values.size() * sizeof(float));
  return values;
}

class ConvFusion : public TailFusingPass {
 public:
  using TailFusingPass::TailFusingPass;

 private:
  Status Visit(const ir::NodePtr& node) override {
    Conv conv;
    return Read(node, &conv) ? Fuse(&conv) : Ok();
  }

  struct Conv : Tail {
    ir::TensorPtr filter;
    std::vector<int64_t> strides, pads, dilations;  // of height and width; pads: both begins, then both ends
    int64_t groups = 1;
    bool has_bias = false;
    Floats bias, factor;  // by output channel; the factor is that of batch norm
    int64_t channels() const { return filter->desc.dims[0]; }
  };

  bool Read(const ir::NodePtr& node, Conv* conv) const {
    const bool own = node->type == "MillpondConv";
    if ((!own && node->type != "Conv2D") || node->inputs.size() < 2 || !fuser_.MayMove(*node)) return false;
    const ir::Endpoint x = Fuser::At(*node, 0);
    const ir::Endpoint filter = Fuser::At(*node, 1);
    if (!Fuser::IsFloat(x) || Fuser::RankOf(x) != 4 || fuser_.IsMutable(x)) return false;
    if (!Fuser::IsFloat({node, 0}) || Fuser::At(*node, 3).node != nullptr) return false;
    conv->node = conv->last = node;
    conv->filter = Fuser::ConstOf(filter, DType::kFloat);
    if (conv->filter == nullptr || conv->filter->desc.dims.size() != 4) return false;
    conv->strides = Fuser::IntsAttr(*node, "strides");
    conv->pads = Fuser::IntsAttr(*node, "pads");
    conv->dilations = Fuser::IntsAttr(*node, "dilations");
    conv->groups = Fuser::IntAttr(*node, "groups", 1);
    if (!own && !FromConv2D(*node, conv)) return false;
    for (const int64_t pad : conv->pads) {
      if (pad < 0) return false;
    }
    if (conv->strides.size() != 2 || conv->pads.size() != 4 || conv->dilations.size() != 2) return false;
    return ReadBias(Fuser::At(*node, 2), conv);
  }

  // CANN's form: four numbers each, ordered by the format.
  static bool FromConv2D(const ir::Node& node, Conv* conv) {
    const auto plain = [](int32_t format) { return format == kNchw || format == ir::kFormatNd; };
    if (Fuser::TextAttr(node, "data_format", "NHWC") != "NCHW" || Fuser::IntAttr(node, "offset_x", 0) != 0)
      return false;
    if (!plain(node.inputs[0].desc.format) || !plain(node.inputs[1].desc.format)) return false;
    if (conv->dilations.empty()) conv->dilations = {1, 1, 1, 1};
    if (conv->strides.size() != 4 || conv->pads.size() != 4 || conv->dilations.size() != 4) return false;
    conv->strides = {conv->strides[2], conv->strides[3]};
    conv->dilations = {conv->dilations[2], conv->dilations[3]};
    conv->pads = {conv->pads[0], conv->pads[2], conv->pads[1], conv->pads[3]};  // top, bottom, left, right
    return true;
  }

  static bool ReadBias(const ir::Endpoint& value, Conv* conv) {
    if (value.node == nullptr) return true;
    const ir::TensorPtr tensor = Fuser::ConstOf(value, DType::kFloat);
    if (tensor == nullptr || ir::ElementsOf(tensor->desc.dims) != conv->channels()) return false;
    conv->bias = FloatsOf(*tensor);
    conv->has_bias = true;
    return true;
  }

  Status Fuse(Conv* conv) {
    conv->bias.resize(static_cast<size_t>(conv->channels()));
    bool scaled = false;
    while (AbsorbNorm(conv, &scaled) || AbsorbBias(conv)) {
    }
    AbsorbAddend(conv);
    AbsorbActivation(conv);
    return Emit(*conv, scaled);
  }

  bool AbsorbNorm(Conv* conv, bool* scaled) {
    const ir::NodePtr norm = fuser_.SoleReader({conv->last, 0});
    if (norm == nullptr || norm->type != "BNInfer" || Fuser::At(*norm, 0).node != conv->last) return false;
    std::vector<Floats> rows;
    for (size_t place = 1; place < 5; ++place) {
      const ir::TensorPtr row = Fuser::ConstOf(Fuser::At(*norm, place), DType::kFloat);
      if (row == nullptr || ir::ElementsOf(row->desc.dims) != conv->channels()) return false;
      rows.push_back(FloatsOf(*row));
    }
    const double epsilon = Fuser::FloatAttr(*norm, "epsilon", 1e-5F);
    if (!*scaled) conv->factor.assign(conv->bias.size(), 1);
    for (size_t c = 0; c < conv->bias.size(); ++c) {
      const double factor = rows[0][c] / std::sqrt(static_cast<double>(rows[3][c]) + epsilon);
      conv->factor[c] = static_cast<float>(conv->factor[c] * factor);
      conv->bias[c] = static_cast<float>((conv->bias[c] - static_cast<double>(rows[2][c])) * factor + rows[1][c]);
    }
    *scaled = conv->has_bias = true;
    conv->last = norm;
    return true;
  }

  // A constant with one value per channel, shaped to broadcast along dimension 1.
  bool AbsorbBias(Conv* conv) {
    return AbsorbSum(conv, [&](const ir::Node& sum, const ir::Endpoint& other) {
      const ir::TensorPtr row = Fuser::ConstOf(other, DType::kFloat);
      if (row == nullptr || ir::ElementsOf(row->desc.dims) != conv->channels()) return false;
      if (sum.type == "BiasAdd") {
        if (Fuser::TextAttr(sum, "data_format", "NHWC") != "NCHW") return false;
      } else {
        const ir::Dims& dims = row->desc.dims;
        const bool meets = dims.size() >= 3 && dims.size() <= 4 && dims[dims.size() - 3] == conv->channels();
        if (!meets) return false;
      }
      const Floats values = FloatsOf(*row);
      for (size_t c = 0; c < values.size(); ++c) conv->bias[c] += values[c];
      conv->has_bias = true;
      return true;
    });
  }

  void AbsorbAddend(Conv* conv) {
    AbsorbSum(conv, [&](const ir::Node& sum, const ir::Endpoint& other) {
      if (sum.type != "Add" || !IsAddend(*conv, other) || Fuser::RankOf(other) != 4) return false;
      conv->addend = other;
      return true;
    });
  }

  Status Emit(const Conv& conv, bool scaled) {
    ir::Endpoint filter = Fuser::At(*conv.node, 1);
    if (scaled) {
      Floats values = FloatsOf(*conv.filter);
      const size_t each = values.size() / conv.factor.size();
      for (size_t i = 0; i < values.size(); ++i) values[i] *= conv.factor[i / each];
      ir::NodePtr made;
      MP_RETURN_IF_ERROR(fuser_.NewConst(*conv.node, DType::kFloat, conv.filter->desc.dims, values.data(), &made));
      filter = {made, 0};
    }
    ir::Endpoint bias;
    if (conv.has_bias) {
      ir::NodePtr made;
      MP_RETURN_IF_ERROR(fuser_.NewConst(*conv.node, DType::kFloat, {conv.channels()}, conv.bias.data(), &made));
      bias = {made, 0};
    }
    ir::Attributes attributes;
    attributes["filter_dims"].value = conv.filter->desc.dims;
    attributes["strides"].value = conv.strides;
    attributes["pads"].value = conv.pads;
    attributes["dilations"].value = conv.dilations;
    attributes["groups"].value = conv.groups;
    attributes["activation"].value = conv.activation;
    attributes["channels_last"].value = false;
    const Fuser::Operand inputs[] = {
        {"x", Fuser::At(*conv.node, 0)}, {"filter", filter}, {"bias", bias}, {"addend", conv.addend}};
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(
        fuser_.NewNode("MillpondFusedConv", *conv.node, inputs, conv.last->outputs[0], std::move(attributes), &made));
    return fuser_.Fuse({conv.last, 0}, made);
  }
};

}  // namespace

Status FuseConv(ir::Graph* graph, bool* out_changed) { return ConvFusion(graph).Run(out_changed); }

}  // namespace millpond::passes
