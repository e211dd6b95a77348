// SPDX-License-Identifier: Apache-2.0
// Attributes of operators, nodes and their operands: one way in and one way out for all types.
#ifndef MILLPOND_SRC_API_GRAPH_OPERATOR_ATTR_H_
#define MILLPOND_SRC_API_GRAPH_OPERATOR_ATTR_H_

#include <initializer_list>

#include "src/api/graph/attr_convert.h"
#include "src/api/graph/operator_impl.h"

namespace millpond::api {

template <>
struct AttrType<std::vector<uint8_t>> {
  using Ir = ir::ByteString;
  static bool In(const std::vector<uint8_t>& from, Ir* to) {
    to->bytes.assign(from.begin(), from.end());
    return true;
  }
  static bool Out(const Ir& from, std::vector<uint8_t>* to) {
    to->assign(from.bytes.begin(), from.bytes.end());
    return true;
  }
};

template <class T>
Status MakeAttr(const T& value, ir::Attr* out) {
  MP_REQUIRE(ToAttr(value, out), "the tensor's device memory could not be read; pass a tensor on the host");
  return Ok();
}
inline Status MakeAttr(const char* value, ir::Attr* out) {
  MP_REQUIRE(value != nullptr, "the value is null; text is needed");
  out->value = std::string(value);
  return Ok();
}
inline Status MakeAttr(std::initializer_list<int64_t> value, ir::Attr* out) {
  out->value = std::vector<int64_t>(value);
  return Ok();
}
inline Status MakeAttr(const ge::AttrValue& value, ir::Attr* out) {
  MP_REQUIRE(value.impl != nullptr && value.impl->set, "the AttrValue holds nothing; call SetAttrValue first");
  *out = AttrOf(value);
  return Ok();
}

// *out as it was when the attribute is of another kind.
template <class T>
Status ReadAttr(const ir::Attr& attr, const std::string& name, T* out) {
  ir::Attr asked;
  asked.value = typename AttrType<T>::Ir{};
  MP_REQUIRE(FromAttr(attr, out), "attribute \"%s\" was asked for as %s, but it is %s", name.c_str(), KindOf(asked),
             KindOf(attr));
  return Ok();
}
inline Status ReadAttr(const ir::Attr& attr, const std::string&, ge::AttrValue* out) {
  *out = Wrap(attr);
  return Ok();
}

// The reader keeps what it has when there is no such attribute: a question, not a mistake, so it leaves no message.
template <class T>
ge::graphStatus GetFrom(const char* api, const ir::Attributes* attributes, const char* name, T* out) {
  if (attributes == nullptr || name == nullptr) return ge::GRAPH_FAILED;
  const auto found = attributes->find(std::string_view(name));
  if (found == attributes->end()) return ge::GRAPH_FAILED;
  return Answer(api, [&] { return ReadAttr(found->second, found->first, out); });
}

// Descriptions share their attributes until one of them is changed.
inline void SetOperandAttr(ir::TensorDesc* desc, const char* name, ir::Attr attr) {
  auto changed =
      desc->attributes ? std::make_shared<ir::Attributes>(*desc->attributes) : std::make_shared<ir::Attributes>();
  (*changed)[name] = std::move(attr);
  desc->attributes = std::move(changed);
}

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_OPERATOR_ATTR_H_
