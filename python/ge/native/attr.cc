// SPDX-License-Identifier: Apache-2.0
// Values of attributes, both ways.
#include <string>
#include <string_view>
#include <utility>

#include "python/ge/native/wrapper.h"

namespace gepy {
namespace {

// As ge.graph.types.AttrValueType numbers them.
enum : int32_t {
  kText = 1,
  kFloat = 2,
  kBool = 3,
  kInt = 4,
  kTensor = 6,
  kLists = 10,
  kType = 11,
  kList = 1000,
};

// Holds what the fields of Attr point to.
struct OwnedAttr : Attr {
  std::vector<int64_t> kept_ints;
  std::vector<float> kept_floats;
  std::vector<std::string> kept_texts;
  std::vector<char*> text_places;
  std::vector<void*> handles;
  std::vector<int64_t> kept_lengths;

  void Point() {
    ints = kept_ints.data();
    floats = kept_floats.data();
    for (std::string& text : kept_texts) text_places.push_back(text.data());
    texts = text_places.data();
    tensors = handles.data();
    lengths = kept_lengths.data();
  }
};

// AttrValue itself does not tell its type, and a type also reads as a number: an operator that has it as an attribute
// does tell.
int32_t TypeOf(const ge::AttrValue& value) {
  ge::Operator holder("value", "Holder");
  holder.SetAttr("value", value);
  std::map<ge::AscendString, ge::AscendString> types;
  if (holder.GetAllAttrNamesAndTypes(types) != ge::GRAPH_SUCCESS) return 0;
  const auto found = types.find(ge::AscendString("value"));
  if (found == types.end()) return 0;
  static const std::pair<std::string_view, int32_t> kNames[] = {
      {"STRING", kText},  {"FLOAT", kFloat},         {"BOOL", kBool},      {"INT", kInt},
      {"TENSOR_DESC", 5}, {"TENSOR", kTensor},       {"BYTES", 7},         {"GRAPH", 8},
      {"NAMED_ATTRS", 9}, {"LIST_LIST_INT", kLists}, {"DATA_TYPE", kType}, {"LIST_LIST_FLOAT", 12},
  };
  std::string_view name = found->second.GetString();
  if (name.starts_with("VT_")) name.remove_prefix(3);
  for (const auto& [word, number] : kNames) {
    if (name == word) return number;
    if (name.starts_with("LIST_") && name.substr(5) == word) return kList + number;
  }
  return 0;
}

template <class T>
bool Read(const ge::AttrValue& value, std::vector<T>* out, bool list) {
  if (list) return value.GetAttrValue(*out) == ge::GRAPH_SUCCESS;
  T one{};
  if (value.GetAttrValue(one) != ge::GRAPH_SUCCESS) return false;
  out->push_back(std::move(one));
  return true;
}

// Into integers: truth values and types too.
template <class T>
bool ReadInts(const ge::AttrValue& value, bool list, OwnedAttr* attr) {
  std::vector<T> values;
  if (!Read(value, &values, list)) return false;
  for (const auto& one : values) attr->kept_ints.push_back(static_cast<int64_t>(one));
  attr->count = static_cast<int64_t>(values.size());
  return true;
}

bool ReadLists(const ge::AttrValue& value, OwnedAttr* attr) {
  std::vector<std::vector<int64_t>> lists;
  if (value.GetAttrValue(lists) != ge::GRAPH_SUCCESS) return false;
  for (const auto& list : lists) {
    attr->kept_lengths.push_back(static_cast<int64_t>(list.size()));
    attr->kept_ints.insert(attr->kept_ints.end(), list.begin(), list.end());
  }
  attr->count = static_cast<int64_t>(lists.size());
  return true;
}

bool ReadTexts(const ge::AttrValue& value, bool list, OwnedAttr* attr) {
  std::vector<ge::AscendString> texts;
  if (!Read(value, &texts, list)) return false;
  for (const auto& text : texts) attr->kept_texts.emplace_back(text.GetString());
  attr->count = static_cast<int64_t>(texts.size());
  return true;
}

bool ReadTensors(const ge::AttrValue& value, bool list, OwnedAttr* attr) {
  std::vector<ge::Tensor> tensors;
  if (!Read(value, &tensors, list)) return false;
  for (const auto& tensor : tensors) attr->handles.push_back(new ge::Tensor(tensor));
  attr->count = static_cast<int64_t>(tensors.size());
  return true;
}

bool ReadValue(const ge::AttrValue& value, OwnedAttr* attr) {
  const bool list = attr->type >= kList;
  switch (attr->type % kList) {
    case kText:
      return ReadTexts(value, list, attr);
    case kBool:
      return ReadInts<bool>(value, list, attr);
    case kInt:
      return ReadInts<int64_t>(value, list, attr);
    case kType:
      return ReadInts<ge::DataType>(value, list, attr);
    case kTensor:
      return ReadTensors(value, list, attr);
    case kLists:
      return ReadLists(value, attr);
    case kFloat:
      if (!Read(value, &attr->kept_floats, list)) return false;
      attr->count = static_cast<int64_t>(attr->kept_floats.size());
      return true;
    default:
      return false;
  }
}

template <class T, class From>
bool SetFrom(const Attr& attr, const From& from, ge::AttrValue* out) {
  const auto count = static_cast<size_t>(attr.count);
  if (attr.type < kList) return count == 1 && out->SetAttrValue(from(0)) == ge::GRAPH_SUCCESS;
  std::vector<T> values;
  values.reserve(count);
  for (size_t i = 0; i < count; ++i) values.push_back(from(i));
  return out->SetAttrValue(values) == ge::GRAPH_SUCCESS;
}

bool SetLists(const Attr& attr, ge::AttrValue* out) {
  std::vector<std::vector<int64_t>> lists;
  const int64_t* next = attr.ints;
  for (int64_t i = 0; i < attr.count; ++i) {
    lists.emplace_back(next, next + attr.lengths[i]);
    next += attr.lengths[i];
  }
  return out->SetAttrValue(lists) == ge::GRAPH_SUCCESS;
}

}  // namespace

bool ToAttrValue(const Attr& attr, ge::AttrValue* out) {
  switch (attr.type % kList) {
    case kText:
      return SetFrom<ge::AscendString>(
          attr, [&](size_t i) { return ge::AscendString(attr.texts[i]); }, out);
    case kFloat:
      return SetFrom<float>(
          attr, [&](size_t i) { return attr.floats[i]; }, out);
    case kBool:
      return SetFrom<bool>(
          attr, [&](size_t i) { return attr.ints[i] != 0; }, out);
    case kInt:
      return SetFrom<int64_t>(
          attr, [&](size_t i) { return attr.ints[i]; }, out);
    case kType:
      return SetFrom<ge::DataType>(
          attr, [&](size_t i) { return static_cast<ge::DataType>(attr.ints[i]); }, out);
    case kTensor:
      for (int64_t i = 0; i < attr.count; ++i) {
        if (attr.tensors[i] == nullptr) return false;
      }
      return SetFrom<ge::Tensor>(
          attr, [&](size_t i) { return *static_cast<ge::Tensor*>(attr.tensors[i]); }, out);
    case kLists:
      return SetLists(attr, out);
    default:
      return false;
  }
}

Attr* NewAttr(const ge::AttrValue& value) {
  auto attr = std::make_unique<OwnedAttr>();
  attr->type = TypeOf(value);
  attr->count = 0;
  if (!ReadValue(value, attr.get())) attr->count = 0;
  attr->Point();
  return attr.release();
}

}  // namespace gepy

// The tensors in it are the caller's by now.
GEPY_EXPORT void gepy_attr_destroy(gepy::Attr* attr) { delete static_cast<gepy::OwnedAttr*>(attr); }

GEPY_EXPORT void gepy_free(void* memory) { std::free(memory); }
