// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/import.h"

#include <algorithm>
#include <set>

#include "src/graph/onnx/narrow.h"
#include "src/graph/onnx/scope.h"
#include "src/graph/passes/rewrite.h"

namespace millpond::onnx {
namespace {

Status CheckOpsets(const Model& model) {
  const auto own = model.opsets.find("");
  if (own == model.opsets.end()) return Ok();  // all its nodes are from other domains
  MP_CHECK(own->second >= 1 && own->second <= kNewestOpset, kUnsupported,
           "the model is of opset %lld; %lld to %lld are supported (onnx.version_converter changes it)",
           static_cast<long long>(own->second), static_cast<long long>(kOldestOpset),
           static_cast<long long>(kNewestOpset));
  return Ok();
}

// The one narrow type that graphs have too, two elements in a byte.
bool IsPacked(const NarrowType* type) { return type != nullptr && type->bits == 4 && type->carrier == DType::kInt8; }

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options, const passes::PassEnvironment& environment)
      : model_(model), options_(options) {
    importing_.model = &model;
    importing_.making = {.environment = &environment, .budget = ir::Budget::ForModel(model.described)};
    for (const Function& one : model.functions) importing_.functions.try_emplace({one.domain, one.name}, &one);
    const std::string& name = options.graph_name.empty() ? model.graph.name : options.graph_name;
    importing_.root = std::make_shared<ir::Graph>(name.empty() ? "graph" : name);  // a model need not name its own
  }

  Status Run(ir::GraphPtr* out) {
    MP_RETURN_IF_ERROR(CheckOpsets(model_));
    ir::Graph* root = importing_.root.get();
    Scope scope(&importing_, root);
    scope.SetOpsets(&model_.opsets);
    MP_RETURN_IF_ERROR(Inputs(&scope));
    MP_RETURN_IF_ERROR(scope.Translate(model_.graph));
    MP_REQUIRE(!model_.graph.outputs.empty(), "the model has no outputs");
    Vals outputs;
    if (options_.outputs.empty()) {
      MP_RETURN_IF_ERROR(scope.Outputs(model_.graph, &outputs));
    } else {
      MP_RETURN_IF_ERROR(ChosenOutputs(&scope, &outputs));
    }
    for (const Val& value : outputs) {
      MP_REQUIRE(Given(value), "an output of the model has no value");
      const bool packed = IsPacked(NarrowOf(value));
      root->outputs.push_back(packed ? scope.builder().Op("MillpondAs", {value}, {{"type", DType::kInt4}}) : value);
      MP_RETURN_IF_ERROR(scope.builder().TakeStatus());
    }
    root->valid = true;
    bool changed = false;
    MP_RETURN_IF_ERROR(passes::RemoveDead(root, &changed));
    *out = importing_.root;
    return Ok();
  }

 private:
  // Old models list their constants among the inputs; those are not fed.
  Status Inputs(Scope* scope) {
    std::set<std::string_view> constants;
    for (const auto& [name, tensor] : model_.graph.constants) constants.insert(name);
    std::set<std::string> unknown;
    for (const auto& [name, dims] : options_.input_dims) unknown.insert(name);
    for (const std::string& name : options_.half_inputs) unknown.insert(name);
    for (const std::string& name : options_.input_names) unknown.insert(name);
    int64_t index = 0;
    for (const ValueInfo& input : model_.graph.inputs) {
      if (constants.contains(input.name)) continue;
      MP_RETURN_IF_ERROR(Input(scope, input, index++).Prefixed(Format("input \"%.100s\"", input.name.c_str())));
      unknown.erase(input.name);
    }
    MP_REQUIRE(unknown.empty(), "the parameters name input \"%.100s\", which the model does not have",
               unknown.begin()->c_str());
    return Ok();
  }

  Status Input(Scope* scope, const ValueInfo& input, int64_t index) {
    MP_CHECK(input.other_kind.empty(), kUnsupported, "is %s, which is not supported", input.other_kind.c_str());
    MP_CHECK(input.dtype != DType::kUndefined && input.dtype != DType::kString, kUnsupported, "is of %s",
             input.dtype == DType::kString ? "strings, which are not supported" : "no type");
    ir::TensorDesc desc;
    desc.dtype = input.dtype;
    desc.has_shape = desc.has_origin_shape = true;
    desc.dims = input.has_shape ? input.dims : ir::Dims{ir::kUnknownRank};
    if (const auto chosen = options_.input_dims.find(input.name); chosen != options_.input_dims.end()) {
      const bool same_rank = !input.has_shape || chosen->second.size() == input.dims.size();
      MP_REQUIRE(same_rank, "shape %s was requested, but the model has %s", ir::TextOf(chosen->second).c_str(),
                 ir::TextOf(input.dims).c_str());
      desc.dims = chosen->second;
    }
    MP_REQUIRE(!ir::IsStatic(desc.dims) || ir::BytesOf(desc.dtype, desc.dims) >= 0,
               "shape %s has a size that overflows", ir::TextOf(desc.dims).c_str());
    desc.origin_dims = desc.dims;
    const bool half =
        std::find(options_.half_inputs.begin(), options_.half_inputs.end(), input.name) != options_.half_inputs.end();
    if (half) desc.dtype = DType::kHalf;
    Builder& builder = scope->builder();
    const NarrowType* narrow = NarrowFromOnnx(input.onnx_type);
    if (IsPacked(narrow)) desc.dtype = DType::kInt4;
    Val value = builder.Data(input.name, index, desc);
    if (half) value = builder.Cast(value, input.dtype);
    if (IsPacked(narrow)) value = builder.Op("MillpondAs", {value}, {{"type", narrow->carrier}});
    if (narrow != nullptr) value = Marked(builder, value, *narrow);
    MP_RETURN_IF_ERROR(builder.TakeStatus());
    return scope->Define(input.name, value);
  }

  Status ChosenOutputs(Scope* scope, Vals* out) {
    for (const auto& [name, place] : options_.outputs) {
      const auto& nodes = model_.graph.nodes;  // a client asks for few
      const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) { return one.name == name; });
      MP_REQUIRE(node != nodes.end(), "output \"%.100s:%lld\" was requested, but no node has that name", name.c_str(),
                 static_cast<long long>(place));
      MP_REQUIRE(place >= 0 && static_cast<size_t>(place) < node->outputs.size(),
                 "output \"%.100s:%lld\" was requested, but the node has %zu", name.c_str(),
                 static_cast<long long>(place), node->outputs.size());
      MP_RETURN_IF_ERROR(scope->Lookup(node->outputs[static_cast<size_t>(place)], &out->emplace_back()));
    }
    return Ok();
  }

  const Model& model_;
  const ImportOptions& options_;
  Importing importing_;
};

}  // namespace

Status Import(const Model& model, const ImportOptions& options, const passes::PassEnvironment& environment,
              ir::GraphPtr* out) {
  return Importer(model, options, environment).Run(out);
}

}  // namespace millpond::onnx
