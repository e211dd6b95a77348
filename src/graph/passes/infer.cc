// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/infer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/graph/passes/kinds.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {
namespace {

// A loop's shapes settle in two or three rounds; what still changes after these is taken as unknown.
constexpr int kMaxRounds = 8;

using Descs = std::vector<ir::TensorDesc>;

void SetShape(DType dtype, const ir::Dims& dims, ir::TensorDesc* desc) {
  desc->dtype = dtype;
  desc->dims = dims;
  desc->origin_dims = dims;
  desc->has_shape = true;
  desc->has_origin_shape = true;
}

// The reader's description of its input, under its own name. A format that a client set on the reader stays: the
// writer may have none.
void CopyShape(const ir::TensorDesc& from, ir::TensorDesc* to) {
  SetShape(from.dtype, from.dims, to);
  if (to->format != ir::kFormatNd) return;
  to->format = from.format;
  to->origin_format = from.origin_format;
}

// The image format propagates through operators that keep the dimensions in place: convolutions and what is between
// them. So a client need only describe its Data.
void KeepFormat(ir::Node* node) {
  constexpr int32_t kImages[] = {0, 1, 27, 30};  // NCHW, NHWC, NDHWC, NCDHW
  static constexpr std::string_view kMoves[] = {"Transpose", "Permute", "Reshape", "TransData", "MatMul", "Gather",
                                                "AsStrided", "View",    "Slice",   "Pack",      "Tile"};
  if (node->inputs.empty() || node->inputs[0].source == nullptr) return;
  const ir::TensorDesc& from = node->inputs[0].desc;
  const bool image = std::find(std::begin(kImages), std::end(kImages), from.format) != std::end(kImages);
  const bool moves = std::any_of(std::begin(kMoves), std::end(kMoves),
                                 [&](std::string_view word) { return node->type.starts_with(word); });
  if (!image || moves) return;
  for (ir::TensorDesc& output : node->outputs) {
    if (output.format != ir::kFormatNd || output.dims.size() != from.dims.size() || output.dims.size() < 4) continue;
    output.format = from.format;
    output.origin_format = from.origin_format;
  }
}

// The types that an operand may have, for messages.
std::string TypesText(const GeOperand& operand) {
  std::string text;
  for (int number = 0; number < 64; ++number) {
    if (((operand.types >> number) & 1) == 0) continue;
    const char* name = DTypeName(static_cast<DType>(number));
    if (BitsOf(static_cast<DType>(number)) == 0) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

Status VerifyTypes(const ir::Node& node, const NodeDoor& door) {
  const GeOp* definition = FindGeDefinition(node.type);
  if (definition == nullptr || door.input_counts.size() != definition->inputs.size()) return Ok();
  size_t place = 0;
  for (size_t i = 0; i < definition->inputs.size(); ++i) {
    for (uint32_t member = 0; member < door.input_counts[i]; ++member, ++place) {
      const ir::Input& input = node.inputs[place];
      if (input.source == nullptr || input.desc.dtype == DType::kUndefined) continue;
      MP_REQUIRE(definition->inputs[i].Allows(input.desc.dtype),
                 "%s: input %zu (\"%s\") is %s, from %s, and must be one of: %s", Named(node).c_str(), place,
                 input.desc.name.c_str(), DTypeName(input.desc.dtype), Named(*input.source).c_str(),
                 TypesText(definition->inputs[i]).c_str());
    }
  }
  return Ok();
}

class Walk {
 public:
  explicit Walk(const InferEnvironment& environment)
      : environment_(environment),
        own_(0, kMaxVisits),
        budget_(environment.budget != nullptr ? environment.budget : &own_) {}

  // `settled`: shapes are final, so the hook may be called.
  Status Run(ir::Graph* graph, bool settled) {
    std::vector<ir::NodePtr> order;
    MP_RETURN_IF_ERROR(graph->Sorted(&order));
    for (const ir::NodePtr& node : order) {
      MP_RETURN_IF_ERROR(budget_->Spend(0, 1).Prefixed("shapes of nested loops"));
      MP_RETURN_IF_ERROR(Visit(node.get(), settled));
      if (settled && environment_.after_node) MP_RETURN_IF_ERROR(environment_.after_node(node));
    }
    return Ok();
  }

  Status Visit(ir::Node* node, bool settled) {
    const Kind kind = KindOf(*node);
    // A subgraph's inputs were settled by its caller.
    if (kind == Kind::kData && node->graph()->parent() != nullptr) return Ok();
    for (ir::Input& input : node->inputs) {
      if (input.source == nullptr) continue;
      CopyShape(input.source->outputs[static_cast<size_t>(input.index)], &input.desc);
    }
    switch (kind) {
      case Kind::kCall:
      case Kind::kIf:
      case Kind::kCase:
        return VisitBranches(node, settled);
      case Kind::kWhile:
      case Kind::kFor:
        return VisitLoop(node, settled);
      default:
        return VisitOperator(node);
    }
  }

 private:
  Status VisitOperator(ir::Node* node) {
    const NodeDoor door = DoorOf(*node);
    MP_RETURN_IF_ERROR(VerifyTypes(*node, door));
    std::vector<InferInput> inputs(node->inputs.size());
    std::vector<ir::TensorPtr> held;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Input& input = node->inputs[i];
      if (input.source == nullptr) continue;
      inputs[i].dtype = input.desc.dtype;
      inputs[i].dims = input.desc.dims;
      const ir::TensorPtr constant = Constant(input.source.get(), input.index);
      if (constant == nullptr || constant->desc.dtype == DType::kString) continue;
      inputs[i].values = constant->data.data;
      held.push_back(constant);
    }
    InferResult result;
    MP_RETURN_IF_ERROR(InferNode(*node, door, inputs, environment_.clients, &result));
    MP_CHECK(result.outputs.size() == node->outputs.size(), kInternal, "%s: %zu of its %zu outputs were inferred",
             Named(*node).c_str(), result.outputs.size(), node->outputs.size());
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      InferResult::Output& output = result.outputs[i];
      // Bounds are not shapes.
      if (result.waits && ir::IsKnownRank(output.dims)) output.dims.assign(output.dims.size(), ir::kUnknownDim);
      MP_REQUIRE(!ir::IsStatic(output.dims) || ir::ElementsOf(output.dims) >= 0,
                 "%s: output %zu of shape %s has an element count that overflows", Named(*node).c_str(), i,
                 ir::TextOf(output.dims).c_str());
      SetShape(output.dtype, output.dims, &node->outputs[i]);
    }
    KeepFormat(node);
    return Ok();
  }

  // The constant that reaches this input, also through the inputs of branches.
  ir::TensorPtr Constant(const ir::Node* node, int32_t index) const {
    while (node != nullptr && KindOf(*node) == Kind::kData) {
      const auto caller = callers_.find(node->graph());
      if (caller == callers_.end()) return nullptr;
      const ir::Input& input = caller->second->inputs[static_cast<size_t>(ParentInput(*node))];
      node = input.source.get();
      index = input.index;
    }
    return ConstantAt(node, index);
  }

  Descs InputsOf(const ir::Node& node) const {
    Descs descs;
    for (const ir::Input& input : node.inputs) {
      descs.push_back(input.desc);
      if (input.source == nullptr) descs.back().dtype = DType::kUndefined;
    }
    return descs;
  }

  // Infers a subgraph whose inputs are described by `given`, indexed by the parent's inputs.
  Status Enter(ir::Graph* graph, const Descs& given, bool settled, Descs* out_outputs) {
    for (const ir::NodePtr& data : graph->inputs) {
      const ir::TensorDesc& desc = given[static_cast<size_t>(ParentInput(*data))];
      CopyShape(desc, &data->outputs[0]);
      if (!data->inputs.empty()) CopyShape(desc, &data->inputs[0].desc);
    }
    MP_RETURN_IF_ERROR(Run(graph, settled));
    out_outputs->clear();
    for (const ir::Endpoint& output : graph->outputs) {
      out_outputs->push_back(output.node->outputs[static_cast<size_t>(output.index)]);
    }
    return Ok();
  }

  Status VisitBranches(ir::Node* node, bool settled) {
    const Descs given = InputsOf(*node);
    Descs joined;
    for (size_t branch = 0; branch < node->subgraphs.size(); ++branch) {
      const ir::GraphPtr graph = node->graph()->FindSubgraph(node->subgraphs[branch].graph);
      Descs outputs;
      callers_[graph.get()] = node;
      MP_RETURN_IF_ERROR(Enter(graph.get(), given, settled, &outputs));
      if (branch == 0) {
        joined = std::move(outputs);
        continue;
      }
      for (size_t i = 0; i < joined.size(); ++i) {
        MP_REQUIRE(joined[i].dtype == outputs[i].dtype,
                   "%s: output %zu is %s in subgraph \"%s\" and %s in subgraph \"%s\"; they must agree",
                   Named(*node).c_str(), i, DTypeName(joined[i].dtype), node->subgraphs[0].name.c_str(),
                   DTypeName(outputs[i].dtype), node->subgraphs[branch].name.c_str());
        joined[i].dims = JoinDims(joined[i].dims, outputs[i].dims);
      }
    }
    for (size_t i = 0; i < node->outputs.size(); ++i) CopyShape(joined[i], &node->outputs[i]);
    return Ok();
  }

  // Loop-carried values have one shape for all iterations: dimensions that an iteration changes become unknown, until
  // none does.
  Status VisitLoop(ir::Node* node, bool settled) {
    Descs given = InputsOf(*node);
    const size_t first = KindOf(*node) == Kind::kFor ? 3 : 0;
    const ir::GraphPtr body = SubgraphOf(*node, "body");
    const ir::GraphPtr cond = SubgraphOf(*node, "cond");
    Descs outputs;
    for (int round = 0;; ++round) {
      MP_RETURN_IF_ERROR(Enter(body.get(), given, false, &outputs));
      bool changed = false;
      for (size_t i = 0; i < outputs.size(); ++i) {
        ir::TensorDesc& carried = given[first + i];
        MP_REQUIRE(carried.dtype == outputs[i].dtype,
                   "%s: input %zu is %s, and its body gives %s for the next round; they must agree",
                   Named(*node).c_str(), first + i, DTypeName(carried.dtype), DTypeName(outputs[i].dtype));
        ir::Dims joined = JoinDims(carried.dims, outputs[i].dims);
        if (joined == carried.dims) continue;
        changed = true;
        carried.dims = round < kMaxRounds ? std::move(joined) : ir::Dims{ir::kUnknownRank};
      }
      if (!changed) break;
    }
    Descs ignored;
    if (cond != nullptr) MP_RETURN_IF_ERROR(Enter(cond.get(), given, settled, &ignored));
    if (settled) MP_RETURN_IF_ERROR(Enter(body.get(), given, true, &ignored));
    for (size_t i = 0; i < node->outputs.size(); ++i) CopyShape(given[first + i], &node->outputs[i]);
    return Ok();
  }

  const InferEnvironment& environment_;
  ir::Budget own_;
  ir::Budget* budget_;
  std::unordered_map<const ir::Graph*, const ir::Node*> callers_;  // of branches and calls, which run once
};

}  // namespace

Status Infer(ir::Graph* graph, const InferEnvironment& environment) { return Walk(environment).Run(graph, true); }

Status InferOne(ir::Node* node, const InferEnvironment& environment) { return Walk(environment).Visit(node, false); }

}  // namespace millpond::passes
