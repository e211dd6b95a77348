// SPDX-License-Identifier: Apache-2.0
// softmax(q k' * scale + mask) v, for heads of rank 4, as one node. Transposes that only move the heads to the front
// are absorbed: an attribute gives the order of each operand's dimensions (b batch, h heads, s sequence, d depth).
//
#include <cstring>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

class AttentionFusion : public FusingPass {
  using FusingPass::FusingPass;

  Status Visit(const ir::NodePtr& node) override {
    Attention attention;
    return node->type == "SoftmaxV2" && Read(node, &attention) ? Emit(attention) : Ok();
  }

  struct Heads {
    ir::Endpoint value;
    std::string layout = "bhsd";
  };
  struct Attention {
    ir::NodePtr last;
    Heads q, k, v;
    ir::Endpoint mask;
    ir::Endpoint condition;  // gives the mask: `hidden` where it is false
    float hidden = 0;
    float scale = 1;
    std::string out_layout = "bhsd";
  };

  bool IsMatMul(const ir::NodePtr& node) const {
    return node != nullptr && (node->type == "BatchMatMulV2" || node->type == "BatchMatMul") &&
           Fuser::At(*node, 2).node == nullptr && Fuser::IsFloat({node, 0}) && Fuser::RankOf({node, 0}) == 4 &&
           !Fuser::BoolAttr(*node, "adj_x1", false);
  }

  bool Read(const ir::NodePtr& softmax, Attention* attention) const {
    const std::vector<int64_t> axes = Fuser::IntsAttr(*softmax, "axes");
    if (!Fuser::IsFloat({softmax, 0}) || Fuser::RankOf({softmax, 0}) != 4) return false;
    if (!axes.empty() && (axes.size() != 1 || (axes[0] != -1 && axes[0] != 3))) return false;
    const ir::NodePtr last = fuser_.SoleReader({softmax, 0});
    if (!IsMatMul(last) || Fuser::At(*last, 0).node != softmax || Fuser::BoolAttr(*last, "adj_x2", false)) return false;
    attention->last = last;
    ir::Endpoint scores = Fuser::At(*softmax, 0);
    if (!Alone(scores)) return false;
    Mask(&scores, attention);
    if (!Alone(scores)) return false;
    Scale(&scores, attention);
    const ir::NodePtr first = scores.node;
    if (!Alone(scores) || !IsMatMul(first)) return false;
    attention->q.value = Fuser::At(*first, 0);
    attention->k.value = Fuser::At(*first, 1);
    attention->v.value = Fuser::At(*last, 1);
    if (!Fuser::BoolAttr(*first, "adj_x2", false)) attention->k.layout = "bhds";
    for (Heads* heads : {&attention->q, &attention->k, &attention->v}) {
      if (!Fuser::IsFloat(heads->value) || Fuser::RankOf(heads->value) != 4 || fuser_.IsMutable(heads->value))
        return false;
      Before(heads);
    }
    // Broadcast batches and heads are left to the plain matmuls; sizes known only at run time are fine.
    const auto size = [](const Heads& heads, char dim) {
      return Fuser::DescOf(heads.value).dims[heads.layout.find(dim)];
    };
    for (const char dim : {'b', 'h'}) {
      const int64_t wanted = size(attention->q, dim);
      if (size(attention->k, dim) != wanted || size(attention->v, dim) != wanted) return false;
    }
    After(attention);
    return true;
  }

  bool Alone(const ir::Endpoint& value) const { return fuser_.SoleReader(value) != nullptr; }

  void Mask(ir::Endpoint* scores, Attention* attention) const {
    if (Fuser::Is(*scores, "Add")) {
      for (size_t place = 0; place < 2; ++place) {
        const ir::Endpoint rest = Fuser::At(*scores, place);
        const ir::Endpoint mask = Fuser::At(*scores, 1 - place);
        if (!LeadsToMatMul(rest) || !Fuser::IsFloat(mask) || fuser_.IsMutable(mask)) continue;
        if (Fuser::RankOf(mask) < 0 || Fuser::RankOf(mask) > 4) continue;
        attention->mask = mask;
        *scores = rest;
        return;
      }
    } else if (Fuser::Is(*scores, "SelectV2") || Fuser::Is(*scores, "Select")) {
      const ir::Endpoint condition = Fuser::At(*scores, 0);
      const std::optional<float> hidden = Fuser::NumberOf(Fuser::At(*scores, 2));
      if (!LeadsToMatMul(Fuser::At(*scores, 1)) || !hidden.has_value() || *hidden > -1e9F) return;
      if (SeesSomething(condition, Fuser::DescOf(*scores).dims)) {
        attention->mask = condition;
      } else if (IsCondition(condition)) {
        attention->condition = condition;
        attention->hidden = *hidden;
      } else {
        return;
      }
      *scores = Fuser::At(*scores, 1);
    }
  }

  // The number is so large that adding it to a score gives the number itself: so the condition can become an additive
  // mask, even where a row is fully masked.
  bool IsCondition(const ir::Endpoint& condition) const {
    return condition.node != nullptr && Fuser::DescOf(condition).dtype == DType::kBool &&
           Fuser::RankOf(condition) >= 0 && Fuser::RankOf(condition) <= 4 && !fuser_.IsMutable(condition);
  }

  // In a fully masked row the number decides the result, which an additive mask would lose.
  static bool SeesSomething(const ir::Endpoint& condition, const ir::Dims& scores) {
    const ir::TensorPtr mask = Fuser::ConstOf(condition, DType::kBool);
    if (mask == nullptr || mask->desc.dims.empty() || mask->desc.dims.size() > 4) return false;
    const int64_t row = mask->desc.dims.back();
    if (row != scores.back() || row <= 0) return false;
    for (int64_t at = 0; at < ir::ElementsOf(mask->desc.dims); at += row) {
      if (std::memchr(mask->data.data + at, 1, static_cast<size_t>(row)) == nullptr) return false;
    }
    return true;
  }

  static bool LeadsToMatMul(const ir::Endpoint& value) {
    if (value.node == nullptr) return false;
    const std::string& type = value.node->type;
    if (type == "BatchMatMulV2" || type == "BatchMatMul") return true;
    ir::Endpoint rest = Fuser::At(*value.node, 0);
    float number = 0;
    if (type == "Mul" && !Fuser::HasNumber(*value.node, &number, &rest)) return false;
    if (type != "Mul" && type != "RealDiv" && type != "Div") return false;
    return rest.node != nullptr && (rest.node->type == "BatchMatMulV2" || rest.node->type == "BatchMatMul");
  }

  static void Scale(ir::Endpoint* scores, Attention* attention) {
    float number = 0;
    ir::Endpoint rest;
    if (Fuser::Is(*scores, "Mul") && Fuser::HasNumber(*scores->node, &number, &rest)) {
      attention->scale = number;
      *scores = rest;
    } else if (Fuser::Is(*scores, "RealDiv") || Fuser::Is(*scores, "Div")) {
      const std::optional<float> divisor = Fuser::NumberOf(Fuser::At(*scores, 1));
      if (!divisor.has_value() || *divisor == 0) return;
      attention->scale = 1 / *divisor;
      *scores = Fuser::At(*scores, 0);
    }
  }

  // Reads what the transpose reads, unless that is changed in place.
  void Before(Heads* heads) const {
    const ir::NodePtr& node = heads->value.node;
    const std::vector<int64_t> perm = Fuser::PermOf(*node);
    const ir::Endpoint source = Fuser::At(*node, 0);
    if (perm.size() != 4 || source.node == nullptr || fuser_.IsMutable(source) || !fuser_.IsPlain(*node)) return;
    if (Fuser::RankOf(source) != 4) return;
    std::string layout = "    ";
    for (size_t i = 0; i < 4; ++i) layout[static_cast<size_t>(perm[i])] = heads->layout[i];
    heads->layout = layout;
    heads->value = source;
  }

  void After(Attention* attention) const {
    const ir::NodePtr after = fuser_.SoleReader({attention->last, 0});
    if (after == nullptr || Fuser::PermOf(*after) != std::vector<int64_t>{0, 2, 1, 3}) return;
    attention->out_layout = "bshd";
    attention->last = after;
  }

  // One for all layers.
  Status MaskOf(const Attention& attention, ir::Endpoint* out) {
    for (const auto& [condition, hidden, mask] : masks_) {
      if (!SameValue(condition, attention.condition) || hidden != attention.hidden) continue;
      *out = mask;
      return Ok();
    }
    constexpr float kSeen = 0;
    ir::NodePtr seen, unseen, mask;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*attention.last, DType::kFloat, {}, &kSeen, &seen));
    MP_RETURN_IF_ERROR(fuser_.NewConst(*attention.last, DType::kFloat, {}, &attention.hidden, &unseen));
    const Fuser::Operand inputs[] = {{"condition", attention.condition}, {"then", {seen, 0}}, {"else", {unseen, 0}}};
    ir::TensorDesc desc = Fuser::DescOf(attention.condition);
    desc.dtype = DType::kFloat;
    MP_RETURN_IF_ERROR(fuser_.NewNode("SelectV2", *attention.last, inputs, desc, {}, &mask));
    masks_.push_back({attention.condition, attention.hidden, {mask, 0}});
    *out = {mask, 0};
    return Ok();
  }

  Status Emit(const Attention& attention) {
    ir::Endpoint mask = attention.mask;
    if (attention.condition.node != nullptr) MP_RETURN_IF_ERROR(MaskOf(attention, &mask));
    ir::Attributes attributes;
    attributes["scale"].value = attention.scale;
    attributes["q_layout"].value = attention.q.layout;
    attributes["k_layout"].value = attention.k.layout;
    attributes["v_layout"].value = attention.v.layout;
    attributes["y_layout"].value = attention.out_layout;
    const Fuser::Operand inputs[] = {
        {"q", attention.q.value}, {"k", attention.k.value}, {"v", attention.v.value}, {"mask", mask}};
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(fuser_.NewNode("MillpondAttention", *attention.last, inputs, attention.last->outputs[0],
                                      std::move(attributes), &made));
    return fuser_.Fuse({attention.last, 0}, made);
  }

  struct MadeMask {
    ir::Endpoint condition;
    float hidden;
    ir::Endpoint mask;
  };
  std::vector<MadeMask> masks_;
};

}  // namespace

Status FuseAttention(ir::Graph* graph, bool* out_changed) { return AttentionFusion(graph).Run(out_changed); }

}  // namespace millpond::passes
