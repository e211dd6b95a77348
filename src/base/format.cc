// SPDX-License-Identifier: Apache-2.0
#include "src/base/format.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "src/base/assert.h"

namespace millpond {

void AssertFailed(const char* file, int line, const char* expression) {
  std::fprintf(stderr,
               "millpond: %s:%d: internal invariant broken: %s\nPlease report this with the program that shows it.\n",
               file, line, expression);
  std::abort();
}

std::string FormatV(const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  char small[256];
  const int needed = std::vsnprintf(small, sizeof(small), format, args);
  std::string out;
  if (needed >= 0 && static_cast<size_t>(needed) < sizeof(small)) {
    out.assign(small, static_cast<size_t>(needed));
  } else if (needed >= 0) {
    out.resize(static_cast<size_t>(needed));
    std::vsnprintf(out.data(), out.size() + 1, format, again);
  }
  va_end(again);
  return out;
}

std::string Format(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string out = FormatV(format, args);
  va_end(args);
  return out;
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 10 * 1024) return Format("%llu B", static_cast<unsigned long long>(bytes));
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return Format("%.1f %s", value, kUnits[unit]);
}

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<int64_t> ParseInt(std::string_view text) {
  text = Trim(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> ParseBytes(std::string_view text) {
  text = Trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (text.empty() || error != std::errc() || number < 0) return std::nullopt;
  std::string_view unit = Trim(text.substr(static_cast<size_t>(end - text.data())));
  double scale = 1;
  if (!unit.empty()) {
    static constexpr std::string_view kPrefixes = "KMGT";
    const char upper = static_cast<char>(std::toupper(unit.front()));
    if (const auto power = kPrefixes.find(upper); power != std::string_view::npos) {
      scale = std::ldexp(1.0, 10 * static_cast<int>(power + 1));
      unit.remove_prefix(1);
      if (!unit.empty() && unit.front() == 'i') unit.remove_prefix(1);
    }
    if (!unit.empty() && std::toupper(unit.front()) == 'B') unit.remove_prefix(1);
    if (!unit.empty()) return std::nullopt;
  }
  const double bytes = number * scale;
  if (!(bytes < 0x1p63)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

}  // namespace millpond
