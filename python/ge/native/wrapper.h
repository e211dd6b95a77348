// SPDX-License-Identifier: Apache-2.0
//
// What the Python package `ge` calls: plain C functions over CANN's public C++ interface, because ctypes knows no C++.
//
// Rules of every function: handles are objects made with new, null is refused and never followed; no exception leaves
// (a status of kFailed or a null handle says that one was thrown); memory handed out is given back to gepy_free or to
// the destroy function of its kind.
#ifndef MILLPOND_PYTHON_GE_NATIVE_WRAPPER_H_
#define MILLPOND_PYTHON_GE_NATIVE_WRAPPER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "include/graph/ascend_string.h"
#include "include/graph/attr_value.h"
#include "include/graph/graph.h"
#include "include/graph/operator.h"
#include "include/graph/tensor.h"

#define GEPY_EXPORT extern "C" __attribute__((visibility("default")))

namespace ge {
class Session;
}

namespace gepy {

constexpr uint32_t kSuccess = 0;
constexpr uint32_t kFailed = 0xFFFFFFFF;

template <class Body>
uint32_t Call(Body&& body) noexcept {
  try {
    return static_cast<uint32_t>(body());
  } catch (...) {
    return kFailed;
  }
}

template <class T, class Body>
T Value(T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

inline char* NewText(const char* text) {
  const size_t size = std::strlen(text) + 1;
  auto* copy = static_cast<char*>(std::malloc(size));
  if (copy != nullptr) std::memcpy(copy, text, size);
  return copy;
}

// An array of handles, each a copy made with new. Sets *out to null for none.
template <class T, class Each>
uint32_t NewHandles(const std::vector<T>& values, Each&& each, void*** out, size_t* count) {
  *out = nullptr;
  *count = 0;
  if (values.empty()) return kSuccess;
  auto* handles = static_cast<void**>(std::calloc(values.size(), sizeof(void*)));
  if (handles == nullptr) return kFailed;
  for (size_t i = 0; i < values.size(); ++i) handles[i] = each(values[i]);
  *out = handles;
  *count = values.size();
  return kSuccess;
}

using Options = std::map<ge::AscendString, ge::AscendString>;
inline Options OptionsOf(const char* const* keys, const char* const* values, size_t count) {
  Options options;
  for (size_t i = 0; i < count; ++i) options[ge::AscendString(keys[i])] = ge::AscendString(values[i]);
  return options;
}

// The value of an attribute as Python reads and writes it; the field that is used follows from the type.
struct Attr {
  int32_t type;      // of ge.graph.types.AttrValueType
  int64_t count;     // of the list; 1 for a single value
  int64_t* ints;     // integers, truth values, types; the inner lists of a list of lists, one after the other
  float* floats;     //
  char** texts;      //
  void** tensors;    // handles
  int64_t* lengths;  // of each inner list
};

// The allocators that `session` lent to streams that had none are taken away again.
void DropDefaultAllocators(const ge::Session& session);

bool ToAttrValue(const Attr& attr, ge::AttrValue* out);
// Null when there is no memory. What has no counterpart in Python comes with its type and a count of 0.
Attr* NewAttr(const ge::AttrValue& value);

}  // namespace gepy

#endif  // MILLPOND_PYTHON_GE_NATIVE_WRAPPER_H_
