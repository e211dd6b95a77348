// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/half.h"
#include "src/graph/passes/infer.h"
#include "src/graph/passes/kinds.h"
#include "src/graph/passes/verify_node.h"
#include "src/ops/ge_ops.h"

namespace millpond::onnx {
namespace {

// Limit for folding during the import: shapes and the like.
constexpr int64_t kMaxFoldedBytes = 64 << 10;
const ir::Dims kNothingKnown = {ir::kUnknownRank};

template <class T>
std::vector<T> Elements(const ir::Tensor& tensor) {
  std::vector<T> elements(tensor.data.size / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), tensor.data.data, elements.size() * sizeof(T));
  return elements;
}

template <class To, class From>
std::vector<To> Converted(const ir::Tensor& tensor) {
  const std::vector<From> from = Elements<From>(tensor);
  return {from.begin(), from.end()};
}

ir::TensorPtr NewTensor(DType type, const Ints& dims, const void* data, size_t size) {
  auto tensor = std::make_shared<ir::Tensor>();
  tensor->desc.dtype = type;
  tensor->desc.dims = tensor->desc.origin_dims = dims;
  tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
  tensor->data = ir::Bytes::Copy(data, size);
  return tensor;
}

template <class T>
void Append(double value, std::string* out) {
  const T element = static_cast<T>(value);
  out->append(reinterpret_cast<const char*>(&element), sizeof(T));
}

// One element; empty for unsupported types.
std::string ElementOf(DType type, double value) {
  std::string bytes;
  if (VisitInteger(type, [&](auto zero) { Append<decltype(zero)>(value, &bytes); })) return bytes;
  if (type == DType::kFloat) Append<float>(value, &bytes);
  if (type == DType::kDouble) Append<double>(value, &bytes);
  if (type == DType::kBool) Append<uint8_t>(value != 0 ? 1 : 0, &bytes);
  return bytes;
}

// Types that hold every value of `type`, nearest first.
std::span<const DType> WiderThan(DType type) {
  static constexpr DType kReals[] = {DType::kFloat, DType::kDouble};
  static constexpr DType kAll[] = {DType::kInt16, DType::kInt32, DType::kInt64};
  static constexpr DType kFrom32[] = {DType::kInt32, DType::kInt64};
  static constexpr DType kFrom64[] = {DType::kInt64};
  switch (type) {
    case DType::kHalf:
    case DType::kBfloat16:
      return kReals;
    case DType::kInt8:
    case DType::kUint8:
      return kAll;
    case DType::kInt16:
    case DType::kUint16:
      return kFrom32;
    case DType::kInt32:
    case DType::kUint32:
      return kFrom64;
    default:
      return {};
  }
}

// What a list or text takes beside the attribute itself.
struct PayloadBytes {
  uint64_t operator()(const std::string& text) const { return text.size(); }
  uint64_t operator()(const std::vector<std::string>& texts) const {
    uint64_t bytes = texts.size() * sizeof(std::string);
    for (const std::string& text : texts) bytes += text.size();
    return bytes;
  }
  template <class T>
  uint64_t operator()(const std::vector<T>& list) const {
    return list.size() * sizeof(T);
  }
  template <class T>
  uint64_t operator()(const T&) const {
    return 0;
  }
};

// Operators whose low 64 bits are the same for signed and unsigned operands.
bool IsModular(std::string_view type) {
  return type == "Add" || type == "Sub" || type == "Mul" || type == "Equal" || type == "NotEqual" || type == "Neg" ||
         type == "Invert" || type.starts_with("Bitwise");
}

// ATen has few CPU kernels for these, whatever the definition allows.
bool IsRare(DType type) { return type == DType::kUint16 || type == DType::kUint32; }

}  // namespace

void Builder::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::string Builder::FreshName(std::string_view type) {
  std::string name = name_;
  while (ok() && graph_->FindNode(name) != nullptr) {
    Fail(making_->budget.Spend(0, 1));
    name = Format("%s/%s_%zu", name_.c_str(), std::string(type).c_str(), ++making_->names);
  }
  return name;
}

Status Builder::Pay(const ir::Node& node) {
  constexpr uint64_t kEntryBytes = 64;  // of a hash table, a tree or a list of users
  uint64_t bytes = sizeof(ir::Node) + 2 * (node.name.size() + kEntryBytes);  // its own name, and the graph's index
  bytes += node.inputs.size() * (sizeof(ir::Input) + kEntryBytes) + node.outputs.size() * sizeof(ir::TensorDesc);
  for (const auto& [name, attr] : node.attributes) {
    bytes += sizeof(ir::Attr) + kEntryBytes + std::visit(PayloadBytes{}, attr.value);
  }
  // Long names are copied and hashed: that takes time, too.
  constexpr uint64_t kBytesPerStep = 4096;
  return making_->budget.Spend(bytes, 1 + bytes / kBytesPerStep);
}

Status Builder::Add(const ir::NodePtr& node) {
  MP_RETURN_IF_ERROR(Pay(*node));
  return graph_->AddNode(node);
}

Status Builder::Make(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes, size_t count,
                     Vals* out) {
  const GeOp* definition = FindGeDefinition(type);
  MP_CHECK(definition != nullptr, kInternal, "there is no GE operator \"%s\"", type);
  MP_CHECK(inputs.size() <= definition->inputs.size(), kInternal, "%s takes %zu operands, not %zu", type,
           definition->inputs.size(), inputs.size());
  auto node = std::make_shared<ir::Node>(FreshName(type), type);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GeOperand& operand = definition->inputs[i];
    const bool dynamic = operand.presence == GePresence::kDynamic;
    for (size_t member = 0; member < inputs[i].members.size(); ++member) {
      const Val& value = inputs[i].members[member];
      if (!Given(value)) continue;
      ir::Input& input = node->inputs.emplace_back();
      input.desc.name = std::string(operand.name) + (dynamic ? std::to_string(member) : "");
      MP_RETURN_IF_ERROR(node->Connect(node->inputs.size() - 1, value.node, value.index));
    }
  }
  for (const GeOperand& operand : definition->outputs) {
    const bool dynamic = operand.presence == GePresence::kDynamic;
    for (size_t member = 0; member < (dynamic ? count : 1); ++member) {
      node->outputs.emplace_back().name = std::string(operand.name) + (dynamic ? std::to_string(member) : "");
    }
  }
  for (const At& one : attributes) node->attributes[one.name] = one.attr;
  MP_RETURN_IF_ERROR(Pay(*node));
  MP_RETURN_IF_ERROR(passes::VerifyNode(node, {}));
  passes::InferEnvironment environment;
  environment.budget = &making_->budget;
  MP_RETURN_IF_ERROR(passes::InferOne(node.get(), environment));
  // What is folded never enters the graph: to take it out again would cost a walk over all nodes.
  bool folded = false;
  MP_RETURN_IF_ERROR(Fold(*node, out, &folded));
  if (folded) return Ok();
  MP_RETURN_IF_ERROR(graph_->AddNode(node));
  for (size_t i = 0; i < node->outputs.size(); ++i) out->push_back({node, static_cast<int32_t>(i)});
  return Ok();
}

// A failure of the run is ignored: the node stays and reports it when it runs.
Status Builder::Fold(const ir::Node& node, Vals* out, bool* out_folded) {
  const passes::PassEnvironment* environment = making_->environment;
  if (environment == nullptr || !environment->run || passes::KindOf(node) != passes::Kind::kOperator) return Ok();
  if (passes::HasEffect(node) || passes::IsRandom(node)) return Ok();
  int64_t bytes = 0;
  std::vector<ir::TensorPtr> inputs;
  for (const ir::Input& input : node.inputs) {
    inputs.push_back(input.source != nullptr ? passes::ConstantAt(input.source.get(), input.index) : nullptr);
    if (input.source == nullptr) continue;
    if (inputs.back() == nullptr || inputs.back()->data.size > kMaxFoldedBytes) return Ok();
    bytes += static_cast<int64_t>(inputs.back()->data.size);
  }
  for (const ir::TensorDesc& output : node.outputs) {
    const int64_t size = output.is_static() ? ir::BytesOf(output.dtype, output.dims) : -1;
    if (size < 0 || size > kMaxFoldedBytes) return Ok();
    bytes += size;
  }
  std::vector<ir::TensorPtr> outputs;
  if (bytes > kMaxFoldedBytes) return Ok();
  constexpr uint64_t kStepsOfARun = 4;
  MP_RETURN_IF_ERROR(making_->budget.Spend(static_cast<uint64_t>(bytes), kStepsOfARun));
  if (!environment->run(node, inputs, &outputs).ok() || outputs.size() != node.outputs.size()) return Ok();
  for (const ir::TensorPtr& output : outputs) out->push_back(Const(output));
  *out_folded = true;
  return status_.Clone();
}

Vals Builder::Ops(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes, size_t count) {
  Vals out;
  if (ok()) Fail(Make(type, inputs, attributes, count, &out));
  // After a failure callers still get as many values as they expect.
  if (!ok() || out.empty()) out.assign(std::max<size_t>(count, 8), {});
  return out;
}

Val Builder::Op(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes) {
  return Ops(type, inputs, attributes)[0];
}

Val Builder::Wide(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes) {
  const GeOp* definition = FindGeDefinition(type);
  if (!ok() || definition == nullptr) return Op(type, inputs, attributes);
  DType narrow = DType::kUndefined;
  for (size_t i = 0; i < inputs.size() && i < definition->inputs.size(); ++i) {
    for (const Val& value : inputs[i].members) {
      const DType type_of = TypeOf(value);
      if (!Given(value)) continue;
      const bool modular = type_of == DType::kUint64 && IsModular(type);
      if (IsRare(type_of) || modular || !definition->inputs[i].Allows(type_of)) narrow = type_of;
    }
  }
  if (narrow == DType::kUndefined) return Op(type, inputs, attributes);
  static constexpr DType kSigned[] = {DType::kInt64};
  const std::span<const DType> wider =
      narrow == DType::kUint64 && IsModular(type) ? std::span<const DType>(kSigned) : WiderThan(narrow);
  const auto allowed = std::find_if(wider.begin(), wider.end(), [&](DType candidate) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (const Val& value : inputs[i].members) {
        if (TypeOf(value) == narrow && !definition->inputs[i].Allows(candidate)) return false;
      }
    }
    return true;
  });
  if (allowed == wider.end()) return Op(type, inputs, attributes);
  std::vector<Arg> cast = inputs;
  for (Arg& arg : cast) {
    for (Val& value : arg.members) {
      if (TypeOf(value) == narrow) value = Cast(value, *allowed);
    }
  }
  const Val result = Op(type, cast, attributes);
  return TypeOf(result) == *allowed ? Cast(result, narrow) : result;
}

Vals Builder::Flow(const char* type, const std::vector<Arg>& inputs, std::vector<ir::SubgraphRef> subgraphs,
                   size_t outputs) {
  if (!ok()) return Vals(outputs);
  const auto make = [&](Vals* out) -> Status {
    const GeOp* definition = FindGeDefinition(type);
    auto node = std::make_shared<ir::Node>(FreshName(type), type);
    node->subgraphs = std::move(subgraphs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t member = 0; member < inputs[i].members.size(); ++member) {
        const Val& value = inputs[i].members[member];
        node->inputs.emplace_back().desc.name =
            std::string(definition->inputs[i].name) + (inputs[i].list ? std::to_string(member) : "");
        MP_RETURN_IF_ERROR(node->Connect(node->inputs.size() - 1, value.node, value.index));
      }
    }
    for (size_t i = 0; i < outputs; ++i) node->outputs.emplace_back().name = Format("output%zu", i);
    MP_RETURN_IF_ERROR(Add(node));
    MP_RETURN_IF_ERROR(passes::VerifyNode(node, {}));
    passes::InferEnvironment environment;
    environment.budget = &making_->budget;
    MP_RETURN_IF_ERROR(passes::InferOne(node.get(), environment));
    for (size_t i = 0; i < outputs; ++i) out->push_back({node, static_cast<int32_t>(i)});
    return Ok();
  };
  Vals out;
  Fail(make(&out));
  return ok() ? out : Vals(outputs);
}

Val Builder::Data(const std::string& name, int64_t index, const ir::TensorDesc& like) {
  if (!ok()) return {};
  SetName(name);
  auto node = std::make_shared<ir::Node>(FreshName("Data"), "Data");
  node->attributes["index"].value = index;
  node->inputs.emplace_back().desc = like;
  node->inputs[0].desc.name = "x";
  node->outputs.push_back(like);
  node->outputs[0].name = "y";
  Fail(Add(node));
  if (ok()) graph_->inputs.push_back(node);
  return {node, 0};
}

Val Builder::Const(const ir::TensorPtr& tensor) {
  if (!ok()) return {};
  auto node = std::make_shared<ir::Node>(FreshName("Const"), "Const");
  node->attributes["value"].value = tensor;
  node->outputs.push_back(tensor->desc);
  node->outputs[0].name = "y";
  Fail(Add(node));
  return {node, 0};
}

Val Builder::NewConst(DType type, const Ints& dims, const void* data, size_t size) {
  Fail(making_->budget.Spend(size, 0));
  return ok() ? Const(NewTensor(type, dims, data, size)) : Val();
}

Val Builder::ConstInts(const Ints& values) {
  return NewConst(DType::kInt64, {static_cast<int64_t>(values.size())}, values.data(), values.size() * sizeof(int64_t));
}

Val Builder::ConstReals(const std::vector<double>& values) {
  return NewConst(DType::kDouble, {static_cast<int64_t>(values.size())}, values.data(), values.size() * sizeof(double));
}

Val Builder::ConstInts32(const Ints& values) {
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return NewConst(DType::kInt32, {static_cast<int64_t>(values.size())}, narrow.data(), narrow.size() * sizeof(int32_t));
}

Val Builder::ConstInt(int64_t value) { return NewConst(DType::kInt64, {}, &value, sizeof(value)); }

Val Builder::ConstInt32(int64_t value) {
  const auto narrow = static_cast<int32_t>(value);
  return NewConst(DType::kInt32, {}, &narrow, sizeof(narrow));
}

Val Builder::Scalar(DType type, double value) { return Filled(type, value, {}); }

Val Builder::Filled(DType type, double value, const Ints& dims) {
  if (!ok()) return {};
  if (type == DType::kHalf || type == DType::kBfloat16) return Cast(Filled(DType::kFloat, value, dims), type);
  const std::string element = ElementOf(type, value);
  if (element.empty()) {
    Fail(Unsupported(Format("constants of %s are not supported here", DTypeName(type))));
    return {};
  }
  const int64_t size = ir::BytesOf(type, dims);
  if (size < 0) {
    Fail(InvalidArgument(Format("a constant of shape %s has a size that overflows", ir::TextOf(dims).c_str())));
    return {};
  }
  Fail(making_->budget.Spend(static_cast<uint64_t>(size), 0));  // before it exists: the shape is the file's word
  if (!ok()) return {};
  std::string bytes;
  bytes.reserve(static_cast<size_t>(size));
  while (bytes.size() < static_cast<size_t>(size)) bytes += element;
  return Const(NewTensor(type, dims, bytes.data(), bytes.size()));
}

DType Builder::TypeOf(const Val& value) const {
  return Given(value) ? value.node->outputs[static_cast<size_t>(value.index)].dtype : DType::kUndefined;
}

const ir::Dims& Builder::DimsOf(const Val& value) const {
  if (!Given(value)) return kNothingKnown;
  const ir::TensorDesc& desc = value.node->outputs[static_cast<size_t>(value.index)];
  return desc.has_shape ? desc.dims : kNothingKnown;
}

int64_t Builder::RankOf(const Val& value) const {
  return HasRank(value) ? static_cast<int64_t>(DimsOf(value).size()) : -1;
}

ir::TensorPtr Builder::ConstantOf(const Val& value) const {
  return Given(value) ? passes::ConstantAt(value.node.get(), value.index) : nullptr;
}

std::optional<Ints> Builder::IntsOf(const Val& value) const {
  const ir::TensorPtr tensor = ConstantOf(value);
  if (tensor == nullptr) return std::nullopt;
  switch (tensor->desc.dtype) {
    case DType::kInt64:
      return Elements<int64_t>(*tensor);
    case DType::kInt32:
      return Converted<int64_t, int32_t>(*tensor);
    case DType::kInt16:
      return Converted<int64_t, int16_t>(*tensor);
    case DType::kInt8:
      return Converted<int64_t, int8_t>(*tensor);
    case DType::kUint8:
    case DType::kBool:
      return Converted<int64_t, uint8_t>(*tensor);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> Builder::RealsOf(const Val& value) const {
  const ir::TensorPtr tensor = ConstantOf(value);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->desc.dtype == DType::kFloat) return Converted<double, float>(*tensor);
  if (tensor->desc.dtype == DType::kDouble) return Elements<double>(*tensor);
  if (tensor->desc.dtype == DType::kHalf) {
    std::vector<double> reals;
    for (const uint16_t bits : Elements<uint16_t>(*tensor)) reals.push_back(FloatFromHalf(bits));
    return reals;
  }
  const std::optional<Ints> ints = IntsOf(value);
  if (!ints) return std::nullopt;
  return std::vector<double>(ints->begin(), ints->end());
}

Val Builder::Cast(const Val& value, DType type) {
  if (!ok() || TypeOf(value) == type) return value;
  return Op("Cast", {value}, {{"dst_type", static_cast<int64_t>(type)}});
}

Val Builder::Reshape(const Val& value, const Ints& dims) { return Op("Reshape", {value, ConstInts(dims)}); }
Val Builder::Unsqueeze(const Val& value, const Ints& axes) { return Op("Unsqueeze", {value}, {{"axes", axes}}); }
Val Builder::Squeeze(const Val& value, const Ints& axes) { return Op("Squeeze", {value}, {{"axis", axes}}); }
Val Builder::Transpose(const Val& value, const Ints& perm) { return Op("Transpose", {value, ConstInts(perm)}); }

Val Builder::Concat(const Vals& values, int64_t axis) {
  if (values.size() == 1) return values[0];
  return Op("ConcatV2", {values, ConstInt(axis)}, {{"N", static_cast<int64_t>(values.size())}});
}

Val Builder::ShapeOf(const Val& value) {
  if (IsStatic(value)) return ConstInts(DimsOf(value));
  return Op("Shape", {value}, {{"dtype", DType::kInt64}});
}

Val Builder::Reduce(const char* type, const Val& value, const Ints& axes, bool keep) {
  return Wide(type, {value, ConstInts(axes)}, {{"keep_dims", keep}, {"noop_with_empty_axes", true}});
}

Val Builder::Slice(const Val& value, int64_t axis, int64_t begin, int64_t end) {
  return Op("StridedSliceV2", {value, ConstInts({begin}), ConstInts({end}), ConstInts({axis}), ConstInts({1})});
}

}  // namespace millpond::onnx
