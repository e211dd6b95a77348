// SPDX-License-Identifier: Apache-2.0
// Definitions write their defaults as C++ would: numbers with suffixes, names of types and limits, nested braces.
#include "src/graph/ir/defaults.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <optional>

namespace millpond::ir {
namespace {

constexpr int64_t kUndefinedInGe = 28;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

// The text between `open` and `close`, if `text` is exactly that.
std::optional<std::string_view> Inside(std::string_view text, std::string_view open, std::string_view close) {
  text = Trim(text);
  if (text.size() < open.size() + close.size() || !text.starts_with(open) || !text.ends_with(close)) return {};
  return Trim(text.substr(open.size(), text.size() - open.size() - close.size()));
}

std::optional<int64_t> ReadType(std::string_view text) {
  struct Name {
    std::string_view name;
    int64_t number;
  };
  static constexpr Name kNames[] = {
      {"FLOAT", 0},        {"FLOAT16", 1},      {"INT8", 2},         {"INT32", 3},        {"UINT8", 4},
      {"INT16", 6},        {"UINT16", 7},       {"UINT32", 8},       {"INT64", 9},        {"UINT64", 10},
      {"DOUBLE", 11},      {"BOOL", 12},        {"STRING", 13},      {"COMPLEX64", 16},   {"COMPLEX128", 17},
      {"QINT8", 18},       {"QINT16", 19},      {"QINT32", 20},      {"QUINT8", 21},      {"QUINT16", 22},
      {"RESOURCE", 23},    {"VARIANT", 26},     {"BF16", 27},        {"UNDEFINED", 28},   {"INT4", 29},
      {"UINT1", 30},       {"COMPLEX32", 33},   {"HIFLOAT8", 34},    {"FLOAT8_E5M2", 35}, {"FLOAT8_E4M3FN", 36},
      {"FLOAT8_E8M0", 37}, {"FLOAT6_E3M2", 38}, {"FLOAT6_E2M3", 39}, {"FLOAT4_E2M1", 40}, {"FLOAT4_E1M2", 41}};
  text = Trim(text);
  if (text == "DataType(-1)") return kUndefinedInGe;
  if (!text.starts_with("DT_")) return {};
  text.remove_prefix(3);
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& one) { return one.name == text; });
  if (found == std::end(kNames)) return {};
  return found->number;
}

DType TypeOf(int64_t number) { return number == kUndefinedInGe ? DType::kUndefined : static_cast<DType>(number); }

std::optional<double> ReadNumber(std::string_view text) {
  text = Trim(text);
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto over = ReadNumber(text.substr(0, slash));
    const auto under = ReadNumber(text.substr(slash + 1));
    if (!over || !under || *under == 0) return {};
    return *over / *under;
  }
  if (text.ends_with("numeric_limits<float>::max()")) return std::numeric_limits<float>::max();
  std::string copy(text);
  if (!copy.starts_with("0x") && (copy.ends_with('f') || copy.ends_with('F'))) copy.pop_back();
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return {};
  return value;
}

bool Read(std::string_view text, int64_t* out) {
  text = Trim(text);
  if (const auto cast = Inside(text, "static_cast<int>(", ")")) text = *cast;
  if (text == "INT64_MAX") {
    *out = std::numeric_limits<int64_t>::max();
    return true;
  }
  if (const auto type = ReadType(text)) {
    *out = *type;
    return true;
  }
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  *out = std::strtoll(copy.c_str(), &end, 0);
  if (!copy.empty() && *end == '\0') return errno == 0;
  const auto number = ReadNumber(text);  // some definitions write an integer as 1.0
  if (!number || *number != static_cast<double>(static_cast<int64_t>(*number))) return false;
  *out = static_cast<int64_t>(*number);
  return true;
}

bool Read(std::string_view text, float* out) {
  const auto number = ReadNumber(text);
  if (number) *out = static_cast<float>(*number);
  return number.has_value();
}

bool Read(std::string_view text, bool* out) {
  text = Trim(text);
  *out = text == "true";
  return *out || text == "false";
}

bool Read(std::string_view text, std::string* out) {
  if (const auto wrapped = Inside(text, "AscendString(", ")")) text = *wrapped;
  text = Trim(text);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  *out = text.substr(1, text.size() - 2);
  return true;
}

bool Read(std::string_view text, DType* out) {
  const auto type = ReadType(text);
  if (type) *out = TypeOf(*type);
  return type.has_value();
}

// The members of a braced list, split at the commas outside inner braces and quotes.
std::optional<std::vector<std::string_view>> Members(std::string_view text) {
  const auto inside = Inside(text, "{", "}");
  if (!inside) return {};
  std::vector<std::string_view> members;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t place = 0; place <= inside->size(); ++place) {
    const char letter = place < inside->size() ? (*inside)[place] : ',';
    if (letter == '"') quoted = !quoted;
    if (quoted && place < inside->size()) continue;
    if (letter == '{') ++depth;
    if (letter == '}') --depth;
    if (letter != ',' || depth != 0) continue;
    const std::string_view member = Trim(inside->substr(start, place - start));
    if (!member.empty()) members.push_back(member);
    start = place + 1;
  }
  return members;
}

template <class T>
bool Read(std::string_view text, std::vector<T>* out) {
  const auto members = Members(text);
  if (!members) return false;
  for (const std::string_view member : *members) {
    T value{};
    if (!Read(member, &value)) return false;
    out->push_back(std::move(value));
  }
  return true;
}

// Shape names stand for lists too.
bool ReadDims(std::string_view text, std::vector<int64_t>* out) {
  text = Trim(text);
  if (text == "UNKNOWN_RANK") *out = {kUnknownRank};
  if (text == "UNKNOWN_SHAPE") *out = {kUnknownDim};
  return !out->empty() || Read(text, out);
}

template <class T>
bool Fill(std::string_view text, Attr* out) {
  T value{};
  if (!Read(text, &value)) return false;
  out->value = std::move(value);
  return true;
}

// Definitions only ever give these an empty default.
template <class T>
bool FillEmpty(std::string_view text, std::string_view empty, T value, Attr* out) {
  if (Trim(text) != empty) return false;
  out->value = std::move(value);
  return true;
}

bool FillFrom(GeAttrType type, std::string_view text, Attr* out) {
  switch (type) {
    case GeAttrType::kInt:
      return Fill<int64_t>(text, out);
    case GeAttrType::kFloat:
      return Fill<float>(text, out);
    case GeAttrType::kString:
      return Fill<std::string>(text, out);
    case GeAttrType::kBool:
      return Fill<bool>(text, out);
    case GeAttrType::kType:
      return Fill<DType>(text, out);
    case GeAttrType::kTensor:
      return FillEmpty(text, "Tensor()", std::make_shared<const Tensor>(), out);
    case GeAttrType::kBytes:
      return FillEmpty(text, "{}", ByteString{}, out);
    case GeAttrType::kNamedAttrs:
      return FillEmpty(text, "NamedAttrs()", std::make_shared<const NamedAttributes>(), out);
    case GeAttrType::kListInt: {
      std::vector<int64_t> dims;
      const bool read = ReadDims(text, &dims);
      if (read) out->value = std::move(dims);
      return read;
    }
    case GeAttrType::kListFloat:
      return Fill<std::vector<float>>(text, out);
    case GeAttrType::kListString:
      return Fill<std::vector<std::string>>(text, out);
    case GeAttrType::kListBool:
      return Fill<std::vector<bool>>(text, out);
    case GeAttrType::kListType:
      return Fill<std::vector<DType>>(text, out);
    case GeAttrType::kListTensor:
      return FillEmpty(text, "{}", std::vector<TensorPtr>{}, out);
    case GeAttrType::kListNamedAttrs:
      return FillEmpty(text, "{}", std::vector<std::shared_ptr<const NamedAttributes>>{}, out);
    case GeAttrType::kListListInt:
      return Fill<std::vector<std::vector<int64_t>>>(text, out);
  }
  return false;
}

}  // namespace

Status DefaultOf(const GeAttribute& attribute, Attr* out) {
  const std::string name(attribute.name);
  MP_REQUIRE(!attribute.required, "attribute %s has no default: it must be given", name.c_str());
  MP_REQUIRE(!attribute.default_text.empty(), "attribute %s has no default", name.c_str());
  if (FillFrom(attribute.type, attribute.default_text, out)) return Ok();
  return InternalError(Format("attribute %s: its default '%s' cannot be read as %s; fix src/ops/table/ge_ir.tsv",
                              name.c_str(), std::string(attribute.default_text).c_str(),
                              GeAttrTypeName(attribute.type)));
}

}  // namespace millpond::ir
