// SPDX-License-Identifier: Apache-2.0
// A graph as ONNX, for model viewers. The operators stay GE's ("ge:MatMulV2"): this is to look at, not to run.
#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/onnx_format.h"
#include "src/graph/io/wire.h"

namespace millpond::io {

using wire::Writer;

namespace {

constexpr int64_t kIrVersion = 6;

// onnx.TensorProto.DataType; 0 when it has none.
int64_t OnnxType(DType type) {
  switch (type) {
    case DType::kFloat:
      return 1;
    case DType::kUint8:
      return 2;
    case DType::kInt8:
      return 3;
    case DType::kUint16:
      return 4;
    case DType::kInt16:
      return 5;
    case DType::kInt32:
      return 6;
    case DType::kInt64:
      return 7;
    case DType::kString:
      return 8;
    case DType::kBool:
      return 9;
    case DType::kHalf:
      return 10;
    case DType::kDouble:
      return 11;
    case DType::kUint32:
      return 12;
    case DType::kUint64:
      return 13;
    case DType::kComplex64:
      return 14;
    case DType::kComplex128:
      return 15;
    case DType::kBfloat16:
      return 16;
    case DType::kFloat8E4m3:
      return 17;
    case DType::kFloat8E5m2:
      return 19;
    case DType::kInt4:
      return 22;
    default:
      return 0;
  }
}

std::string EdgeText(const ir::Node& source, int64_t index) { return source.name + ':' + std::to_string(index); }

class OnnxWriter {
 public:
  OnnxWriter(const ir::Graph& root, bool with_attributes, bool with_data, Writer* writer)
      : root_(root),
        with_attributes_(with_attributes),
        with_data_(with_data),
        // Subgraphs are nested in their nodes, which requires a tree.
        with_subgraphs_(root.CheckSubgraphs().ok()),
        writer_(writer) {}

  Status Graph(const ir::Graph& graph) {
    for (const ir::NodePtr& node : graph.nodes()) {
      MP_RETURN_IF_ERROR(writer_->Message(kOnnxGraphNode, [&] { return Node(*node); }));
    }
    writer_->Text(kOnnxGraphName, graph.name);
    for (const ir::NodePtr& input : graph.inputs) {
      if (input == nullptr || input->outputs.empty()) continue;
      MP_RETURN_IF_ERROR(Value(kOnnxGraphInput, EdgeText(*input, 0), input->outputs[0]));
    }
    for (const ir::Endpoint& output : graph.outputs) {
      const auto place = static_cast<size_t>(output.index);
      if (output.node == nullptr || place >= output.node->outputs.size()) continue;
      MP_RETURN_IF_ERROR(Value(kOnnxGraphOutput, EdgeText(*output.node, output.index), output.node->outputs[place]));
    }
    return Ok();
  }

 private:
  Status Value(uint32_t number, const std::string& name, const ir::TensorDesc& desc) {
    const auto dimension = [&](int64_t dim) {
      if (dim >= 0) {
        writer_->IntAlways(kOnnxDimValue, dim);
      } else {
        writer_->Text(kOnnxDimParam, std::to_string(dim));
      }
      return Ok();
    };
    const auto type = [&]() -> Status {
      writer_->Int(kOnnxElemType, OnnxType(desc.dtype));
      if (!desc.has_shape) return Ok();
      return writer_->Message(kOnnxTypeShape, [&] {
        for (const int64_t dim : desc.dims) {
          MP_RETURN_IF_ERROR(writer_->Message(kOnnxShapeDim, [&] { return dimension(dim); }));
        }
        return Ok();
      });
    };
    return writer_->Message(number, [&] {
      writer_->Text(kOnnxValueName, name);
      return writer_->Message(kOnnxValueType, [&] { return writer_->Message(kOnnxTensorType, type); });
    });
  }

  template <class Body>
  Status Attribute(std::string_view name, OnnxAttrKind kind, const Body& body) {
    return writer_->Message(kOnnxNodeAttr, [&] {
      writer_->Text(kOnnxAttrName, name);
      MP_RETURN_IF_ERROR(body());
      writer_->Int(kOnnxAttrType, static_cast<int64_t>(kind));
      return Ok();
    });
  }
  Status IntAttribute(std::string_view name, int64_t value) {
    return Attribute(name, OnnxAttrKind::kInt, [&] { return writer_->IntAlways(kOnnxAttrInt, value), Ok(); });
  }
  Status TextAttribute(std::string_view name, std::string_view value) {
    return Attribute(name, OnnxAttrKind::kText, [&] { return writer_->TextAlways(kOnnxAttrText, value), Ok(); });
  }
  Status IntsAttribute(std::string_view name, std::span<const int64_t> values) {
    return Attribute(name, OnnxAttrKind::kInts, [&] { return writer_->PackedInts(kOnnxAttrInts, values), Ok(); });
  }

  Status TensorAttribute(std::string_view name, const ir::Tensor& tensor) {
    return Attribute(name, OnnxAttrKind::kTensor, [&] {
      return writer_->Message(kOnnxAttrTensor, [&] {
        writer_->PackedInts(kOnnxTensorDims, tensor.desc.dims);
        writer_->Int(kOnnxTensorDataType, OnnxType(tensor.desc.dtype));
        if (with_data_) {
          writer_->Text(kOnnxTensorRaw, {reinterpret_cast<const char*>(tensor.data.data), tensor.data.size});
        }
        return Ok();
      });
    });
  }

  // Kinds that ONNX lacks are left to the other dumps.
  Status AttributeOf(std::string_view name, const ir::Attr& attr) {
    if (const auto* value = attr.As<int64_t>()) return IntAttribute(name, *value);
    if (const auto* value = attr.As<bool>()) return IntAttribute(name, *value ? 1 : 0);
    if (const auto* value = attr.As<DType>()) return IntAttribute(name, NumberFromDType(*value));
    if (const auto* value = attr.As<std::string>()) return TextAttribute(name, *value);
    if (const auto* values = attr.As<std::vector<int64_t>>()) return IntsAttribute(name, *values);
    if (const auto* value = attr.As<ir::TensorPtr>(); value != nullptr && *value != nullptr) {
      return TensorAttribute(name, **value);
    }
    if (const auto* value = attr.As<float>()) {
      return Attribute(name, OnnxAttrKind::kFloat, [&] { return writer_->FloatAlways(kOnnxAttrFloat, *value), Ok(); });
    }
    if (const auto* values = attr.As<std::vector<float>>()) {
      return Attribute(name, OnnxAttrKind::kFloats,
                       [&] { return writer_->PackedFloats(kOnnxAttrFloats, *values), Ok(); });
    }
    if (const auto* values = attr.As<std::vector<std::string>>()) {
      return Attribute(name, OnnxAttrKind::kTexts, [&] {
        for (const std::string& value : *values) writer_->TextAlways(kOnnxAttrTexts, value);
        return Ok();
      });
    }
    return Ok();
  }

  // As GE writes them: "input_desc_dtype:0" and so on.
  Status Desc(const char* side, size_t place, const ir::TensorDesc& desc) {
    const auto named = [&](const char* what) { return Format("%s_desc_%s:%zu", side, what, place); };
    MP_RETURN_IF_ERROR(TextAttribute(named("name"), desc.name));
    MP_RETURN_IF_ERROR(TextAttribute(named("dtype"), std::string("DT_") + DTypeName(desc.dtype)));
    MP_RETURN_IF_ERROR(TextAttribute(named("layout"), FormatName(desc.format)));
    return desc.has_shape ? IntsAttribute(named("shape"), desc.dims) : Ok();
  }

  Status Node(const ir::Node& node) {
    for (const ir::Input& input : node.inputs) {
      writer_->TextAlways(kOnnxNodeInput, input.source ? EdgeText(*input.source, input.index) : std::string());
    }
    for (const ir::NodePtr& control : node.controls) writer_->TextAlways(kOnnxNodeInput, EdgeText(*control, -1));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      writer_->TextAlways(kOnnxNodeOutput, EdgeText(node, static_cast<int64_t>(i)));
    }
    writer_->Text(kOnnxNodeName, node.name);
    writer_->Text(kOnnxNodeType, "ge:" + node.type);
    if (with_attributes_) {
      for (const auto& [name, attr] : node.attributes) MP_RETURN_IF_ERROR(AttributeOf(name, attr));
      for (size_t i = 0; i < node.inputs.size(); ++i) MP_RETURN_IF_ERROR(Desc("input", i, node.inputs[i].desc));
      for (size_t i = 0; i < node.outputs.size(); ++i) MP_RETURN_IF_ERROR(Desc("output", i, node.outputs[i]));
    }
    for (const ir::SubgraphRef& ref : node.subgraphs) {
      const ir::GraphPtr subgraph = with_subgraphs_ ? root_.FindSubgraph(ref.graph) : nullptr;
      if (subgraph == nullptr) continue;
      MP_RETURN_IF_ERROR(Attribute(ref.name, OnnxAttrKind::kGraph,
                                   [&] { return writer_->Message(kOnnxAttrGraph, [&] { return Graph(*subgraph); }); }));
    }
    return Ok();
  }

  const ir::Graph& root_;
  const bool with_attributes_;
  const bool with_data_;
  const bool with_subgraphs_;
  Writer* writer_;
};

}  // namespace

Status WriteOnnx(const ir::Graph& graph, bool with_attributes, bool with_data, std::string* out) {
  return Writer::Write(
      [&](Writer* writer) {
        writer->Int(kOnnxIrVersion, kIrVersion);
        writer->Text(kOnnxProducer, "millpond");
        return writer->Message(kOnnxModelGraph,
                               [&] { return OnnxWriter(graph, with_attributes, with_data, writer).Graph(graph); });
      },
      out);
}

}  // namespace millpond::io
