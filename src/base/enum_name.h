// SPDX-License-Identifier: Apache-2.0
// Names of enumerators, as a table in the order of the enumeration.
#ifndef MILLPOND_SRC_BASE_ENUM_NAME_H_
#define MILLPOND_SRC_BASE_ENUM_NAME_H_

#include <cstddef>

namespace millpond {

// "unknown" for a number that is no enumerator.
template <class Enum, size_t kCount>
constexpr const char* EnumName(const char* const (&names)[kCount], Enum value) {
  const auto place = static_cast<size_t>(value);
  return place < kCount ? names[place] : "unknown";
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_ENUM_NAME_H_
