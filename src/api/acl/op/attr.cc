// SPDX-License-Identifier: Apache-2.0
// Attributes of single operators.
#include "src/api/acl/op/attr.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "include/acl/acl_op.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

template <class Make>
aclError Set(const char* api, aclopAttr* attr, const char* name, Make make) {
  return Guard(api, [&]() -> Status {
    MP_NOT_NULL(attr);
    MP_REQUIRE(IsAlive(attr), "attr %p is not a live aclopAttr", static_cast<const void*>(attr));
    if (name == nullptr) return NullPointer("attrName");
    AttrValue value;
    MP_RETURN_IF_ERROR(make(&value));
    attr->values.insert_or_assign(name, std::move(value));
    return Ok();
  });
}

template <class T>
aclError SetOne(const char* api, aclopAttr* attr, const char* name, T value) {
  return Set(api, attr, name, [&](AttrValue* out) {
    *out = std::move(value);
    return Ok();
  });
}

template <class T, class From, class Convert>
aclError SetList(const char* api, aclopAttr* attr, const char* name, int count, From values, Convert convert) {
  return Set(api, attr, name, [&](AttrValue* out) -> Status {
    MP_REQUIRE(count >= 0, "numValues is %d; it cannot be negative", count);
    MP_REQUIRE(values != nullptr || count == 0, "values is NULL though numValues is %d", count);
    std::vector<T> list;
    std::transform(values, values + count, std::back_inserter(list), convert);
    *out = std::move(list);
    return Ok();
  });
}

}  // namespace

aclopAttr* aclopCreateAttr() {
  aclopAttr* made = nullptr;
  static_cast<void>(Guard("aclopCreateAttr", [&] {
    made = new aclopAttr;
    return Ok();
  }));
  return made;
}

void aclopDestroyAttr(const aclopAttr* attr) {
  if (attr == nullptr) return;
  static_cast<void>(Guard("aclopDestroyAttr", [&]() -> Status {
    MP_REQUIRE(IsAlive(attr), "attr %p is not a live aclopAttr", static_cast<const void*>(attr));
    return Destroy("attr", attr);
  }));
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return SetOne("aclopSetAttrBool", attr, attrName, attrValue != 0);
}
aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return SetOne("aclopSetAttrDataType", attr, attrName, static_cast<DType>(attrValue));
}
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return SetOne("aclopSetAttrFloat", attr, attrName, static_cast<double>(attrValue));
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return SetOne("aclopSetAttrInt", attr, attrName, attrValue);
}
aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return Set("aclopSetAttrString", attr, attrName, [&](AttrValue* out) -> Status {
    MP_NOT_NULL(attrValue);
    *out = std::string(attrValue);
    return Ok();
  });
}
aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues, const uint8_t* values) {
  return SetList<bool>("aclopSetAttrListBool", attr, attrName, numValues, values, [](uint8_t v) { return v != 0; });
}
aclError aclopSetAttrListDataType(aclopAttr* attr, const char* attrName, int numValues, const aclDataType values[]) {
  return SetList<DType>("aclopSetAttrListDataType", attr, attrName, numValues, values,
                        [](aclDataType v) { return static_cast<DType>(v); });
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues, const float* values) {
  return SetList<double>("aclopSetAttrListFloat", attr, attrName, numValues, values,
                         [](float v) { return static_cast<double>(v); });
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues, const int64_t* values) {
  return SetList<int64_t>("aclopSetAttrListInt", attr, attrName, numValues, values, [](int64_t v) { return v; });
}
aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues, const char** values) {
  return Set("aclopSetAttrListString", attr, attrName, [&](AttrValue* out) -> Status {
    MP_REQUIRE(numValues >= 0 && (values != nullptr || numValues == 0), "values is NULL or numValues %d is negative",
               numValues);
    std::vector<std::string> texts;
    for (int i = 0; i < numValues; ++i) {
      MP_REQUIRE(values[i] != nullptr, "values[%d] is NULL", i);
      texts.emplace_back(values[i]);
    }
    *out = std::move(texts);
    return Ok();
  });
}
aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists, const int* numValues,
                                 const int64_t* const values[]) {
  return Set("aclopSetAttrListListInt", attr, attrName, [&](AttrValue* out) -> Status {
    MP_REQUIRE(numLists >= 0, "numLists is %d; it cannot be negative", numLists);
    MP_REQUIRE((numValues != nullptr && values != nullptr) || numLists == 0, "numValues or values is NULL");
    std::vector<std::vector<int64_t>> lists;
    for (int i = 0; i < numLists; ++i) {
      MP_REQUIRE(numValues[i] >= 0 && (values[i] != nullptr || numValues[i] == 0),
                 "list %d is NULL or of negative size", i);
      lists.emplace_back(values[i], values[i] + numValues[i]);
    }
    *out = std::move(lists);
    return Ok();
  });
}
