// SPDX-License-Identifier: Apache-2.0
// Between ir::Attr and the C++ types that the public functions take. AttrType<T> says what a T is inside a graph; a new
// type of attribute is one more specialisation.
#ifndef MILLPOND_SRC_API_GRAPH_ATTR_CONVERT_H_
#define MILLPOND_SRC_API_GRAPH_ATTR_CONVERT_H_

#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/api/graph/access.h"

namespace millpond::api {

// Ir: the type inside. In and Out convert one value; false: it has no counterpart.
template <class T>
struct AttrType;

// The types that attributes of every kind of object have: passed by value, and by reference.
#define MP_EACH_ATTR_VALUE(X) X(int64_t) X(float32_t) X(bool)
#define MP_EACH_ATTR_OBJECT(X) \
  X(AscendString)              \
  X(ge::DataType)              \
  X(Tensor)                    \
  X(std::vector<int64_t>)      \
  X(std::vector<float32_t>)    \
  X(std::vector<bool>)         \
  X(std::vector<AscendString>) X(std::vector<ge::DataType>) X(std::vector<Tensor>) X(std::vector<std::vector<int64_t>>)
// And those of nodes and operators.
#define MP_EACH_NARROW_ATTR_VALUE(X) X(int32_t) X(uint32_t)
#define MP_EACH_NARROW_ATTR_OBJECT(X) X(std::vector<int32_t>) X(std::vector<uint32_t>)

template <class T>
struct SameAttrType {
  using Ir = T;
  static bool In(const T& from, Ir* to) {
    *to = from;
    return true;
  }
  static bool Out(const Ir& from, T* to) {
    *to = from;
    return true;
  }
};
template <>
struct AttrType<bool> : SameAttrType<bool> {};
template <>
struct AttrType<int64_t> : SameAttrType<int64_t> {};
template <>
struct AttrType<float> : SameAttrType<float> {};
template <>
struct AttrType<std::string> : SameAttrType<std::string> {};

template <class T>
struct NarrowAttrType {
  using Ir = int64_t;
  static bool In(T from, Ir* to) {
    *to = from;
    return true;
  }
  static bool Out(Ir from, T* to) {
    if (from < std::numeric_limits<T>::min() || from > std::numeric_limits<T>::max()) return false;
    *to = static_cast<T>(from);
    return true;
  }
};
template <>
struct AttrType<int32_t> : NarrowAttrType<int32_t> {};
template <>
struct AttrType<uint32_t> : NarrowAttrType<uint32_t> {};

template <>
struct AttrType<ge::AscendString> {
  using Ir = std::string;
  static bool In(const ge::AscendString& from, Ir* to) {
    *to = TextOf(from);
    return true;
  }
  static bool Out(const Ir& from, ge::AscendString* to) {
    *to = Wrap(from);
    return true;
  }
};

template <>
struct AttrType<ge::DataType> {
  using Ir = DType;
  static bool In(ge::DataType from, Ir* to) {
    *to = DTypeOf(from);
    return true;
  }
  static bool Out(Ir from, ge::DataType* to) {
    *to = Wrap(from);
    return true;
  }
};

template <>
struct AttrType<ge::Tensor> {
  using Ir = ir::TensorPtr;
  static bool In(const ge::Tensor& from, Ir* to) {
    *to = ConstantOf(from);
    return *to != nullptr;
  }
  static bool Out(const Ir& from, ge::Tensor* to) {
    if (from == nullptr) return false;
    *to = Wrap(*from);
    return true;
  }
};

template <class T>
struct AttrType<std::vector<T>> {
  using Ir = std::vector<typename AttrType<T>::Ir>;
  static bool In(const std::vector<T>& from, Ir* to) {
    Ir list;
    list.reserve(from.size());
    for (const auto& each : from) {
      typename AttrType<T>::Ir one{};
      if (!AttrType<T>::In(each, &one)) return false;
      list.push_back(std::move(one));
    }
    *to = std::move(list);
    return true;
  }
  static bool Out(const Ir& from, std::vector<T>* to) {
    std::vector<T> list;
    list.reserve(from.size());
    for (const auto& each : from) {
      T one{};
      if (!AttrType<T>::Out(each, &one)) return false;
      list.push_back(std::move(one));
    }
    *to = std::move(list);
    return true;
  }
};

// False, and *out as it was, when the value cannot be one of a graph's (a device tensor that could not be read).
template <class T>
bool ToAttr(const T& from, ir::Attr* out) {
  typename AttrType<T>::Ir value{};
  if (!AttrType<T>::In(from, &value)) return false;
  out->value = std::move(value);
  return true;
}

// What files hold in either of two ways reads as both: a type is also its number, text is also bytes.
template <class Ir>
bool ReadAs(const ir::Attr& attr, Ir* out) {
  if (const auto* same = attr.As<Ir>()) {
    *out = *same;
    return true;
  }
  if constexpr (std::is_same_v<Ir, DType>) {
    const auto* number = attr.As<int64_t>();
    if (number == nullptr || *number < 0 || *number > INT8_MAX) return false;
    *out = DTypeOf(static_cast<ge::DataType>(*number));
    return true;
  } else if constexpr (std::is_same_v<Ir, int64_t>) {
    const auto* type = attr.As<DType>();
    if (type == nullptr) return false;
    *out = Wrap(*type);
    return true;
  } else if constexpr (std::is_same_v<Ir, std::string>) {
    const auto* bytes = attr.As<ir::ByteString>();
    if (bytes == nullptr) return false;
    *out = bytes->bytes;
    return true;
  }
  return false;
}

template <class T>
bool ReadAs(const ir::Attr& attr, std::vector<T>* out) {
  if (const auto* same = attr.As<std::vector<T>>()) {
    *out = *same;
    return true;
  }
  if (attr.As<std::monostate>() != nullptr) {  // an empty list of no type is one of every type
    out->clear();
    return true;
  }
  return false;
}

// False, and *out as it was, when the attribute is not a T.
template <class T>
bool FromAttr(const ir::Attr& attr, T* out) {
  typename AttrType<T>::Ir value{};
  return ReadAs(attr, &value) && AttrType<T>::Out(value, out);
}

// "a list of integers", for messages.
MP_GRAPH_API const char* KindOf(const ir::Attr& attr);

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_ATTR_CONVERT_H_
