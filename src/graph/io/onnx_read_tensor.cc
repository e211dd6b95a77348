// SPDX-License-Identifier: Apache-2.0
// Constants: raw bytes, numbers in the typed fields, or a part of another file. All sources of the element count must
// agree.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "src/graph/io/onnx_format.h"
#include "src/graph/io/onnx_read.h"

namespace millpond::onnx {

using wire::Field;
using wire::Reader;

namespace {

struct TypeName {
  const char* name;
  DType type;  // kUndefined: not supported
};
// By the number of onnx.TensorProto.DataType.
constexpr TypeName kTypes[] = {
    {"UNDEFINED", DType::kUndefined},
    {"FLOAT", DType::kFloat},
    {"UINT8", DType::kUint8},
    {"INT8", DType::kInt8},
    {"UINT16", DType::kUint16},
    {"INT16", DType::kInt16},
    {"INT32", DType::kInt32},
    {"INT64", DType::kInt64},
    {"STRING", DType::kString},
    {"BOOL", DType::kBool},
    {"FLOAT16", DType::kHalf},
    {"DOUBLE", DType::kDouble},
    {"UINT32", DType::kUint32},
    {"UINT64", DType::kUint64},
    {"COMPLEX64", DType::kComplex64},
    {"COMPLEX128", DType::kComplex128},
    {"BFLOAT16", DType::kBfloat16},
    {"FLOAT8E4M3FN", DType::kFloat8E4m3},
    {"FLOAT8E4M3FNUZ", DType::kUndefined},
    {"FLOAT8E5M2", DType::kFloat8E5m2},
    {"FLOAT8E5M2FNUZ", DType::kUndefined},
    {"UINT4", DType::kUndefined},
    {"INT4", DType::kInt4},
    {"FLOAT4E2M1", DType::kFloat4E2m1},
    {"FLOAT8E8M0", DType::kFloat8E8m0},
    {"UINT2", DType::kUndefined},
    {"INT2", DType::kUndefined},
};

// Which fields of a tensor's message were present.
struct Parts {
  std::string name;
  ir::Dims dims;
  int64_t type = 0;
  bool has_raw = false;
  std::span<const std::byte> raw;
  std::vector<float> floats;
  std::vector<int64_t> ints32;
  std::vector<int64_t> ints64;
  std::vector<int64_t> uints64;
  std::vector<double> doubles;
  bool has_texts = false;
  std::map<std::string, std::string, std::less<>> external;
  int64_t location = 0;

  size_t filled() const {
    return size_t{has_raw} + size_t{!floats.empty()} + size_t{!ints32.empty()} + size_t{!ints64.empty()} +
           size_t{!uints64.empty()} + size_t{!doubles.empty()} + size_t{has_texts};
  }
};

Status Entry(const Reader& outer, const Field& field, Parts* out) {
  Reader inner({});
  MP_RETURN_IF_ERROR(outer.Enter(field, &inner));
  std::string key;
  std::string value;
  Field part;
  while (inner.Next(&part)) {
    if (part.number == io::kOnnxEntryKey) MP_RETURN_IF_ERROR(inner.Text(part, &key));
    if (part.number == io::kOnnxEntryValue) MP_RETURN_IF_ERROR(inner.Text(part, &value));
  }
  MP_RETURN_IF_ERROR(inner.status());
  MP_REQUIRE(out->external.emplace(key, value).second, "external data gives \"%.100s\" twice", key.c_str());
  return Ok();
}

Status ReadField(const Reader& reader, const Field& field, Parts* out) {
  switch (field.number) {
    case io::kOnnxTensorDims:
      return reader.Ints(field, &out->dims);
    case io::kOnnxTensorDataType:
      return reader.Int(field, &out->type);
    case io::kOnnxTensorSegment:
      return Unsupported("a tensor in segments is not supported; store it whole");
    case io::kOnnxTensorFloats:
      return reader.Floats(field, &out->floats);
    case io::kOnnxTensorInts32:
      return reader.Ints(field, &out->ints32);
    case io::kOnnxTensorTexts:
      out->has_texts = true;
      return Ok();
    case io::kOnnxTensorInts64:
      return reader.Ints(field, &out->ints64);
    case io::kOnnxTensorName:
      return reader.Text(field, &out->name);
    case io::kOnnxTensorRaw:
      if (field.kind != wire::Kind::kBytes) return reader.Wrong(field, "bytes");
      out->has_raw = true;
      out->raw = field.bytes;
      return Ok();
    case io::kOnnxTensorDoubles:
      return reader.Doubles(field, &out->doubles);
    case io::kOnnxTensorUints64:
      return reader.Ints(field, &out->uints64);
    case io::kOnnxTensorExternal:
      return Entry(reader, field, out);
    case io::kOnnxTensorLocation:
      return reader.Int(field, &out->location);
    default:
      return Ok();
  }
}

template <class To, class From>
ir::Bytes Narrowed(const std::vector<From>& values) {
  std::vector<To> made(values.size());
  std::transform(values.begin(), values.end(), made.begin(), [](From value) { return static_cast<To>(value); });
  return ir::Bytes::Copy(made.data(), made.size() * sizeof(To));
}

// Numbers in the field that the type's rule names; may be empty.
Status Listed(DType type, const Parts& parts, ir::Bytes* out) {
  switch (type) {
    case DType::kFloat:
    case DType::kComplex64:
      *out = Narrowed<float>(parts.floats);
      return Ok();
    case DType::kDouble:
    case DType::kComplex128:
      *out = Narrowed<double>(parts.doubles);
      return Ok();
    case DType::kInt64:
      *out = Narrowed<int64_t>(parts.ints64);
      return Ok();
    case DType::kUint64:
      *out = Narrowed<uint64_t>(parts.uints64);
      return Ok();
    case DType::kUint32:
      *out = Narrowed<uint32_t>(parts.uints64);
      return Ok();
    case DType::kInt32:
      *out = Narrowed<int32_t>(parts.ints32);
      return Ok();
    case DType::kBool:
      *out = Narrowed<uint8_t>(parts.ints32);
      return Ok();
    case DType::kInt16:
    case DType::kUint16:
    case DType::kHalf:
    case DType::kBfloat16:
      *out = Narrowed<uint16_t>(parts.ints32);
      return Ok();
    case DType::kInt8:
    case DType::kUint8:
    case DType::kFloat8E4m3:
    case DType::kFloat8E5m2:
    case DType::kFloat8E8m0:
      *out = Narrowed<uint8_t>(parts.ints32);
      return Ok();
    default:
      return Unsupported(Format("constants of %s are not supported", DTypeName(type)));
  }
}

Status Number(const Parts& parts, std::string_view key, int64_t otherwise, int64_t* out) {
  const auto found = parts.external.find(key);
  if (found == parts.external.end()) {
    *out = otherwise;
    return Ok();
  }
  const std::optional<int64_t> value = ParseInt(found->second);
  MP_REQUIRE(value && *value >= 0, "external data: \"%s\" is \"%.40s\", and must be a number of bytes",
             std::string(key).c_str(), found->second.c_str());
  *out = *value;
  return Ok();
}

Status External(const Parts& parts, ExternalFiles* files, ir::Bytes* out) {
  const auto location = parts.external.find("location");
  MP_REQUIRE(location != parts.external.end(), "external data has no \"location\"");
  int64_t offset = 0;
  int64_t length = 0;
  MP_RETURN_IF_ERROR(Number(parts, "offset", 0, &offset));
  MP_RETURN_IF_ERROR(Number(parts, "length", -1, &length));
  return files->Read(location->second, offset, length, out);
}

}  // namespace

DType TypeFromOnnx(int64_t number) {
  return number < 0 || number >= static_cast<int64_t>(std::size(kTypes)) ? DType::kUndefined : kTypes[number].type;
}

std::string OnnxTypeName(int64_t number) {
  if (number < 0 || number >= static_cast<int64_t>(std::size(kTypes))) {
    return Format("type %lld", static_cast<long long>(number));
  }
  return kTypes[number].name;
}

Status ModelReader::Tensor(Reader* reader, std::string* out_name, ir::TensorPtr* out) {
  Parts parts;
  Field field;
  while (reader->Next(&field)) {
    MP_RETURN_IF_ERROR(ReadField(*reader, field, &parts));
    *out_name = parts.name;
  }
  MP_RETURN_IF_ERROR(reader->status());
  raw_bytes_ += parts.raw.size();
  const NarrowType* narrow = NarrowFromOnnx(parts.type);
  const DType type = narrow != nullptr ? narrow->carrier : TypeFromOnnx(parts.type);
  MP_CHECK(type != DType::kUndefined && type != DType::kString, kUnsupported, "constants of type %s are not supported",
           OnnxTypeName(parts.type).c_str());
  const bool dims_known = std::all_of(parts.dims.begin(), parts.dims.end(), [](int64_t dim) { return dim >= 0; });
  MP_REQUIRE(dims_known, "has shape %s", ir::TextOf(parts.dims).c_str());
  int64_t bytes = ir::BytesOf(type, parts.dims);
  MP_REQUIRE(bytes >= 0, "shape %s of %s has a size that overflows", ir::TextOf(parts.dims).c_str(),
             OnnxTypeName(parts.type).c_str());
  const int64_t elements = bytes;  // of a narrow type, which has a byte each
  if (narrow != nullptr) bytes = elements / (8 / narrow->bits) + (elements % (8 / narrow->bits) != 0 ? 1 : 0);
  MP_REQUIRE(parts.filled() <= 1, "has its elements in %zu fields", parts.filled());
  auto tensor = std::make_shared<ir::Tensor>();
  if (parts.location == 1) {
    MP_REQUIRE(parts.filled() == 0, "has elements of its own and external data");
    MP_RETURN_IF_ERROR(External(parts, &files_, &tensor->data));
  } else if (parts.has_raw && keep_ != nullptr && parts.raw.size() > io::kCopiedBytes) {
    tensor->data = {parts.raw.data(), parts.raw.size(), keep_};
  } else if (parts.has_raw) {
    tensor->data = ir::Bytes::Copy(parts.raw.data(), parts.raw.size());
  } else {
    MP_RETURN_IF_ERROR(Listed(type, parts, &tensor->data));
  }
  MP_REQUIRE(tensor->data.size == static_cast<size_t>(bytes), "shape %s of %s takes %lld bytes, and %zu are there",
             ir::TextOf(parts.dims).c_str(), OnnxTypeName(parts.type).c_str(), static_cast<long long>(bytes),
             tensor->data.size);
  if (narrow != nullptr) {
    tensor->data = Unpacked(*narrow, tensor->data, elements);
    MarkNarrow(*narrow, &tensor->desc);
  }
  tensor->desc.dtype = type;
  tensor->desc.dims = tensor->desc.origin_dims = std::move(parts.dims);
  tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
  *out = std::move(tensor);
  return Ok();
}

}  // namespace millpond::onnx
