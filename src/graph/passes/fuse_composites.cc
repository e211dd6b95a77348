// SPDX-License-Identifier: Apache-2.0
// Functions that exporters decompose into primitives.
#include <cmath>
#include <numbers>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {
namespace {

constexpr double kRootHalf = 1 / std::numbers::sqrt2;

bool IsDivision(const ir::Endpoint& value) { return Fuser::Is(value, "RealDiv") || Fuser::Is(value, "Div"); }

// value == x * factor for a constant factor.
bool IsScaled(const ir::Endpoint& value, double factor, ir::Endpoint* out_x) {
  if (IsDivision(value)) {
    *out_x = Fuser::At(value, 0);
    return out_x->node != nullptr && Fuser::IsNumber(Fuser::At(value, 1), 1 / factor);
  }
  float number = 0;
  return Fuser::Is(value, "Mul") && Fuser::HasNumber(*value.node, &number, out_x) &&
         std::abs(number - factor) <= 1e-5 * std::abs(factor);
}

bool IsPower(const ir::Endpoint& value, double exponent, const ir::Endpoint& x) {
  return Fuser::Is(value, "Pow") && SameValue(Fuser::At(value, 0), x) && Fuser::IsNumber(Fuser::At(value, 1), exponent);
}

bool IsSquare(const ir::Endpoint& value, ir::Endpoint* out_x) {
  *out_x = Fuser::At(value, 0);
  if (out_x->node == nullptr) return false;
  if (Fuser::Is(value, "Square") || IsPower(value, 2, *out_x)) return true;
  return Fuser::Is(value, "Mul") && SameValue(*out_x, Fuser::At(value, 1));
}

bool IsCube(const ir::Endpoint& value, const ir::Endpoint& x) {
  if (IsPower(value, 3, x)) return true;
  ir::Endpoint square, base;
  return Fuser::Is(value, "Mul") && Fuser::Pairs(*value.node, x, &square) && IsSquare(square, &base) &&
         SameValue(base, x);
}

// u == sqrt(2 / pi) * (x + 0.044715 x^3)
bool IsTanhArgument(const ir::Endpoint& u, ir::Endpoint* out_x) {
  ir::Endpoint sum;
  if (!IsScaled(u, std::sqrt(2 / std::numbers::pi), &sum) || !Fuser::Is(sum, "Add")) return false;
  for (size_t place = 0; place < 2; ++place) {
    const ir::Endpoint x = Fuser::At(sum, place);
    ir::Endpoint cube;
    if (x.node == nullptr || !IsScaled(Fuser::At(sum, 1 - place), 0.044715, &cube) || !IsCube(cube, x)) continue;
    *out_x = x;
    return true;
  }
  return false;
}

class Composites : public FusingPass {
  using FusingPass::FusingPass;

  Status Visit(const ir::NodePtr& node) override {
    if (node->outputs.empty() || !Fuser::IsFloat({node, 0})) return Ok();
    if (node->type == "Erf" || node->type == "Tanh") return Gelu(node);
    if (node->type == "Sigmoid") return Swish(node);
    return node->type == "ReduceMean" ? Norm(node) : Ok();
  }

  ir::NodePtr Reader(const ir::NodePtr& node, std::string_view type) const {
    const ir::NodePtr reader = fuser_.SoleReader({node, 0});
    return reader != nullptr && reader->type == type ? reader : nullptr;
  }

  // 0.5 * x * (1 + f(u)), in any order of its factors.
  Status Gelu(const ir::NodePtr& inner) {
    ir::Endpoint x;
    const ir::Endpoint u = Fuser::At(*inner, 0);
    const bool by_tanh = inner->type == "Tanh";
    if ((by_tanh ? !IsTanhArgument(u, &x) : !IsScaled(u, kRootHalf, &x)) || fuser_.IsMutable(x)) return Ok();
    const ir::NodePtr plus_one = Reader(inner, "Add");
    ir::Endpoint rest;
    float one = 0;
    if (plus_one == nullptr || !Fuser::HasNumber(*plus_one, &one, &rest) || one != 1) return Ok();
    const ir::NodePtr first = Reader(plus_one, "Mul");
    ir::Endpoint other;
    if (first == nullptr || !Fuser::Pairs(*first, {plus_one, 0}, &other)) return Ok();
    ir::NodePtr last = first;
    ir::Endpoint halved;
    if (!(IsScaled(other, 0.5, &halved) && SameValue(halved, x))) {
      last = Reader(first, "Mul");
      ir::Endpoint factor;
      if (last == nullptr || !Fuser::Pairs(*last, {first, 0}, &factor)) return Ok();
      const bool x_first = SameValue(other, x) && Fuser::IsNumber(factor, 0.5);
      const bool half_first = Fuser::IsNumber(other, 0.5) && SameValue(factor, x);
      if (!x_first && !half_first) return Ok();
    }
    ir::NodePtr made;
    const Fuser::Operand inputs[] = {{"x", x}};
    ir::Attributes attributes;
    attributes["approximate"].value = std::string(by_tanh ? "tanh" : "none");
    MP_RETURN_IF_ERROR(fuser_.NewNode("GeluV2", *last, inputs, last->outputs[0], std::move(attributes), &made));
    return fuser_.Fuse({last, 0}, made);
  }

  Status Swish(const ir::NodePtr& sigmoid) {
    const ir::NodePtr product = Reader(sigmoid, "Mul");
    ir::Endpoint other;
    if (product == nullptr || !Fuser::Pairs(*product, {sigmoid, 0}, &other)) return Ok();
    const ir::Endpoint x = Fuser::At(*sigmoid, 0);
    if (!SameValue(other, x)) return Ok();
    ir::NodePtr made;
    const Fuser::Operand inputs[] = {{"x", x}};
    MP_RETURN_IF_ERROR(fuser_.NewNode("Swish", *product, inputs, product->outputs[0], {}, &made));
    return fuser_.Fuse({product, 0}, made);
  }

  bool IsRowMean(const ir::NodePtr& node, int64_t* out_size) const {
    if (node->type != "ReduceMean" || !Fuser::BoolAttr(*node, "keep_dims", false)) return false;
    const ir::Endpoint x = Fuser::At(*node, 0);
    const int rank = x.node != nullptr ? Fuser::RankOf(x) : -1;
    const std::vector<int64_t> axes = Fuser::IntsOf(Fuser::At(*node, 1));
    if (rank < 1 || axes.size() != 1 || (axes[0] != -1 && axes[0] != rank - 1)) return false;
    *out_size = Fuser::DescOf(x).dims.back();
    return *out_size > 0;
  }

  // A constant with one value per element of a row.
  static bool IsRow(const ir::Endpoint& value, int64_t size) {
    const ir::TensorPtr tensor = Fuser::ConstOf(value, DType::kFloat);
    return tensor != nullptr && ir::ElementsOf(tensor->desc.dims) == size && tensor->desc.dims.back() == size;
  }

  // From mean(square) + epsilon to the quotient by its root: value == base / sqrt(mean + epsilon).
  ir::NodePtr DividedByRoot(const ir::NodePtr& mean, float* out_epsilon, ir::Endpoint* out_base) const {
    const ir::NodePtr plus = Reader(mean, "Add");
    ir::Endpoint rest;
    if (plus == nullptr || !Fuser::HasNumber(*plus, out_epsilon, &rest)) return nullptr;
    if (const ir::NodePtr inverse = Reader(plus, "Rsqrt")) return Multiplied(inverse, out_base);
    const ir::NodePtr root = Reader(plus, "Sqrt");
    if (root == nullptr) return nullptr;
    if (const ir::NodePtr inverse = Reader(root, "Reciprocal")) return Multiplied(inverse, out_base);
    ir::NodePtr quotient = fuser_.SoleReader({root, 0});
    if (quotient == nullptr || !IsDivision({quotient, 0}) || Fuser::At(*quotient, 1).node != root) return nullptr;
    *out_base = Fuser::At(*quotient, 0);
    return quotient;
  }
  ir::NodePtr Multiplied(const ir::NodePtr& inverse, ir::Endpoint* out_base) const {
    const ir::NodePtr product = Reader(inverse, "Mul");
    return product != nullptr && Fuser::Pairs(*product, {inverse, 0}, out_base) ? product : nullptr;
  }

  // `mean` may be the mean of squares in a layer norm or an RMS norm.
  Status Norm(const ir::NodePtr& mean) {
    int64_t size = 0;
    ir::Endpoint base;
    const ir::Endpoint square = Fuser::At(*mean, 0);
    if (!IsRowMean(mean, &size) || !IsSquare(square, &base)) return Ok();
    float epsilon = 0;
    ir::Endpoint divided;
    const ir::NodePtr normal = DividedByRoot(mean, &epsilon, &divided);
    if (normal == nullptr || !SameValue(divided, base) || fuser_.IsMutable(base)) return Ok();
    // What follows: a scale and an offset per element of a row.
    ir::NodePtr last = normal;
    ir::Endpoint gamma, beta;
    if (const ir::NodePtr scaled = Reader(last, "Mul")) {
      ir::Endpoint factor;
      if (Fuser::Pairs(*scaled, {last, 0}, &factor) && IsRow(factor, size)) {
        gamma = factor;
        last = scaled;
      }
    }
    int64_t mean_size = 0;
    const bool centred = Fuser::Is(base, "Sub") && IsRowMean(Fuser::At(base, 1).node, &mean_size) &&
                         SameValue(Fuser::At(*Fuser::At(base, 1).node, 0), Fuser::At(base, 0)) &&
                         fuser_.MayMove(*base.node);
    if (!centred) return gamma.node != nullptr ? MakeRms(last, base, gamma, size, epsilon) : Ok();
    if (gamma.node != nullptr) {
      const ir::NodePtr shifted = Reader(last, "Add");
      ir::Endpoint addend;
      if (shifted != nullptr && Fuser::Pairs(*shifted, {last, 0}, &addend) && IsRow(addend, size)) {
        beta = addend;
        last = shifted;
      }
    }
    return MakeLayerNorm(last, Fuser::At(base, 0), gamma, beta, size, epsilon);
  }

  Status Flat(const ir::NodePtr& after, ir::Endpoint* row, int64_t size) {
    const ir::TensorPtr tensor = row->node != nullptr ? Fuser::ConstOf(*row, DType::kFloat) : nullptr;
    if (tensor == nullptr || tensor->desc.dims.size() == 1) return Ok();
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*after, DType::kFloat, {size}, tensor->data.data, &made));
    *row = {made, 0};
    return Ok();
  }

  static ir::TensorDesc RowStatistic(const ir::TensorDesc& x, const char* name) {
    ir::TensorDesc desc = x;
    desc.name = name;
    desc.dims.back() = 1;
    desc.origin_dims = desc.dims;
    return desc;
  }

  Status MakeLayerNorm(const ir::NodePtr& last, const ir::Endpoint& x, ir::Endpoint gamma, ir::Endpoint beta,
                       int64_t size, float epsilon) {
    ir::NodePtr shape, made;
    MP_RETURN_IF_ERROR(fuser_.NewConst(*last, DType::kInt64, {1}, &size, &shape));
    MP_RETURN_IF_ERROR(Flat(last, &gamma, size));
    MP_RETURN_IF_ERROR(Flat(last, &beta, size));
    const Fuser::Operand inputs[] = {{"x", x}, {"normalized_shape", {shape, 0}}, {"gamma", gamma}, {"beta", beta}};
    ir::Attributes attributes;
    attributes["epsilon"].value = epsilon;
    MP_RETURN_IF_ERROR(fuser_.NewNode("LayerNormV4", *last, inputs, last->outputs[0], std::move(attributes), &made));
    made->outputs.push_back(RowStatistic(last->outputs[0], "mean"));
    made->outputs.push_back(RowStatistic(last->outputs[0], "rstd"));
    return fuser_.Fuse({last, 0}, made);
  }

  Status MakeRms(const ir::NodePtr& last, const ir::Endpoint& x, ir::Endpoint gamma, int64_t size, float epsilon) {
    MP_RETURN_IF_ERROR(Flat(last, &gamma, size));
    ir::NodePtr made;
    const Fuser::Operand inputs[] = {{"x", x}, {"gamma", gamma}};
    ir::Attributes attributes;
    attributes["epsilon"].value = epsilon;
    MP_RETURN_IF_ERROR(fuser_.NewNode("RmsNorm", *last, inputs, last->outputs[0], std::move(attributes), &made));
    made->outputs.push_back(RowStatistic(last->outputs[0], "rstd"));
    return fuser_.Fuse({last, 0}, made);
  }
};

}  // namespace

Status FuseComposites(ir::Graph* graph, bool* out_changed) { return Composites(graph).Run(out_changed); }

}  // namespace millpond::passes
