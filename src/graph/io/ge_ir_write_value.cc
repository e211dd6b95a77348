// SPDX-License-Identifier: Apache-2.0
// Attributes, descriptions of tensors, tensors.
#include <algorithm>

#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/ge_ir_write.h"

namespace millpond::io {

using ir::Attributes;
using ir::TensorDesc;
using wire::Writer;

namespace {

Status WriteTensor(const ir::Tensor& tensor, Writer* writer) {
  MP_RETURN_IF_ERROR(writer->Message(kTensorDesc, [&] { return WriteDesc(tensor.desc, writer); }));
  if (writer->with_data) writer->Text(kTensorData, {reinterpret_cast<const char*>(tensor.data.data), tensor.data.size});
  return Ok();
}

Status WriteNamed(const ir::NamedAttributes& named, Writer* writer) {
  writer->Text(kNamedName, named.name);
  return named.attributes ? WriteAttributes(kNamedAttr, *named.attributes, writer) : Ok();
}

// One overload for each kind of object that an attribute refers to.
Status WriteHeld(const TensorDesc& desc, Writer* writer) { return WriteDesc(desc, writer); }
Status WriteHeld(const ir::Tensor& tensor, Writer* writer) { return WriteTensor(tensor, writer); }
Status WriteHeld(const ir::NamedAttributes& named, Writer* writer) { return WriteNamed(named, writer); }
Status WriteHeld(const ir::Graph& graph, Writer* writer) { return WriteGraph(graph, writer); }

template <class T>
Status WriteHeld(uint32_t number, const std::shared_ptr<T>& held, Writer* writer) {
  MP_REQUIRE(held != nullptr, "it holds a null %s",
             number == kAttrGraph || number == kListGraph ? "graph" : "tensor, description or named attributes");
  return writer->Message(number, [&] { return WriteHeld(*held, writer); });
}

// Writes an AttrDef's one value.
struct AttrWriter {
  Writer* writer;

  Status operator()(std::monostate) const {
    return List(ListKind::kNone, [] { return Ok(); });
  }
  Status operator()(bool value) const { return writer->IntAlways(kAttrBool, value ? 1 : 0), Ok(); }
  Status operator()(int64_t value) const { return writer->IntAlways(kAttrInt, value), Ok(); }
  Status operator()(float value) const { return writer->FloatAlways(kAttrFloat, value), Ok(); }
  Status operator()(const std::string& value) const { return writer->TextAlways(kAttrText, value), Ok(); }
  Status operator()(const ir::ByteString& value) const { return writer->TextAlways(kAttrBytes, value.bytes), Ok(); }
  Status operator()(DType value) const { return writer->IntAlways(kAttrType, NumberFromDType(value)), Ok(); }
  Status operator()(const ir::TensorPtr& value) const { return WriteHeld(kAttrTensor, value, writer); }
  Status operator()(const std::shared_ptr<const TensorDesc>& value) const {
    return WriteHeld(kAttrDesc, value, writer);
  }
  Status operator()(const std::shared_ptr<const ir::NamedAttributes>& value) const {
    return WriteHeld(kAttrNamed, value, writer);
  }
  Status operator()(const ir::GraphPtr& value) const { return WriteHeld(kAttrGraph, value, writer); }

  Status operator()(const std::vector<bool>& values) const {
    return List(ListKind::kBool, [&] { return writer->PackedBools(kListBool, values), Ok(); });
  }
  Status operator()(const std::vector<int64_t>& values) const {
    return List(ListKind::kInt, [&] { return writer->PackedInts(kListInt, values), Ok(); });
  }
  Status operator()(const std::vector<float>& values) const {
    return List(ListKind::kFloat, [&] { return writer->PackedFloats(kListFloat, values), Ok(); });
  }
  Status operator()(const std::vector<std::string>& values) const {
    return List(ListKind::kText, [&] {
      for (const std::string& value : values) writer->TextAlways(kListText, value);
      return Ok();
    });
  }
  Status operator()(const std::vector<ir::ByteString>& values) const {
    return List(ListKind::kBytes, [&] {
      for (const ir::ByteString& value : values) writer->TextAlways(kListBytes, value.bytes);
      return Ok();
    });
  }
  Status operator()(const std::vector<DType>& values) const {
    return List(ListKind::kType, [&] {
      std::vector<int64_t> numbers;
      numbers.reserve(values.size());
      for (const DType value : values) numbers.push_back(NumberFromDType(value));
      return writer->PackedInts(kListType, numbers), Ok();
    });
  }
  Status operator()(const std::vector<ir::TensorPtr>& values) const {
    return HeldList(ListKind::kTensor, kListTensor, values);
  }
  Status operator()(const std::vector<std::shared_ptr<const TensorDesc>>& values) const {
    return HeldList(ListKind::kDesc, kListDesc, values);
  }
  Status operator()(const std::vector<std::shared_ptr<const ir::NamedAttributes>>& values) const {
    return HeldList(ListKind::kNamed, kListNamed, values);
  }
  Status operator()(const std::vector<ir::GraphPtr>& values) const {
    return HeldList(ListKind::kGraph, kListGraph, values);
  }
  Status operator()(const std::vector<std::vector<int64_t>>& rows) const {
    return Rows(kAttrListListInt, rows, [&](const auto& row) { writer->PackedInts(kInnerList, row); });
  }
  Status operator()(const std::vector<std::vector<float>>& rows) const {
    return Rows(kAttrListListFloat, rows, [&](const auto& row) { writer->PackedFloats(kInnerList, row); });
  }

 private:
  template <class Members>
  Status List(ListKind kind, const Members& members) const {
    return writer->Message(kAttrList, [&] {
      MP_RETURN_IF_ERROR(members());
      writer->Int(kListValType, static_cast<int64_t>(kind));
      return Ok();
    });
  }
  template <class T>
  Status HeldList(ListKind kind, uint32_t number, const std::vector<T>& values) const {
    return List(kind, [&] {
      for (const T& value : values) MP_RETURN_IF_ERROR(WriteHeld(number, value, writer));
      return Ok();
    });
  }
  template <class T, class WriteRow>
  Status Rows(uint32_t number, const std::vector<T>& rows, const WriteRow& write_row) const {
    return writer->Message(number, [&] {
      for (const T& row : rows) {
        MP_RETURN_IF_ERROR(writer->Message(kInnerList, [&] { return write_row(row), Ok(); }));
      }
      return Ok();
    });
  }
};

const RareField* FindRare(std::string_view name) {
  for (const RareField& rare : kRareFields) {
    if (rare.attribute == name) return &rare;
  }
  return nullptr;
}

// Fields of the file that are attributes in the IR, if they have the file's type.
bool WriteAsField(std::string_view name, const ir::Attr& attr, Writer* writer) {
  const RareField* rare = FindRare(name);
  if (rare == nullptr) return false;
  if (rare->kind == RareField::kText && attr.As<std::string>() != nullptr) {
    writer->TextAlways(rare->number, *attr.As<std::string>());
  } else if (rare->kind == RareField::kInt && attr.As<int64_t>() != nullptr) {
    writer->IntAlways(rare->number, *attr.As<int64_t>());
  } else if (rare->kind == RareField::kBool && attr.As<bool>() != nullptr) {
    writer->IntAlways(rare->number, *attr.As<bool>() ? 1 : 0);
  } else {
    return false;
  }
  return true;
}

// Fields of the IR that are attributes in the file, as in GE.
Status WriteAsAttributes(const TensorDesc& desc, Writer* writer) {
  const auto entry = [&](std::string_view name, auto value) {
    return WriteEntry(kDescAttr, name, ir::Attr{std::move(value)}, writer);
  };
  if (FormatFromName(FormatName(desc.format)) != desc.format) {
    MP_RETURN_IF_ERROR(entry(kFormatNumber, int64_t{desc.format}));
  }
  if (desc.origin_format != ir::kFormatNd) {
    MP_RETURN_IF_ERROR(entry(kOriginFormat, std::string(FormatName(desc.origin_format))));
    MP_RETURN_IF_ERROR(entry(kOriginFormatNumber, int64_t{desc.origin_format}));
  }
  if (desc.has_origin_shape || !desc.origin_dims.empty()) {
    MP_RETURN_IF_ERROR(entry(kOriginShape, desc.origin_dims));
    MP_RETURN_IF_ERROR(entry(kOriginShapeSet, desc.has_origin_shape));
  }
  if (!desc.range.empty()) {
    std::vector<std::vector<int64_t>> range;
    range.reserve(desc.range.size());
    for (const auto& [low, high] : desc.range) range.push_back({low, high});
    MP_RETURN_IF_ERROR(entry(kShapeRange, std::move(range)));
  }
  if (desc.placement != ir::Placement::kHost) {
    MP_RETURN_IF_ERROR(entry(kPlacement, static_cast<int64_t>(desc.placement)));
  }
  if (!desc.expand_dims_rule.empty()) MP_RETURN_IF_ERROR(entry(kExpandDimsRule, desc.expand_dims_rule));
  return Ok();
}

}  // namespace

Status WriteEntry(uint32_t number, std::string_view key, const ir::Attr& attr, Writer* writer) {
  Status status = writer->Message(number, [&] {
    writer->TextAlways(kEntryKey, key);
    return writer->Message(kEntryValue, [&] { return std::visit(AttrWriter{writer}, attr.value); });
  });
  if (status.ok()) return Ok();
  return std::move(status).Prefixed(
      Format("attribute \"%.*s\"", static_cast<int>(std::min<size_t>(key.size(), 200)), key.data()));
}

Status WriteAttributes(uint32_t number, const Attributes& attributes, Writer* writer) {
  for (const auto& [key, attr] : attributes) MP_RETURN_IF_ERROR(WriteEntry(number, key, attr, writer));
  return Ok();
}

Status WriteDesc(const TensorDesc& desc, Writer* writer) {
  writer->Text(kDescName, desc.name);
  writer->Int(kDescDtype, ProtoFromDType(desc.dtype));
  if (desc.has_shape || !desc.dims.empty()) {
    MP_RETURN_IF_ERROR(writer->Message(kDescShape, [&] { return writer->PackedInts(kShapeDim, desc.dims), Ok(); }));
  }
  const std::string_view layout = FormatName(desc.format);
  writer->Text(kDescLayout, layout);
  MP_RETURN_IF_ERROR(WriteAsAttributes(desc, writer));
  if (desc.attributes) {
    for (const auto& [key, attr] : *desc.attributes) {
      if (!WriteAsField(key, attr, writer)) MP_RETURN_IF_ERROR(WriteEntry(kDescAttr, key, attr, writer));
    }
  }
  writer->Int(kDescSize, desc.bytes);
  writer->Bool(kDescReuseInput, desc.reuses_input);
  writer->Int(kDescRealDimCount, desc.real_dim_count);
  writer->Int(kDescReuseInputIndex, desc.reused_input);
  writer->Bool(kDescShapeUnset, !desc.has_shape);
  return Ok();
}

}  // namespace millpond::io
