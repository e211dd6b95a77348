// SPDX-License-Identifier: Apache-2.0
// What every JSON writer needs.
#ifndef MILLPOND_SRC_BASE_JSON_H_
#define MILLPOND_SRC_BASE_JSON_H_

#include <string>
#include <string_view>

#include "src/base/format.h"

namespace millpond {

// `text` as a JSON string, with quotes. The bytes are assumed to be UTF-8.
inline std::string JsonQuoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += Format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_JSON_H_
