// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/single_op_json.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace millpond::io {

namespace {

using nlohmann::json;

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"bool", DType::kBool},           {"int8", DType::kInt8},           {"uint8", DType::kUint8},
    {"int16", DType::kInt16},         {"uint16", DType::kUint16},       {"int32", DType::kInt32},
    {"uint32", DType::kUint32},       {"int64", DType::kInt64},         {"uint64", DType::kUint64},
    {"float16", DType::kHalf},        {"fp16", DType::kHalf},           {"half", DType::kHalf},
    {"float", DType::kFloat},         {"float32", DType::kFloat},       {"double", DType::kDouble},
    {"complex32", DType::kComplex32}, {"complex64", DType::kComplex64}, {"complex128", DType::kComplex128},
    {"uint1", DType::kUint1},         {"bfloat16", DType::kBfloat16},   {"int4", DType::kInt4},
    {"UNDEFINED", DType::kUndefined},
};

constexpr std::pair<std::string_view, int32_t> kFormats[] = {
    {"NCHW", 0},        {"NHWC", 1},      {"ND", 2},     {"NC1HWC0", 3}, {"FRACTAL_Z", 4},
    {"FRACTAL_NZ", 29}, {"HWCN", 16},     {"NDHWC", 27}, {"NCDHW", 30},  {"DHWCN", 31},
    {"DHWNC", 32},      {"RESERVED", 40}, {"CHWN", 9},   {"NC", 10},     {"NCL", 47},
};

Status Wrong(const std::string& where, const std::string& what) { return {Code::kParseFile, where + ": " + what}; }

// The member of an object; null when it is not there.
const json* Member(const json& from, const char* name) {
  const auto found = from.find(name);
  return found == from.end() ? nullptr : &*found;
}

Status Text(const std::string& where, const json& from, const char* name, bool required, std::string* out) {
  const json* const value = Member(from, name);
  if (value == nullptr) return required ? Wrong(where, Format("\"%s\" is missing", name)) : Ok();
  if (!value->is_string()) return Wrong(where, Format("\"%s\" is not a string", name));
  *out = value->get<std::string>();
  return Ok();
}

Status Integer(const std::string& where, const json& from, int64_t* out) {
  if (!from.is_number_integer()) return Wrong(where, from.dump() + " is not a whole number");
  *out = from.get<int64_t>();
  return Ok();
}

Status Integers(const std::string& where, const json& from, std::vector<int64_t>* out) {
  if (!from.is_array()) return Wrong(where, from.dump() + " is not a list of whole numbers");
  for (const json& one : from) MP_RETURN_IF_ERROR(Integer(where, one, &out->emplace_back()));
  return Ok();
}

Status TypeFrom(const std::string& where, const std::string& name, DType* out) {
  for (const auto& [known, type] : kTypes) {
    if (known != name) continue;
    *out = type;
    return Ok();
  }
  return Wrong(where, "type \"" + name + "\" is not known; there are float16, float, int32, bool and the like");
}

Status FormatFrom(const std::string& where, const std::string& name, int32_t* out) {
  for (const auto& [known, format] : kFormats) {
    if (known != name) continue;
    *out = format;
    return Ok();
  }
  return Wrong(where, "format \"" + name + "\" is not known; there are ND, NCHW, NHWC and the like");
}

// One range for each unknown dimension, in order; the others are fixed.
Status RangesFrom(const std::string& where, const json& ranges, ir::TensorDesc* desc) {
  if (!ranges.is_array()) return Wrong(where, "\"shape_range\" is not a list");
  const size_t unknown = static_cast<size_t>(std::count(desc->dims.begin(), desc->dims.end(), ir::kUnknownDim));
  if (ranges.size() != unknown) {
    return Wrong(
        where, Format("\"shape_range\" has %zu entries, and the shape %zu unknown dimensions", ranges.size(), unknown));
  }
  size_t next = 0;
  for (const int64_t dim : desc->dims) {
    if (dim != ir::kUnknownDim) {
      desc->range.emplace_back(dim, dim);
      continue;
    }
    std::vector<int64_t> bounds;
    MP_RETURN_IF_ERROR(Integers(where + " shape_range", ranges[next++], &bounds));
    if (bounds.size() != 2 || bounds[0] < 0 || (bounds[1] != -1 && bounds[1] < bounds[0])) {
      return Wrong(where, "an entry of \"shape_range\" is not [low, high], high being -1 where there is no bound");
    }
    desc->range.emplace_back(bounds[0], bounds[1]);
  }
  return Ok();
}

// Round to nearest, ties to even.
uint16_t Bfloat16From(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16U | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

uint16_t HalfFrom(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const float size = std::fabs(value);
  if (size == 0) return sign;
  if (std::isnan(size)) return static_cast<uint16_t>(sign | 0x7E00U);
  if (size >= 65520.0F) return static_cast<uint16_t>(sign | 0x7C00U);  // rounds to infinity
  // Subnormals: the spacing stays 2^-24.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int scale = std::max(exponent - 11, -24);
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, -scale)));
  return static_cast<uint16_t>(sign | (units + (static_cast<uint32_t>(scale + 24) << 10U)));
}

template <class T>
void Append(double value, std::string* out) {
  const T converted = static_cast<T>(value);
  out->append(reinterpret_cast<const char*>(&converted), sizeof converted);
}

Status AppendNumber(const std::string& where, const json& value, DType type, std::string* out) {
  if (value.is_boolean()) {
    Append<uint8_t>(value.get<bool>() ? 1 : 0, out);
    return Ok();
  }
  if (!value.is_number()) return Wrong(where, value.dump() + " in \"const_value\" is not a number");
  const double number = value.get<double>();
  switch (type) {
    case DType::kFloat:
      Append<float>(number, out);
      return Ok();
    case DType::kDouble:
      Append<double>(number, out);
      return Ok();
    case DType::kHalf:
    case DType::kBfloat16: {
      const uint16_t bits =
          type == DType::kHalf ? HalfFrom(static_cast<float>(number)) : Bfloat16From(static_cast<float>(number));
      out->append(reinterpret_cast<const char*>(&bits), sizeof bits);
      return Ok();
    }
    default:
      break;
  }
  if (!value.is_number_integer()) return Wrong(where, value.dump() + " in \"const_value\" is not a whole number");
  const auto whole = value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(ir::BytesOf(type, {1}), 0));
  if (bytes == 0 || bytes > sizeof whole || ClassOf(type) == kComplexTypes) {
    return Wrong(where, "values of this type cannot be given as \"const_value\"");
  }
  out->append(reinterpret_cast<const char*>(&whole), bytes);  // little-endian
  return Ok();
}

Status ConstantFrom(const std::string& where, const json& from, ir::TensorDesc* desc) {
  const json* const is_const = Member(from, "is_const");
  const bool wanted = is_const != nullptr && is_const->is_boolean() && is_const->get<bool>();
  const json* const values = Member(from, "const_value");
  if (!wanted) return Ok();
  if (values == nullptr || !values->is_array())
    return Wrong(where, "\"is_const\" is set without a list \"const_value\"");
  const int64_t needed = ir::IsStatic(desc->dims) ? ir::ElementsOf(desc->dims) : -1;
  if (needed < 0 || static_cast<size_t>(needed) != values->size()) {
    return Wrong(where, Format("\"const_value\" has %zu values, and the shape %s", values->size(),
                               ir::TextOf(desc->dims).c_str()));
  }
  std::string bytes;
  for (const json& value : *values) MP_RETURN_IF_ERROR(AppendNumber(where, value, desc->dtype, &bytes));
  ir::Tensor tensor;
  tensor.desc = *desc;
  tensor.data = ir::Bytes::Copy(bytes.data(), bytes.size());
  desc->attributes = std::make_shared<ir::Attributes>();
  (*desc->attributes)[kConstValue] = ir::Attr{std::make_shared<const ir::Tensor>(std::move(tensor))};
  return Ok();
}

Status OperandFrom(const std::string& where, const json& from, ir::TensorDesc* out) {
  if (!from.is_object()) return Wrong(where, "it is not an object");
  std::string type;
  std::string format;
  MP_RETURN_IF_ERROR(Text(where, from, "type", true, &type));
  MP_RETURN_IF_ERROR(Text(where, from, "format", true, &format));
  MP_RETURN_IF_ERROR(TypeFrom(where, type, &out->dtype));
  MP_RETURN_IF_ERROR(FormatFrom(where, format, &out->format));
  out->origin_format = out->format;
  MP_RETURN_IF_ERROR(Text(where, from, "name", false, &out->name));
  std::string origin;
  MP_RETURN_IF_ERROR(Text(where, from, "origin_format", false, &origin));
  if (!origin.empty()) MP_RETURN_IF_ERROR(FormatFrom(where, origin, &out->origin_format));
  if (out->dtype == DType::kUndefined) return Ok();  // an absent optional operand
  const json* const shape = Member(from, "shape");
  if (shape == nullptr) return Wrong(where, "\"shape\" is missing");
  MP_RETURN_IF_ERROR(Integers(where + " shape", *shape, &out->dims));
  for (const int64_t dim : out->dims) {
    if (dim < ir::kUnknownRank || (dim == ir::kUnknownRank && out->dims.size() != 1)) {
      return Wrong(
          where, "the shape is " + ir::TextOf(out->dims) + "; unknown is -1, and [-2] when not even the rank is known");
    }
  }
  out->has_shape = out->has_origin_shape = true;
  out->origin_dims = out->dims;
  if (const json* const ranges = Member(from, "shape_range")) MP_RETURN_IF_ERROR(RangesFrom(where, *ranges, out));
  return ConstantFrom(where, from, out);
}

template <class T, class Check>
Status ListFrom(const std::string& where, const json& value, Check is_right, ir::Attr* out) {
  if (!value.is_array()) return Wrong(where, "the value is not a list");
  std::vector<T> list;
  for (const json& one : value) {
    if (!is_right(one)) return Wrong(where, one.dump() + " is not of the attribute's type");
    list.push_back(one.get<T>());
  }
  out->value = std::move(list);
  return Ok();
}

Status DataTypeFrom(const std::string& where, const json& value, ir::Attr* out) {
  if (value.is_number_integer()) {
    const int64_t number = value.get<int64_t>();
    if (number < 0 || number > std::numeric_limits<int8_t>::max()) return Wrong(where, "no type has this number");
    out->value = static_cast<DType>(number);
    return Ok();
  }
  if (!value.is_string()) return Wrong(where, "a data_type is a name like \"DT_FLOAT\", or its number");
  std::string name = value.get<std::string>();
  if (name.starts_with("DT_")) name.erase(0, 3);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "bf16") name = "bfloat16";
  DType type = DType::kUndefined;
  MP_RETURN_IF_ERROR(TypeFrom(where, name, &type));
  out->value = type;
  return Ok();
}

Status AttrFrom(const std::string& where, const std::string& type, const json& value, ir::Attr* out) {
  const auto is_bool = [](const json& one) { return one.is_boolean(); };
  const auto is_int = [](const json& one) { return one.is_number_integer(); };
  const auto is_float = [](const json& one) { return one.is_number(); };
  const auto is_text = [](const json& one) { return one.is_string(); };
  const auto one_of = [&]<class T>(bool is_right, const T&) -> Status {
    if (!is_right) return Wrong(where, value.dump() + " is not of type " + type);
    out->value = value.get<T>();
    return Ok();
  };
  if (type == "bool") return one_of(is_bool(value), bool{});
  if (type == "int") return one_of(is_int(value), int64_t{});
  if (type == "float") return one_of(is_float(value), float{});
  if (type == "string") return one_of(is_text(value), std::string{});
  if (type == "list_bool") return ListFrom<bool>(where, value, is_bool, out);
  if (type == "list_int") return ListFrom<int64_t>(where, value, is_int, out);
  if (type == "list_float") return ListFrom<float>(where, value, is_float, out);
  if (type == "list_string") return ListFrom<std::string>(where, value, is_text, out);
  if (type == "data_type") return DataTypeFrom(where, value, out);
  if (type == "list_list_int") {
    if (!value.is_array()) return Wrong(where, "the value is not a list");
    std::vector<std::vector<int64_t>> lists;
    for (const json& one : value) MP_RETURN_IF_ERROR(Integers(where, one, &lists.emplace_back()));
    out->value = std::move(lists);
    return Ok();
  }
  return Wrong(where, "attributes of type \"" + type +
                          "\" are not known; there are bool, int, float, string, data_type, list_bool, list_int, "
                          "list_float, list_string and list_list_int");
}

Status OperandsFrom(const std::string& where, const json& op, const char* member, std::vector<ir::TensorDesc>* out) {
  const json* const list = Member(op, member);
  if (list == nullptr || !list->is_array()) return Wrong(where, Format("\"%s\" is missing, or not a list", member));
  for (size_t i = 0; i < list->size(); ++i) {
    MP_RETURN_IF_ERROR(OperandFrom(Format("%s, %s %zu", where.c_str(), member, i), (*list)[i], &out->emplace_back()));
  }
  return Ok();
}

std::string DefaultName(size_t number, const OmSingleOp& op) {
  std::string name = std::to_string(number) + "_" + op.type;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const ir::TensorDesc& desc : *operands) {
      const int type = desc.dtype == DType::kUndefined ? 28 : static_cast<int>(desc.dtype);
      name += Format("_%d_%d", type, desc.format);
      for (const int64_t dim : desc.dims) name += "_" + std::to_string(dim);
    }
  }
  return name;
}

Status OpFrom(size_t number, const json& from, DescribedOp* out) {
  const std::string where = Format("operator %zu", number);
  MP_RETURN_IF_ERROR(Text(where, from, "op", true, &out->op.type));
  const std::string named = where + " (" + out->op.type + ")";
  MP_RETURN_IF_ERROR(OperandsFrom(named, from, "input_desc", &out->op.inputs));
  MP_RETURN_IF_ERROR(OperandsFrom(named, from, "output_desc", &out->op.outputs));
  if (const json* const attrs = Member(from, "attr")) {
    if (!attrs->is_array()) return Wrong(named, "\"attr\" is not a list");
    for (const json& attr : *attrs) {
      if (!attr.is_object()) return Wrong(named, "an attribute is not an object");
      std::string name;
      std::string type;
      MP_RETURN_IF_ERROR(Text(named + ", an attribute", attr, "name", true, &name));
      const std::string place = Format("%s, attribute %s", named.c_str(), name.c_str());
      MP_RETURN_IF_ERROR(Text(place, attr, "type", true, &type));
      const json* const value = Member(attr, "value");
      if (value == nullptr) return Wrong(place, "\"value\" is missing");
      MP_RETURN_IF_ERROR(AttrFrom(place, type, *value, &out->op.attributes[name]));
    }
  }
  MP_RETURN_IF_ERROR(Text(named, from, "name", false, &out->name));
  if (out->name.empty()) out->name = DefaultName(number, out->op);
  if (out->name.find('/') != std::string::npos)
    return Wrong(named, "\"name\" has a '/'; it names a file, not a folder");
  return Ok();
}

}  // namespace

Status ReadSingleOps(std::string_view text, std::vector<DescribedOp>* out) {
  const json parsed = json::parse(text, nullptr, false);
  MP_CHECK(!parsed.is_discarded(), kParseFile, "the description of operators is not JSON");
  MP_CHECK(parsed.is_array(), kParseFile, "the description of operators is not a list: begin it with '['");
  size_t number = 0;
  for (const json& one : parsed) {
    MP_CHECK(one.is_object(), kParseFile, "operator %zu is not an object", number);
    if (one.contains("compile_flag") && !one.contains("op")) continue;  // an old setting for the whole list
    MP_RETURN_IF_ERROR(OpFrom(number, one, &out->emplace_back()));
    ++number;
  }
  MP_CHECK(number > 0, kParseFile, "the description names no operator");
  return Ok();
}

}  // namespace millpond::io
