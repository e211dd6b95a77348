// SPDX-License-Identifier: Apache-2.0
#include "src/pool/settings.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include "src/base/format.h"

namespace millpond::pool {
namespace {

struct Row {
  const char* field;
  const char* variable;
  size_t smallest;
  size_t largest;
  const char* sentence;
  size_t Settings::*member;
};

constexpr Row kRows[] = {
#define MP_POOL_SETTING(field, variable, standard, smallest, largest, sentence) \
  {#field, variable, smallest, largest, sentence, &Settings::field},
#include "src/pool/settings.def"
#undef MP_POOL_SETTING
};

constexpr std::string_view kUnlimited = "unlimited";

std::string Written(size_t value) {
  if (value == SIZE_MAX) return std::string(kUnlimited);
  const std::string digits = std::to_string(value);
  return value < 10 * 1024 ? digits : digits + " (" + FormatBytes(value) + ")";
}

// Whole numbers are read exactly; ParseBytes goes through a double, which is enough for a number with a unit. A
// fraction needs a unit: half a byte is a typo, not 0.
std::optional<size_t> ParseValue(std::string_view text) {
  text = Trim(text);
  if (text == kUnlimited) return SIZE_MAX;
  size_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, whole);
  if (stop == end && error == std::errc()) return whole;
  if (stop == end || text.find_first_of("kKmMgGtT") == std::string_view::npos) return std::nullopt;
  return ParseBytes(text);
}

Status CheckRange(const Row& row, size_t value, std::string_view as_written) {
  MP_REQUIRE(value >= row.smallest && value <= row.largest,
             "%s (%s): '%.*s' is outside the allowed range, %s to %s; its meaning: %s", row.variable, row.field,
             static_cast<int>(as_written.size()), as_written.data(), Written(row.smallest).c_str(),
             Written(row.largest).c_str(), row.sentence);
  return Ok();
}

Status SetRow(const Row& row, std::string_view text, Settings* settings) {
  const std::optional<size_t> value = ParseValue(text);
  MP_REQUIRE(value.has_value(),
             "%s (%s): '%.*s' is not a number; write a whole number or one with a unit, such as 64KiB or 1.5GiB%s, "
             "from %s to %s; its meaning: %s",
             row.variable, row.field, static_cast<int>(text.size()), text.data(),
             row.largest == SIZE_MAX ? ", or 'unlimited'" : "", Written(row.smallest).c_str(),
             Written(row.largest).c_str(), row.sentence);
  MP_RETURN_IF_ERROR(CheckRange(row, *value, text));
  settings->*row.member = *value;
  return Ok();
}

}  // namespace

Status Settings::FromEnvironment(Settings* out_settings) {
  Settings settings;
  for (const Row& row : kRows) {
    const char* text = std::getenv(row.variable);
    if (text == nullptr || *text == 0) continue;  // set to nothing is not set, as for every other option
    MP_RETURN_IF_ERROR(SetRow(row, text, &settings));
  }
  *out_settings = settings;
  return Ok();
}

Status Settings::Set(std::string_view name, std::string_view value) {
  std::string known;
  for (const Row& row : kRows) {
    if (name == row.field || name == row.variable) return SetRow(row, value, this);
    known += (known.empty() ? "" : ", ") + std::string(row.field);
  }
  return InvalidArgument(Format("the pool has no setting '%.*s'; it has %s (or the same as MILLPOND_POOL_...)",
                                static_cast<int>(name.size()), name.data(), known.c_str()));
}

Status Settings::Validate() const {
  for (const Row& row : kRows) {
    const size_t value = this->*row.member;
    MP_RETURN_IF_ERROR(CheckRange(row, value, std::to_string(value)));
  }
  return Ok();
}

}  // namespace millpond::pool
