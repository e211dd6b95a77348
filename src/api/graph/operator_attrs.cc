// SPDX-License-Identifier: Apache-2.0
// ge::Operator: its attributes.
#include "include/graph/attr_value.h"
#include "include/graph/operator.h"
#include "src/api/graph/operator_attr.h"

namespace ge {

namespace {

constexpr char kSetAttr[] = "ge::Operator::SetAttr";
constexpr char kAttrRegister[] = "ge::Operator::AttrRegister";

template <class T>
Status Set(const Operator& op, const char_t* name, const T& value) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const auto node = NodeOf(op);
  MP_REQUIRE(name != nullptr, "operator \"%s\" (%s): the attribute's name is null", node->name.c_str(),
             node->type.c_str());
  ir::Attr attr;
  if (Status made = MakeAttr(value, &attr); !made.ok()) {
    return std::move(made).Prefixed("attribute \"" + std::string(name) + "\" of \"" + node->name + "\"");
  }
  node->attributes[name] = std::move(attr);
  return Ok();
}

template <class T>
graphStatus Get(const Operator& op, const char_t* name, T* value) {
  const auto node = NodeOf(op);
  return GetFrom("ge::Operator::GetAttr", node == nullptr ? nullptr : &node->attributes, name, value);
}

template <class T>
void Register(const Operator& op, const char_t* name, const T& value) {
  static_cast<void>(Answer(kAttrRegister, [&]() -> Status {
    MP_RETURN_IF_ERROR(Set(op, name, value));
    DeclareAttr(*BuildAccess::Impl(op), name, {}, false);
    return Ok();
  }));
}

// Nothing public can make a NamedAttrs, so there is nothing to take in or to fill.
Status NoNamedAttributes() {
  return millpond::Unsupported(
      "attributes of type NamedAttrs cannot be built through the public API; set their members one by one");
}

const char* TypeName(const ir::Attr& attr) {
  static constexpr const char* kNames[] = {"VT_NONE",
                                           "VT_BOOL",
                                           "VT_INT",
                                           "VT_FLOAT",
                                           "VT_STRING",
                                           "VT_BYTES",
                                           "VT_DATA_TYPE",
                                           "VT_TENSOR",
                                           "VT_TENSOR_DESC",
                                           "VT_NAMED_ATTRS",
                                           "VT_GRAPH",
                                           "VT_LIST_BOOL",
                                           "VT_LIST_INT",
                                           "VT_LIST_FLOAT",
                                           "VT_LIST_STRING",
                                           "VT_LIST_BYTES",
                                           "VT_LIST_DATA_TYPE",
                                           "VT_LIST_TENSOR",
                                           "VT_LIST_TENSOR_DESC",
                                           "VT_LIST_NAMED_ATTRS",
                                           "VT_LIST_GRAPH",
                                           "VT_LIST_LIST_INT",
                                           "VT_LIST_LIST_FLOAT"};
  static_assert(std::size(kNames) == std::variant_size_v<decltype(ir::Attr::value)>,
                "one name for each kind, in order");
  return kNames[attr.value.index()];
}

// The same words for the types of definitions ("ListInt").
std::string TypeNameOf(const std::string& word) {
  if (word.starts_with("List")) return "VT_LIST_" + TypeNameOf(word.substr(4)).substr(3);
  if (word == "Int") return "VT_INT";
  if (word == "Float") return "VT_FLOAT";
  if (word == "Bool") return "VT_BOOL";
  if (word == "String" || word == "AscendString") return "VT_STRING";
  if (word == "Type") return "VT_DATA_TYPE";
  if (word == "Tensor") return "VT_TENSOR";
  if (word == "Bytes") return "VT_BYTES";
  if (word == "NamedAttrs") return "VT_NAMED_ATTRS";
  return "VT_" + word;
}

}  // namespace

#define MP_SET(type)                                                                   \
  Operator& Operator::SetAttr(const char_t* name, type attr_value) {                   \
    static_cast<void>(Answer(kSetAttr, [&] { return Set(*this, name, attr_value); })); \
    return *this;                                                                      \
  }
// NOLINTBEGIN(bugprone-macro-parentheses): in parentheses a type is no type
#define MP_GET(type) \
  graphStatus Operator::GetAttr(const char_t* name, type& attr_value) const { return Get(*this, name, &attr_value); }
// NOLINTEND(bugprone-macro-parentheses)
#define MP_REGISTER(type) \
  void Operator::AttrRegister(const char_t* name, type attr_value) { Register(*this, name, attr_value); }
#define MP_VALUE(type) MP_SET(type) MP_GET(type)
#define MP_OBJECT(type) MP_SET(const type&) MP_GET(type)

MP_EACH_ATTR_VALUE(MP_VALUE)
MP_EACH_ATTR_OBJECT(MP_OBJECT)
MP_EACH_NARROW_ATTR_VALUE(MP_VALUE)
MP_EACH_NARROW_ATTR_OBJECT(MP_OBJECT)
MP_OBJECT(Operator::OpBytes)
MP_OBJECT(AttrValue)
MP_SET(const char_t*)
MP_SET(std::initializer_list<int64_t>&&)
MP_SET(AttrValue&&)

#define MP_REGISTER_OBJECT(type) MP_REGISTER(const type&)
MP_EACH_ATTR_VALUE(MP_REGISTER)
MP_EACH_ATTR_OBJECT(MP_REGISTER_OBJECT)
MP_REGISTER(const char_t*)
MP_REGISTER(const OpBytes&)
MP_REGISTER(const AttrValue&)

Operator& Operator::SetAttr(const char_t*, const ge::NamedAttrs&) {
  static_cast<void>(Answer(kSetAttr, NoNamedAttributes));
  return *this;
}
Operator& Operator::SetAttr(const char_t*, const std::vector<ge::NamedAttrs>&) {
  static_cast<void>(Answer(kSetAttr, NoNamedAttributes));
  return *this;
}
graphStatus Operator::GetAttr(const char_t*, ge::NamedAttrs&) const {
  return Answer("ge::Operator::GetAttr", NoNamedAttributes);
}
graphStatus Operator::GetAttr(const char_t*, std::vector<ge::NamedAttrs>&) const {
  return Answer("ge::Operator::GetAttr", NoNamedAttributes);
}
void Operator::AttrRegister(const char_t*, const ge::NamedAttrs&) {
  static_cast<void>(Answer(kAttrRegister, NoNamedAttributes));
}
void Operator::AttrRegister(const char_t*, const std::vector<ge::NamedAttrs>&) {
  static_cast<void>(Answer(kAttrRegister, NoNamedAttributes));
}

graphStatus Operator::GetAllAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const {
  return Answer("ge::Operator::GetAllAttrNamesAndTypes", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    for (const auto& [name, attr] : operator_impl_->node->attributes) {
      attr_name_types[Wrap(std::string_view(name))] = TypeName(attr);
    }
    return Ok();
  });
}

graphStatus Operator::GetAllIrAttrNamesAndTypes(std::map<AscendString, AscendString>& attr_name_types) const {
  return Answer("ge::Operator::GetAllIrAttrNamesAndTypes", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    for (const auto& declared : operator_impl_->extra->attributes) {
      const ir::Attr* attr = operator_impl_->node->FindAttr(declared.name);
      if (attr == nullptr && declared.type.empty()) continue;  // nothing says what it is
      const std::string type = declared.type.empty() ? TypeName(*attr) : TypeNameOf(declared.type);
      attr_name_types[Wrap(std::string_view(declared.name))] = AscendString(type.c_str());
    }
    return Ok();
  });
}

}  // namespace ge
