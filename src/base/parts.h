// SPDX-License-Identifier: Apache-2.0
// Text in parts: "a|b|c", "0;1;2".
#ifndef MILLPOND_SRC_BASE_PARTS_H_
#define MILLPOND_SRC_BASE_PARTS_H_

#include <string_view>

namespace millpond {

// Calls `take` with each part of `text` between separators; stops at the first that it refuses, and returns false then.
template <class Take>
bool ForEachPart(std::string_view text, std::string_view separators, Take take) {
  while (true) {
    const size_t end = text.find_first_of(separators);
    if (!take(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_PARTS_H_
