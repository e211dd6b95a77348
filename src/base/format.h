// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_BASE_FORMAT_H_
#define MILLPOND_SRC_BASE_FORMAT_H_

#include <cstdarg>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millpond {

// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);
[[gnu::format(printf, 1, 0)]] std::string FormatV(const char* format, va_list args);

// "1024 B", "64.0 MiB": for messages, never for parsing.
std::string FormatBytes(uint64_t bytes);

// "64", "64K", "512MiB", "1.5G" (binary units). Empty when the text is not a size or does not fit 64 bits.
std::optional<uint64_t> ParseBytes(std::string_view text);

// A whole decimal number with an optional sign and nothing after it.
std::optional<int64_t> ParseInt(std::string_view text);

std::string_view Trim(std::string_view text);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_FORMAT_H_
