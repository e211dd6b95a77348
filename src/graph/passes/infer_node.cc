// SPDX-License-Identifier: Apache-2.0
// One node: constants and the like describe themselves, operators use the table, custom operators ask the client.
//
// The table's rules need every dimension. Where some are unknown, the rule is evaluated three times, with three
// different numbers in all unknown places: a result that is the same each time does not depend on them. 1 is one of
// the numbers, since it exposes rules that clamp to a length ("at most 10").
#include <algorithm>
#include <optional>
#include <utility>

#include "src/graph/passes/infer.h"
#include "src/graph/passes/kinds.h"
#include "src/ops/ge_infer.h"

namespace millpond::passes {
namespace {

constexpr int64_t kProbes[] = {1, 89, 4099};
const ir::Dims kAnyShape = {ir::kUnknownRank};

ir::Dims UnknownOfRank(size_t rank) { return ir::Dims(rank, ir::kUnknownDim); }

void OutputOf(const ir::TensorDesc& desc, InferResult* out) {
  // No shape: the client described nothing; a marker among the dimensions: that one is unknown.
  ir::Dims dims = desc.has_shape ? desc.dims : kAnyShape;
  if (ir::IsKnownRank(dims)) {
    for (int64_t& dim : dims) dim = std::max(dim, ir::kUnknownDim);
  }
  out->outputs.push_back({desc.dtype, std::move(dims)});
}

Status ListAttr(const ir::Node& node, std::string_view name, ir::Dims* out) {
  const ir::Attr* attr = node.FindAttr(name);
  MP_REQUIRE(attr != nullptr, "%s: attribute \"%s\" (ListInt) must be given and is missing", Named(node).c_str(),
             std::string(name).c_str());
  const auto* list = attr->As<std::vector<int64_t>>();
  MP_REQUIRE(list != nullptr || attr->As<std::monostate>() != nullptr, "%s: attribute \"%s\" must be ListInt",
             Named(node).c_str(), std::string(name).c_str());
  if (list != nullptr) *out = *list;
  MP_REQUIRE(ir::IsStatic(*out), "%s: attribute \"%s\" is %s, and every dimension must be known", Named(node).c_str(),
             std::string(name).c_str(), ir::TextOf(*out).c_str());
  return Ok();
}

// Constants whose bytes are in a file.
Status InferDescribed(const ir::Node& node, std::string_view shape, InferResult* out) {
  InferResult::Output output;
  output.dtype = TypeAttr(node, "dtype", DType::kUndefined);
  MP_REQUIRE(BitsOf(output.dtype) != 0, "%s: attribute \"dtype\" (Type) must be given and name a type with a size",
             Named(node).c_str());
  MP_RETURN_IF_ERROR(ListAttr(node, shape, &output.dims));
  out->outputs.push_back(std::move(output));
  return Ok();
}

void InferSource(const ir::Node& node, InferResult* out) {
  const bool input_says = !node.inputs.empty() && node.inputs[0].desc.has_shape;
  const ir::Attr* value = node.FindAttr("value");
  const ir::TensorPtr* initial = value != nullptr ? value->As<ir::TensorPtr>() : nullptr;
  if (!input_says && !node.outputs[0].has_shape && initial != nullptr && *initial != nullptr) {
    ir::TensorDesc desc = (*initial)->desc;
    desc.has_shape = true;  // a tensor always has one
    return OutputOf(desc, out);
  }
  OutputOf(input_says ? node.inputs[0].desc : node.outputs[0], out);
}

Status InferIdentity(const ir::Node& node, std::span<const InferInput> inputs, InferResult* out) {
  MP_REQUIRE(inputs.size() >= node.outputs.size(), "%s: has %zu inputs for %zu outputs", Named(node).c_str(),
             inputs.size(), node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) out->outputs.push_back({inputs[i].dtype, inputs[i].dims});
  return Ok();
}

Status InferShapeOf(const ir::Node& node, std::span<const InferInput> inputs, InferResult* out) {
  const DType dtype = node.type == "Rank" ? DType::kInt32 : TypeAttr(node, "dtype", DType::kInt32);
  MP_REQUIRE(dtype == DType::kInt32 || dtype == DType::kInt64,
             "%s: attribute \"dtype\" is %s, and must be INT32 or INT64", Named(node).c_str(), DTypeName(dtype));
  MP_REQUIRE(inputs.size() >= node.outputs.size(), "%s: has %zu inputs for %zu outputs", Named(node).c_str(),
             inputs.size(), node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool listed = node.type == "Shape" || node.type == "ShapeN";
    const int64_t rank = ir::IsKnownRank(inputs[i].dims) ? static_cast<int64_t>(inputs[i].dims.size()) : -1;
    out->outputs.push_back({dtype, listed ? ir::Dims{rank} : ir::Dims{}});
  }
  return Ok();
}

Status InferByClient(const ir::Node& node, std::span<const InferInput> inputs, const ClientOperators& clients,
                     InferResult* out) {
  const auto copy = std::make_shared<ir::Node>(node.name, node.type);
  copy->inputs = node.inputs;  // with sources, which do not record it as a user
  copy->outputs = node.outputs;
  copy->attributes = node.attributes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    copy->inputs[i].desc.dtype = inputs[i].dtype;
    copy->inputs[i].desc.dims = copy->inputs[i].desc.origin_dims = inputs[i].dims;
    copy->inputs[i].desc.has_shape = copy->inputs[i].desc.has_origin_shape = true;
  }
  bool inferred = false;
  if (clients.infer) MP_RETURN_IF_ERROR(clients.infer(copy, &inferred).Prefixed(Named(node)));
  MP_CHECK(inferred, kUnsupported, "%s: the client registered the type without an infer function", Named(node).c_str());
  MP_REQUIRE(copy->outputs.size() == node.outputs.size(), "%s: its infer function gave %zu outputs instead of %zu",
             Named(node).c_str(), copy->outputs.size(), node.outputs.size());
  for (const ir::TensorDesc& output : copy->outputs) OutputOf(output, out);
  return Ok();
}

// Operators without a row that only change operands in place (Assign) return their input.
bool InferReferences(const ir::Node& node, std::span<const InferInput> inputs, InferResult* out) {
  const DoorBinding* binding = nullptr;
  const auto pairs = InPlace(node);
  if (pairs.empty() || pairs.size() != node.outputs.size() || FindGeOp(node.type, &binding) != nullptr) return false;
  for (const auto& [input, output] : pairs) out->outputs.push_back({inputs[input].dtype, inputs[input].dims});
  return true;
}

// Queries the table for one node, once or with probe numbers for unknown dimensions.
class TableInference {
 public:
  TableInference(const ir::Node& node, const NodeDoor& door, std::span<const InferInput> inputs)
      : node_(node), inputs_(inputs) {
    question_.attributes = &door.attributes;
    question_.input_counts = door.input_counts;
    question_.output_counts = door.output_counts;
    question_.outputs = node.outputs.size();
  }

  Status Run(InferResult* out) {
    const bool known = std::all_of(inputs_.begin(), inputs_.end(), [](const InferInput& input) {
      return input.dtype == DType::kUndefined || ir::IsStatic(input.dims);
    });
    return known ? Ask(out) : Probe(out);
  }

 private:
  Status AskWith(int64_t probe, GeInferOutput* answer) {
    question_.inputs.resize(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      GeInferTensor& tensor = question_.inputs[i];
      tensor.dtype = inputs_[i].dtype;
      tensor.dims = inputs_[i].dims;
      tensor.values = inputs_[i].values;
      tensor.format = node_.inputs[i].desc.format;
      for (int64_t& dim : tensor.dims) dim = dim < 0 ? probe : dim;
      MP_REQUIRE(ir::ElementsOf(tensor.dims) >= 0, "input %zu of shape %s has an element count that overflows", i,
                 ir::TextOf(tensor.dims).c_str());
    }
    Status status = InferGe(node_.type, question_, answer);
    if (answer->types_known) types_ = *answer;
    return status;
  }

  Status Ask(InferResult* out) {
    GeInferOutput answer;
    Status status = AskWith(0, &answer);
    if (answer.needed_input >= 0) return GiveTypes(answer.needed_input, out);
    if (!status.ok()) {
      return Status(status.code(), Named(node_) + ": " + status.message() + "; its inputs are " + InputsText());
    }
    out->waits = answer.waits;
    for (auto& output : answer.outputs) out->outputs.push_back({output.dtype, std::move(output.dims)});
    return Ok();
  }

  Status Probe(InferResult* out) {
    const bool ranks_known = std::all_of(inputs_.begin(), inputs_.end(),
                                         [](const InferInput& input) { return ir::IsKnownRank(input.dims); });
    std::optional<GeInferOutput> joined;
    bool all = true;
    for (const int64_t probe : kProbes) {
      GeInferOutput answer;
      const Status status = AskWith(probe, &answer);
      if (answer.needed_input >= 0) return GiveTypes(answer.needed_input, out);
      if (status.code() == Code::kUnsupported) return status.Clone().Prefixed(Named(node_));
      if (!status.ok()) {
        all = false;
        continue;
      }
      if (!joined) {
        joined = std::move(answer);
        continue;
      }
      for (size_t i = 0; i < joined->outputs.size(); ++i) {
        joined->outputs[i].dims = JoinDims(joined->outputs[i].dims, answer.outputs[i].dims);
      }
    }
    // Probe numbers that are inconsistent prove nothing about the actual ones: the run validates those.
    if (!ranks_known || !joined) return GiveTypes(-1, out);
    out->waits = joined->waits;
    for (auto& output : joined->outputs) {
      if (!all && ir::IsKnownRank(output.dims)) output.dims = UnknownOfRank(output.dims.size());
      out->outputs.push_back({output.dtype, std::move(output.dims)});
    }
    return Ok();
  }

  Status GiveTypes(int needed_input, InferResult* out) {
    out->needed_input = needed_input;
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const bool told = types_ && i < types_->outputs.size();
      out->outputs.push_back({told ? types_->outputs[i].dtype : node_.outputs[i].dtype, ShapeWithoutNumbers()});
    }
    return Ok();
  }

  // Explicit sizes, and those copied from the input.
  ir::Dims ReshapedKeeping(const ir::Attr& shape) const {
    const auto* wanted = shape.As<std::vector<int64_t>>();
    if (wanted == nullptr) return kAnyShape;
    ir::Dims dims = UnknownOfRank(wanted->size());
    for (size_t i = 0; i < dims.size(); ++i) {
      if ((*wanted)[i] > 0) dims[i] = (*wanted)[i];
      if ((*wanted)[i] == 0 && ir::IsKnownRank(inputs_[0].dims) && i < inputs_[0].dims.size()) {
        dims[i] = inputs_[0].dims[i];
      }
    }
    return dims;
  }

  // What is certain about a result before the values that decide its sizes are known: for some operators, the rank.
  ir::Dims ShapeWithoutNumbers() const {
    enum class Rank { kOne, kLength, kSame };  // one; the number of elements of the input; the input's
    struct Rule {
      std::string_view type;
      Rank rank;
      size_t input;
    };
    static constexpr Rule kRules[] = {{"Range", Rank::kOne, 0},    {"Reshape", Rank::kLength, 1},
                                      {"Fill", Rank::kLength, 0},  {"Slice", Rank::kSame, 0},
                                      {"SliceV2", Rank::kSame, 0}, {"Pad", Rank::kSame, 0},
                                      {"PadV2", Rank::kSame, 0},   {"PadV3", Rank::kSame, 0},
                                      {"Tile", Rank::kSame, 0},    {"StridedSliceV2", Rank::kSame, 0}};
    if (const ir::Attr* kept = node_.type == "MillpondReshape" ? node_.FindAttr("shape") : nullptr; kept != nullptr) {
      return ReshapedKeeping(*kept);
    }
    for (const Rule& rule : kRules) {
      if (rule.type != node_.type || rule.input >= inputs_.size()) continue;
      if (rule.rank == Rank::kOne) return UnknownOfRank(1);
      const ir::Dims& dims = inputs_[rule.input].dims;
      if (!ir::IsKnownRank(dims)) break;
      if (rule.rank == Rank::kSame) return UnknownOfRank(dims.size());
      if (dims.size() == 1 && dims[0] >= 0) return UnknownOfRank(static_cast<size_t>(dims[0]));
      break;
    }
    return kAnyShape;
  }

  // By the names of the graph's operator: the rules also know those of other doors.
  std::string InputsText() const {
    std::string text;
    for (size_t i = 0; i < inputs_.size() && i < node_.inputs.size(); ++i) {
      if (node_.inputs[i].source == nullptr) continue;
      text += Format("%s%s %s %s", text.empty() ? "" : ", ", node_.inputs[i].desc.name.c_str(),
                     DTypeName(inputs_[i].dtype), ir::TextOf(inputs_[i].dims).c_str());
    }
    return text.empty() ? "none" : text;
  }

  const ir::Node& node_;
  std::span<const InferInput> inputs_;
  GeInferInput question_;
  std::optional<GeInferOutput> types_;
};

}  // namespace

ir::Dims JoinDims(const ir::Dims& a, const ir::Dims& b) {
  if (!ir::IsKnownRank(a) || !ir::IsKnownRank(b) || a.size() != b.size()) return kAnyShape;
  ir::Dims joined = a;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) joined[i] = ir::kUnknownDim;
  }
  return joined;
}

Status InferNode(const ir::Node& node, const NodeDoor& door, std::span<const InferInput> inputs,
                 const ClientOperators* clients, InferResult* out) {
  *out = {};
  switch (KindOf(node)) {
    case Kind::kNoOp:
      for (const ir::TensorDesc& output : node.outputs) OutputOf(output, out);
      return Ok();
    case Kind::kData:
    case Kind::kVariable:
      InferSource(node, out);
      return Ok();
    case Kind::kConst: {
      const ir::TensorPtr tensor = ConstantOf(node);
      MP_REQUIRE(tensor != nullptr, "%s: has no value", Named(node).c_str());
      out->outputs.push_back({tensor->desc.dtype, tensor->desc.dims});
      return Ok();
    }
    case Kind::kFileConstant:
      return InferDescribed(node, "shape", out);
    case Kind::kConstPlaceHolder:
      return InferDescribed(node, "storage_shape", out);
    case Kind::kIdentity:
    case Kind::kIdentityN:
      return InferIdentity(node, inputs, out);
    case Kind::kShape:
      return InferShapeOf(node, inputs, out);
    case Kind::kOperator:
      break;
    default:
      return InternalError(Format("%s: runs subgraphs and is inferred with them", Named(node).c_str()));
  }
  if (FindGeDefinition(node.type) == nullptr && clients != nullptr && clients->knows && clients->knows(node.type)) {
    return InferByClient(node, inputs, *clients, out);
  }
  if (InferReferences(node, inputs, out)) return Ok();
  return TableInference(node, door, inputs).Run(out);
}

}  // namespace millpond::passes
