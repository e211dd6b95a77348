// SPDX-License-Identifier: Apache-2.0
// Tags are the client's bytes. One bad byte must not make a whole snapshot unreadable.
#ifndef MILLPOND_SRC_POOL_UTF8_H_
#define MILLPOND_SRC_POOL_UTF8_H_

#include <string>
#include <string_view>

namespace millpond::pool {

// The text with every byte that is not part of well-formed UTF-8 replaced by '?'.
std::string CleanUtf8(std::string_view text);

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_UTF8_H_
