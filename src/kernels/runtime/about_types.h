// SPDX-License-Identifier: Apache-2.0
// What a kernel's refusal is about, by its words: ATen tells it in no other way.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_ABOUT_TYPES_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_ABOUT_TYPES_H_

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace millpond::kernels {

inline bool HasOneOf(std::string_view message, std::initializer_list<std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view sign) { return message.find(sign) != std::string_view::npos; });
}

// A result that the output cannot hold: in a wider type it would be cut silently.
inline bool IsAboutTheOutput(std::string_view message) {
  return HasOneOf(message, {"can't be cast to the desired output type"});
}

// ATen refuses types before it writes anything.
inline bool IsAboutTypes(std::string_view message) {
  return HasOneOf(message, {"type", "Types", "not implemented for '", "did not match", "bool tensor", "float tensor",
                            "unsigned", "MKLDNN tensor", "out of bounds for bool", "Half, Float or Double tensors"});
}

// Of types or of what the tensors hold: results whose size their values decide have another one on zeros.
inline bool MayBeAboutTypes(std::string_view message) {
  return HasOneOf(message, {"result has shape", "exceeds dimension size", "INTERNAL ASSERT", "of the mask at index"});
}

// The call itself and not what its tensors hold: a kernel that says one of these of zeros says it of anything.
inline bool IsAboutTheCall(std::string_view message) {
  return IsAboutTypes(message) || IsAboutTheOutput(message) ||
         HasOneOf(message, {"complex", "not supported", "Bool inputs", "floating point", "int tensor",
                            "packed by eight", "go with an int", "an int8 x needs", "expects float", "Boolean alpha"});
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_ABOUT_TYPES_H_
