// SPDX-License-Identifier: Apache-2.0
// Attributes, descriptions of tensors, tensors.
#include "src/graph/io/files.h"
#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/ge_ir_read.h"

namespace millpond::io {

using ir::Attributes;
using ir::TensorDesc;
using ir::TensorPtr;
using wire::Field;
using wire::Reader;

namespace {

// Older files have the type in an attribute, numbered by an older enumeration; one value differs.
constexpr std::string_view kOldTypeAttribute = "__tensor_desc_data_type__";
constexpr int64_t kOldDual = 13;
constexpr int64_t kDual = 25;

struct RawList {
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<bool> bools;
  std::vector<ir::ByteString> bytes;
  std::vector<std::shared_ptr<const TensorDesc>> descs;
  std::vector<TensorPtr> tensors;
  std::vector<ir::GraphPtr> graphs;
  std::vector<std::shared_ptr<const ir::NamedAttributes>> named;
  std::vector<int64_t> types;
  int64_t kind = 0;

  // An untyped list has the type of its members.
  ListKind KindOf() const {
    if (kind > 0 && kind <= static_cast<int64_t>(ListKind::kType)) return static_cast<ListKind>(kind);
    if (!texts.empty()) return ListKind::kText;
    if (!ints.empty()) return ListKind::kInt;
    if (!floats.empty()) return ListKind::kFloat;
    if (!bools.empty()) return ListKind::kBool;
    if (!bytes.empty()) return ListKind::kBytes;
    if (!descs.empty()) return ListKind::kDesc;
    if (!tensors.empty()) return ListKind::kTensor;
    if (!graphs.empty()) return ListKind::kGraph;
    if (!named.empty()) return ListKind::kNamed;
    if (!types.empty()) return ListKind::kType;
    return ListKind::kNone;
  }
};

Status TypeFrom(int64_t number, DType* out) {
  *out = DTypeFromNumber(number);
  // Otherwise writing it back would change the type.
  MP_REQUIRE(NumberFromDType(*out) == number, "data type %lld is none of ge::DataType's",
             static_cast<long long>(number));
  return Ok();
}

Status ToAttr(RawList&& list, ir::Attr* out) {
  switch (list.KindOf()) {
    case ListKind::kNone:
      out->value = std::monostate();
      break;
    case ListKind::kText:
      out->value = std::move(list.texts);
      break;
    case ListKind::kInt:
      out->value = std::move(list.ints);
      break;
    case ListKind::kFloat:
      out->value = std::move(list.floats);
      break;
    case ListKind::kBool:
      out->value = std::move(list.bools);
      break;
    case ListKind::kBytes:
      out->value = std::move(list.bytes);
      break;
    case ListKind::kDesc:
      out->value = std::move(list.descs);
      break;
    case ListKind::kTensor:
      out->value = std::move(list.tensors);
      break;
    case ListKind::kGraph:
      out->value = std::move(list.graphs);
      break;
    case ListKind::kNamed:
      out->value = std::move(list.named);
      break;
    case ListKind::kType: {
      std::vector<DType> types(list.types.size());
      for (size_t i = 0; i < types.size(); ++i) MP_RETURN_IF_ERROR(TypeFrom(list.types[i], &types[i]));
      out->value = std::move(types);
      break;
    }
  }
  return Ok();
}

// A list of lists of numbers, each inner list a message.
template <class T, class Numbers>
Status Lists(const Reader& outer, const Field& field, const Numbers& numbers, ir::Attr* out) {
  Reader reader({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &reader));
  std::vector<std::vector<T>> lists;
  Field row;
  while (reader.Next(&row)) {
    if (row.number != kInnerList) continue;
    Reader row_reader({});
    MP_RETURN_IF_ERROR(reader.Enter(row, &row_reader));
    std::vector<T>& values = lists.emplace_back();
    Field cell;
    while (row_reader.Next(&cell)) {
      if (cell.number == kInnerList) MP_RETURN_IF_ERROR(numbers(row_reader, cell, &values));
    }
    MP_RETURN_IF_ERROR(row_reader.status());
  }
  out->value = std::move(lists);
  return reader.status();
}

Status Shape(const Reader& outer, const Field& field, ir::Dims* out) {
  Reader reader({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &reader));
  Field dim;
  while (reader.Next(&dim)) {
    if (dim.number == kShapeDim) MP_RETURN_IF_ERROR(reader.Ints(dim, out));
  }
  return reader.status();
}

void TakeFormat(Attributes* attributes, std::string_view number_name, std::string_view text_name, int32_t* out) {
  std::string text;
  if (!text_name.empty() && TakeAttr(attributes, text_name, &text)) *out = FormatFromName(text);
  int64_t number;
  if (TakeAttr(attributes, number_name, &number)) *out = static_cast<int32_t>(number);
}

// What GE stores in attributes and the IR in fields.
void TakeFields(Attributes* attributes, TensorDesc* desc) {
  TakeFormat(attributes, kFormatNumber, {}, &desc->format);
  TakeFormat(attributes, kOriginFormatNumber, kOriginFormat, &desc->origin_format);
  desc->has_origin_shape = TakeAttr(attributes, kOriginShape, &desc->origin_dims);
  TakeAttr(attributes, kOriginShapeSet, &desc->has_origin_shape);
  TakeAttr(attributes, kExpandDimsRule, &desc->expand_dims_rule);
  // Files of older versions have these as attributes too.
  TakeAttr(attributes, "size", &desc->bytes);
  TakeAttr(attributes, "real_dim_cnt", &desc->real_dim_count);
  TakeAttr(attributes, "reuse_input", &desc->reuses_input);
  int64_t number;
  if (TakeAttr(attributes, "reuse_input_index", &number)) desc->reused_input = static_cast<uint32_t>(number);
  if (TakeAttr(attributes, kPlacement, &number)) {
    desc->placement = number == 1 ? ir::Placement::kDevice : ir::Placement::kHost;
  }
  if (TakeAttr(attributes, kOldTypeAttribute, &number)) {
    desc->dtype = DTypeFromNumber(number == kOldDual ? kDual : number);
  }
  const auto range = attributes->find(kShapeRange);
  if (range == attributes->end()) return;
  const auto* pairs = range->second.As<std::vector<std::vector<int64_t>>>();
  if (pairs == nullptr) return;
  std::vector<std::pair<int64_t, int64_t>> bounds;
  for (const std::vector<int64_t>& pair : *pairs) {
    if (pair.size() != 2) return;  // not in our form: it stays an attribute
    bounds.emplace_back(pair[0], pair[1]);
  }
  desc->range = std::move(bounds);
  attributes->erase(range);
}

// A field that few files have. `rare` is one of kRareFields.
Status Rare(const Reader& reader, const Field& field, const RareField& rare, Attributes* out) {
  ir::Attr attr;
  if (rare.kind == RareField::kText) {
    MP_RETURN_IF_ERROR(reader.Text(field, &attr.value.emplace<std::string>()));
  } else if (rare.kind == RareField::kInt) {
    MP_RETURN_IF_ERROR(reader.Int(field, &attr.value.emplace<int64_t>()));
  } else {
    MP_RETURN_IF_ERROR(reader.Bool(field, &attr.value.emplace<bool>()));
  }
  out->insert_or_assign(std::string(rare.attribute), std::move(attr));
  return Ok();
}

}  // namespace

Status ModelReader::Desc(Reader* reader, bool shapeless_is_scalar, TensorDesc* out) const {
  Attributes attributes;
  Attributes rare;
  int64_t number = 0;
  out->dtype = DType::kUndefined;
  bool shape_unset = false;
  std::string layout;
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case kDescName:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
        break;
      case kDescDtype:
        MP_RETURN_IF_ERROR(reader->Int(field, &number));
        out->dtype = DTypeFromProto(number);
        break;
      case kDescShape:
        MP_RETURN_IF_ERROR(Shape(*reader, field, &out->dims));
        out->has_shape = true;
        break;
      case kDescLayout:
        MP_RETURN_IF_ERROR(reader->Text(field, &layout));
        break;
      case kDescAttr:
        MP_RETURN_IF_ERROR(Entry(*reader, field, &attributes));
        break;
      case kDescSize:
        MP_RETURN_IF_ERROR(reader->Int(field, &out->bytes));
        break;
      case kDescReuseInput:
        MP_RETURN_IF_ERROR(reader->Bool(field, &out->reuses_input));
        break;
      case kDescRealDimCount:
        MP_RETURN_IF_ERROR(reader->Int(field, &out->real_dim_count));
        break;
      case kDescReuseInputIndex:
        MP_RETURN_IF_ERROR(reader->Int(field, &number));
        out->reused_input = static_cast<uint32_t>(number);
        break;
      case kDescShapeUnset:
        MP_RETURN_IF_ERROR(reader->Bool(field, &shape_unset));
        break;
      default:
        for (const RareField& known : kRareFields) {
          if (known.number == field.number) MP_RETURN_IF_ERROR(Rare(*reader, field, known, &rare));
        }
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  if (!layout.empty()) out->format = FormatFromName(layout);
  TakeFields(&attributes, out);
  attributes.merge(rare);  // an attribute of that name wins, as it does in GE
  out->has_shape = (out->has_shape || shapeless_is_scalar) && !shape_unset;
  if (!attributes.empty()) out->attributes = std::make_shared<Attributes>(std::move(attributes));
  return Ok();
}

Status ModelReader::Tensor(Reader* reader, ir::Tensor* out) const {
  Field field;
  while (reader->Next(&field)) {
    if (field.number == kTensorDesc) {
      Reader desc({});
      MP_RETURN_IF_ERROR(reader->Enter(field, &desc));
      out->desc = TensorDesc();
      MP_RETURN_IF_ERROR(Desc(&desc, true, &out->desc));
    } else if (field.number == kTensorData) {
      if (field.kind != wire::Kind::kBytes) return reader->Wrong(field, "bytes");
      budget_->NotDescribed(field.bytes.size());
      if (keep_ == nullptr || field.bytes.size() <= kCopiedBytes) {
        out->data = ir::Bytes::Copy(field.bytes.data(), field.bytes.size());
      } else {
        out->data = {field.bytes.data(), field.bytes.size(), keep_};
      }
    }
  }
  return reader->status();
}

Status ModelReader::Named(Reader* reader, ir::NamedAttributes* out) const {
  out->attributes = std::make_shared<Attributes>();
  Field field;
  while (reader->Next(&field)) {
    if (field.number == kNamedName) MP_RETURN_IF_ERROR(reader->Text(field, &out->name));
    if (field.number == kNamedAttr) MP_RETURN_IF_ERROR(Entry(*reader, field, out->attributes.get()));
  }
  return reader->status();
}

Status ModelReader::MadeDesc(const Reader& outer, const Field& field, std::shared_ptr<const TensorDesc>* out) const {
  return Made(
      outer, field, [this](Reader* inner, TensorDesc* made) { return Desc(inner, false, made); }, out);
}

Status ModelReader::MadeTensor(const Reader& outer, const Field& field, TensorPtr* out) const {
  return Made(
      outer, field, [this](Reader* inner, ir::Tensor* made) { return Tensor(inner, made); }, out);
}

Status ModelReader::MadeNamed(const Reader& outer, const Field& field,
                              std::shared_ptr<const ir::NamedAttributes>* out) const {
  return Made(
      outer, field, [this](Reader* inner, ir::NamedAttributes* made) { return Named(inner, made); }, out);
}

Status ModelReader::MadeGraph(const Reader& outer, const Field& field, ir::GraphPtr* out) const {
  Reader inner({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &inner));
  return Graph(&inner, out);
}

Status ModelReader::List(Reader* reader, ir::Attr* out) const {
  RawList list;
  Field field;
  while (reader->Next(&field)) {
    switch (field.number) {
      case kListText:
        MP_RETURN_IF_ERROR(reader->Text(field, &list.texts.emplace_back()));
        break;
      case kListInt:
        MP_RETURN_IF_ERROR(reader->Ints(field, &list.ints));
        break;
      case kListFloat:
        MP_RETURN_IF_ERROR(reader->Floats(field, &list.floats));
        break;
      case kListBool:
        MP_RETURN_IF_ERROR(reader->Bools(field, &list.bools));
        break;
      case kListBytes:
        MP_RETURN_IF_ERROR(reader->Text(field, &list.bytes.emplace_back().bytes));
        break;
      case kListDesc:
        MP_RETURN_IF_ERROR(MadeDesc(*reader, field, &list.descs.emplace_back()));
        break;
      case kListTensor:
        MP_RETURN_IF_ERROR(MadeTensor(*reader, field, &list.tensors.emplace_back()));
        break;
      case kListGraph:
        MP_RETURN_IF_ERROR(MadeGraph(*reader, field, &list.graphs.emplace_back()));
        break;
      case kListNamed:
        MP_RETURN_IF_ERROR(MadeNamed(*reader, field, &list.named.emplace_back()));
        break;
      case kListType:
        MP_RETURN_IF_ERROR(reader->Ints(field, &list.types));
        break;
      case kListValType:
        MP_RETURN_IF_ERROR(reader->Int(field, &list.kind));
        break;
    }
  }
  MP_RETURN_IF_ERROR(reader->status());
  return ToAttr(std::move(list), out);
}

Status ModelReader::Attr(Reader* reader, ir::Attr* out) const {
  Field field;
  int64_t number = 0;
  while (reader->Next(&field)) {
    switch (field.number) {
      case kAttrList: {
        Reader list({});
        MP_RETURN_IF_ERROR(reader->Enter(field, &list));
        MP_RETURN_IF_ERROR(List(&list, out));
        break;
      }
      case kAttrText:
      case kAttrExpression:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->value.emplace<std::string>()));
        break;
      case kAttrInt:
        MP_RETURN_IF_ERROR(reader->Int(field, &out->value.emplace<int64_t>()));
        break;
      case kAttrFloat:
        MP_RETURN_IF_ERROR(reader->Float(field, &out->value.emplace<float>()));
        break;
      case kAttrBool:
        MP_RETURN_IF_ERROR(reader->Bool(field, &out->value.emplace<bool>()));
        break;
      case kAttrBytes:
        MP_RETURN_IF_ERROR(reader->Text(field, &out->value.emplace<ir::ByteString>().bytes));
        break;
      case kAttrNamed:
        MP_RETURN_IF_ERROR(
            MadeNamed(*reader, field, &out->value.emplace<std::shared_ptr<const ir::NamedAttributes>>()));
        break;
      case kAttrDesc:
        MP_RETURN_IF_ERROR(MadeDesc(*reader, field, &out->value.emplace<std::shared_ptr<const TensorDesc>>()));
        break;
      case kAttrTensor:
        MP_RETURN_IF_ERROR(MadeTensor(*reader, field, &out->value.emplace<TensorPtr>()));
        break;
      case kAttrGraph:
        MP_RETURN_IF_ERROR(MadeGraph(*reader, field, &out->value.emplace<ir::GraphPtr>()));
        break;
      case kAttrListListInt:
        MP_RETURN_IF_ERROR(Lists<int64_t>(
            *reader, field, [](const Reader& row, const Field& cell, auto* values) { return row.Ints(cell, values); },
            out));
        break;
      case kAttrListListFloat:
        MP_RETURN_IF_ERROR(Lists<float>(
            *reader, field, [](const Reader& row, const Field& cell, auto* values) { return row.Floats(cell, values); },
            out));
        break;
      case kAttrType:
        MP_RETURN_IF_ERROR(reader->Int(field, &number));
        MP_RETURN_IF_ERROR(TypeFrom(number, &out->value.emplace<DType>()));
        break;
    }
  }
  return reader->status();
}

Status ModelReader::Entry(const Reader& outer, const Field& field, Attributes* out) const {
  constexpr size_t kLinks = 48;  // of a map's node
  MP_RETURN_IF_ERROR(Spend(sizeof(Attributes::value_type) + kLinks));
  Reader reader({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &reader));
  std::string key;
  ir::Attr value;
  Field part;
  while (reader.Next(&part)) {
    if (part.number == kEntryKey) {
      MP_RETURN_IF_ERROR(reader.Text(part, &key));
    } else if (part.number == kEntryValue) {
      Reader inner({});
      MP_RETURN_IF_ERROR(reader.Enter(part, &inner));
      value = ir::Attr();
      if (Status status = Attr(&inner, &value); !status.ok()) {
        return std::move(status).Prefixed(Format("attribute \"%.200s\"", key.c_str()));
      }
    }
  }
  MP_RETURN_IF_ERROR(reader.status());
  out->insert_or_assign(std::move(key), std::move(value));
  return Ok();
}

}  // namespace millpond::io
