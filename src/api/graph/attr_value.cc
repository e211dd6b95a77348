// SPDX-License-Identifier: Apache-2.0
#include "src/api/graph/access.h"
#include "src/api/graph/attr_convert.h"
#include "src/api/graph/impl.h"

namespace ge {

namespace {

template <class T>
graphStatus Set(const AttrValue& self, const T& value) {
  return Answer("ge::AttrValue::SetAttrValue", [&]() -> Status {
    MP_REQUIRE(self.impl != nullptr, "the value was moved away; make a new AttrValue");
    MP_REQUIRE(ToAttr(value, &self.impl->attr),
               "the tensor's device memory could not be read; pass a tensor on the host");
    self.impl->set = true;
    return Ok();
  });
}

template <class T>
graphStatus Get(const AttrValue& self, T* value) {
  return Answer("ge::AttrValue::GetAttrValue", [&]() -> Status {
    MP_REQUIRE(self.impl != nullptr && self.impl->set, "nobody has set the value yet; call SetAttrValue first");
    ir::Attr asked;
    asked.value = typename AttrType<T>::Ir{};
    MP_REQUIRE(FromAttr(AttrOf(self), value), "asked for %s, but the value is %s", KindOf(asked), KindOf(AttrOf(self)));
    return Ok();
  });
}

}  // namespace

AttrValue::AttrValue() : impl(std::make_shared<AttrValueImpl>()) {}

graphStatus AttrValue::GetValue(AscendString& val) { return Get(*this, &val); }
graphStatus AttrValue::GetValue(AttrValue::INT& val) const { return Get(*this, &val); }
graphStatus AttrValue::GetValue(AttrValue::FLOAT& val) const { return Get(*this, &val); }

// NOLINTBEGIN(bugprone-macro-parentheses): in parentheses a type is no type
#define MP_ATTR_VALUE(type)                                                                            \
  graphStatus AttrValue::SetAttrValue(const type& attr_value) const { return Set(*this, attr_value); } \
  graphStatus AttrValue::GetAttrValue(type& attr_value) const { return Get(*this, &attr_value); }
// NOLINTEND(bugprone-macro-parentheses)

MP_EACH_ATTR_VALUE(MP_ATTR_VALUE)
MP_EACH_ATTR_OBJECT(MP_ATTR_VALUE)
#undef MP_ATTR_VALUE

}  // namespace ge

namespace millpond::api {

const ir::Attr& AttrOf(const ge::AttrValue& value) {
  static const ir::Attr kNone;
  return value.impl == nullptr ? kNone : value.impl->attr;
}

ir::Attr& MutableAttrOf(ge::AttrValue& value) {
  if (value.impl == nullptr) value.impl = std::make_shared<ge::AttrValueImpl>();
  value.impl->set = true;
  return value.impl->attr;
}

ge::AttrValue Wrap(ir::Attr attr) {
  ge::AttrValue value;
  MutableAttrOf(value) = std::move(attr);
  return value;
}

const char* KindOf(const ir::Attr& attr) {
  // In the order of the variant.
  static const char* const kKinds[] = {"an empty list",
                                       "a truth value",
                                       "an integer",
                                       "a float",
                                       "text",
                                       "bytes",
                                       "a type",
                                       "a tensor",
                                       "a tensor's description",
                                       "a set of attributes",
                                       "a graph",
                                       "a list of truth values",
                                       "a list of integers",
                                       "a list of floats",
                                       "a list of texts",
                                       "a list of bytes",
                                       "a list of types",
                                       "a list of tensors",
                                       "a list of tensor descriptions",
                                       "a list of sets of attributes",
                                       "a list of graphs",
                                       "a list of lists of integers",
                                       "a list of lists of floats"};
  static_assert(std::variant_size_v<decltype(ir::Attr::value)> == sizeof(kKinds) / sizeof(kKinds[0]));
  return attr.value.valueless_by_exception() ? "nothing" : kKinds[attr.value.index()];
}

}  // namespace millpond::api
