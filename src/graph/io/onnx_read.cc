// SPDX-License-Identifier: Apache-2.0
// Models, graphs, nodes and attributes of onnx.proto. Fields that do not affect the computation (documentation,
// metadata) are skipped; sparse constants are refused.
#include "src/graph/io/onnx_read.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "src/graph/io/onnx_format.h"

namespace millpond::onnx {

using wire::Field;
using wire::Reader;

namespace {

// Names in messages are truncated: a hostile file may have a name of megabytes.
std::string Cut(std::string_view text) { return std::string(text.substr(0, 100)); }

// The message within a field, read by `read`.
template <class Read>
Status Within(const Reader& outer, const Field& field, const Read& read) {
  Reader inner({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &inner));
  return read(&inner);
}

// ONNX's own domain has two names.
std::string DomainOf(std::string domain) { return domain == "ai.onnx" ? std::string() : std::move(domain); }

}  // namespace

const Attribute* Node::Find(std::string_view attribute) const {
  const auto found =
      std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& one) { return one.name == attribute; });
  return found == attributes.end() ? nullptr : &*found;
}

std::string Named(const Node& node) {
  std::string_view name = node.name;
  if (name.empty()) {
    const auto given =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](const std::string& one) { return !one.empty(); });
    if (given != node.outputs.end()) name = *given;
  }
  const std::string type = node.domain.empty() ? node.type : node.domain + "::" + node.type;
  return Format("node \"%s\" (%s)", Cut(name).c_str(), Cut(type).c_str());
}

Status ModelReader::Model(Reader* reader, onnx::Model* out) {
  Field field;
  bool has_graph = false;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxIrVersion:
        MP_RETURN_IF_ERROR(reader->Int(field, &out->ir_version));
        break;
      case io::kOnnxProducer:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->producer));
        break;
      case io::kOnnxModelGraph:
        MP_REQUIRE(!has_graph, "the model has two graphs");
        has_graph = true;
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return Graph(inner, &out->graph); }));
        break;
      case io::kOnnxOpsetImport:
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return Opset(inner, &out->opsets); }));
        break;
      case io::kOnnxFunctions: {
        onnx::Function& made = out->functions.emplace_back();
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) {
                             return Function(inner, &made);
                           }).Prefixed(Format("function \"%s\"", Cut(made.name).c_str())));
        break;
      }
      default:
        break;
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  MP_REQUIRE(has_graph, "not an ONNX model: it has no graph");
  return Ok();
}

Status ModelReader::Opset(Reader* reader, Opsets* out) {
  std::string domain;
  int64_t version = 0;
  Field field;
  while (reader->Next(&field)) {
    if (field.number == io::kOnnxOpsetDomain) MP_RETURN_IF_ERROR(reader->Text(field, &domain));
    if (field.number == io::kOnnxOpsetVersion) MP_RETURN_IF_ERROR(reader->Int(field, &version));
  }
  MP_RETURN_IF_ERROR(reader->status());
  domain = DomainOf(std::move(domain));
  const auto [found, is_new] = out->emplace(domain, version);
  MP_REQUIRE(is_new || found->second == version, "operator set \"%s\" is imported twice, in versions %lld and %lld",
             Cut(domain).c_str(), static_cast<long long>(found->second), static_cast<long long>(version));
  return Ok();
}

Status ModelReader::Nodes(const Reader& outer, const Field& field, std::vector<onnx::Node>* out) {
  const size_t place = out->size();
  onnx::Node& made = out->emplace_back();
  Status status = Within(outer, field, [&](Reader* inner) { return Node(inner, &made); });
  if (status.ok()) return status;
  return std::move(status).Prefixed(Format("node %zu (\"%s\")", place, Cut(made.name).c_str()));
}

Status ModelReader::Graph(Reader* reader, onnx::Graph* out) {
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxGraphNode:
        MP_RETURN_IF_ERROR(Nodes(*reader, field, &out->nodes));
        break;
      case io::kOnnxGraphName:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
        break;
      case io::kOnnxGraphConstant: {
        auto& [name, tensor] = out->constants.emplace_back();
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) {
                             return Tensor(inner, &name, &tensor);
                           }).Prefixed(Format("initializer \"%s\"", Cut(name).c_str())));
        break;
      }
      case io::kOnnxGraphInput:
      case io::kOnnxGraphOutput: {
        auto& list = field.number == io::kOnnxGraphInput ? out->inputs : out->outputs;
        ValueInfo& made = list.emplace_back();
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return Value(inner, &made); })
                               .Prefixed(Format("%s %zu (\"%s\") of graph \"%s\"",
                                                field.number == io::kOnnxGraphInput ? "input" : "output",
                                                list.size() - 1, Cut(made.name).c_str(), Cut(out->name).c_str())));
        break;
      }
      case io::kOnnxGraphSparse:
        return Unsupported(
            Format("graph \"%s\" has a sparse initializer; make it a dense one", Cut(out->name).c_str()));
      default:
        break;
    }
  }
  return reader->status();
}

Status ModelReader::Node(Reader* reader, onnx::Node* out) {
  Field field;
  std::string overload;
  std::unordered_set<std::string> names;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxNodeInput:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->inputs.emplace_back()));
        break;
      case io::kOnnxNodeOutput:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->outputs.emplace_back()));
        break;
      case io::kOnnxNodeName:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
        break;
      case io::kOnnxNodeType:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->type));
        break;
      case io::kOnnxNodeDomain:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->domain));
        out->domain = DomainOf(std::move(out->domain));
        break;
      case io::kOnnxNodeOverload:
        MP_RETURN_IF_ERROR(reader->Text(field, &overload));
        MP_CHECK(overload.empty(), kUnsupported, "calls overload \"%s\" of a function; overloads are not supported",
                 Cut(overload).c_str());
        break;
      case io::kOnnxNodeAttr: {
        Attribute made;
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) {
                             return Attr(inner, &made);
                           }).Prefixed(Format("attribute \"%s\"", Cut(made.name).c_str())));
        MP_REQUIRE(names.insert(made.name).second, "attribute \"%s\" is given twice", Cut(made.name).c_str());
        out->attributes.push_back(std::move(made));
        break;
      }
      default:
        break;
    }
  }
  return reader->status();
}

Status ModelReader::Attr(Reader* reader, Attribute* out) {
  Field field;
  AttrKind seen = AttrKind::kNone;
  int64_t told = 0;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxAttrName:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
        break;
      case io::kOnnxAttrReference:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->reference));
        break;
      case io::kOnnxAttrType:
        MP_RETURN_IF_ERROR(reader->Int(field, &told));
        break;
      default:
        MP_RETURN_IF_ERROR(AttrField(*reader, field, out));
        if (out->kind == AttrKind::kNone) break;
        seen = out->kind;
        break;
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  MP_REQUIRE(told >= 0 && told <= static_cast<int64_t>(AttrKind::kTypes), "is of type %lld, and there are 1 to 14",
             static_cast<long long>(told));
  // An empty list is present only as its type.
  out->kind = told != 0 ? static_cast<AttrKind>(told) : seen;
  return Ok();
}

Status ModelReader::AttrField(const Reader& reader, const Field& field, Attribute* out) {
  switch (field.number) {
    case io::kOnnxAttrFloat:
      out->kind = AttrKind::kFloat;
      return reader.Float(field, &out->real);
    case io::kOnnxAttrInt:
      out->kind = AttrKind::kInt;
      return reader.Int(field, &out->integer);
    case io::kOnnxAttrText:
      out->kind = AttrKind::kText;
      return reader.Text(field, &out->text);
    case io::kOnnxAttrTensor: {
      out->kind = AttrKind::kTensor;
      std::string name;
      return Within(reader, field, [&](Reader* inner) { return Tensor(inner, &name, &out->tensor); });
    }
    case io::kOnnxAttrGraph: {
      out->kind = AttrKind::kGraph;
      auto made = std::make_shared<onnx::Graph>();
      MP_RETURN_IF_ERROR(Within(reader, field, [&](Reader* inner) {
                           return Graph(inner, made.get());
                         }).Prefixed(Format("graph \"%s\"", Cut(made->name).c_str())));
      out->graph = std::move(made);
      return Ok();
    }
    case io::kOnnxAttrFloats:
      out->kind = AttrKind::kFloats;
      return reader.Floats(field, &out->reals);
    case io::kOnnxAttrInts:
      out->kind = AttrKind::kInts;
      return reader.Ints(field, &out->integers);
    case io::kOnnxAttrTexts:
      out->kind = AttrKind::kTexts;
      return reader.Text(field, &out->texts.emplace_back());
    default:
      return Ok();  // lists of tensors, graphs and types: no known operator has one
  }
}

Status ModelReader::Value(Reader* reader, ValueInfo* out) {
  Field field;
  while (reader->Next(&field)) {
    if (field.number == io::kOnnxValueName) MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
    if (field.number != io::kOnnxValueType) continue;
    MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return Type(inner, out); }));
  }
  return reader->status();
}

Status ModelReader::Type(Reader* reader, ValueInfo* out) {
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxTensorType:
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return TensorType(inner, out); }));
        break;
      case io::kOnnxSequenceType:
        out->other_kind = "a sequence";
        break;
      case io::kOnnxMapType:
        out->other_kind = "a map";
        break;
      case io::kOnnxSparseType:
        out->other_kind = "a sparse tensor";
        break;
      case io::kOnnxOptionalType:
        out->other_kind = "an optional";
        break;
      default:
        break;
    }
  }
  return reader->status();
}

Status ModelReader::TensorType(Reader* reader, ValueInfo* out) {
  Field field;
  int64_t type = 0;
  while (reader->Next(&field)) {
    if (field.number == io::kOnnxElemType) MP_RETURN_IF_ERROR(reader->Int(field, &type));
    if (field.number != io::kOnnxTypeShape) continue;
    out->has_shape = true;
    MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* shape) -> Status {
      Field dim;
      while (shape->Next(&dim)) {
        if (dim.number != io::kOnnxShapeDim) continue;
        MP_RETURN_IF_ERROR(Within(*shape, dim, [&](Reader* inner) { return Dim(inner, &out->dims); }));
      }
      return shape->status();
    }));
  }
  MP_RETURN_IF_ERROR(reader->status());
  out->dtype = TypeFromOnnx(type);
  out->onnx_type = type;
  if (const NarrowType* narrow = NarrowFromOnnx(type); narrow != nullptr) out->dtype = narrow->carrier;
  if (type != 0 && out->dtype == DType::kUndefined) out->other_kind = "of type " + OnnxTypeName(type);
  return Ok();
}

Status ModelReader::Dim(Reader* reader, ir::Dims* out) {
  int64_t value = ir::kUnknownDim;
  Field field;
  while (reader->Next(&field)) {
    if (field.number != io::kOnnxDimValue) continue;
    MP_RETURN_IF_ERROR(reader->Int(field, &value));
    MP_REQUIRE(value >= -1, "dimension %zu is %lld", out->size(), static_cast<long long>(value));
  }
  out->push_back(value);
  return reader->status();
}

Status ModelReader::Function(Reader* reader, onnx::Function* out) {
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case io::kOnnxFunctionName:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
        break;
      case io::kOnnxFunctionDomain:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->domain));
        out->domain = DomainOf(std::move(out->domain));
        break;
      case io::kOnnxFunctionInput:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->inputs.emplace_back()));
        break;
      case io::kOnnxFunctionOutput:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->outputs.emplace_back()));
        break;
      case io::kOnnxFunctionAttr:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->required.emplace_back()));
        break;
      case io::kOnnxFunctionDefault:
        MP_RETURN_IF_ERROR(
            Within(*reader, field, [&](Reader* inner) { return Attr(inner, &out->defaults.emplace_back()); }));
        break;
      case io::kOnnxFunctionNode:
        MP_RETURN_IF_ERROR(Nodes(*reader, field, &out->nodes));
        break;
      case io::kOnnxFunctionOpset:
        MP_RETURN_IF_ERROR(Within(*reader, field, [&](Reader* inner) { return Opset(inner, &out->opsets); }));
        break;
      default:
        break;
    }
  }
  return reader->status();
}

Status ReadModel(std::span<const std::byte> bytes, const ReadOptions& options, Model* out) {
  Reader reader(bytes);
  ModelReader model(options);
  MP_RETURN_IF_ERROR(model.Model(&reader, out));
  out->described = bytes.size() - model.raw_bytes();
  return Ok();
}

}  // namespace millpond::onnx
