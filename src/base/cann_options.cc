// SPDX-License-Identifier: Apache-2.0
#include "src/base/cann_options.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>
#include <set>
#include <vector>

#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/base/parts.h"

namespace millpond::cann {

namespace {

#define MP_CANN_REASON(name, text) constexpr char name[] = text;  // NOLINT: a name cannot be in parentheses
#define MP_CANN_OPTION(door, key, values, treatment, quiet, reason)
#include "src/base/cann_options.def"
#undef MP_CANN_REASON
#undef MP_CANN_OPTION

#define MP_CANN_REASON(name, text)
#define MP_CANN_OPTION(door, key, values, treatment, quiet, reason) \
  {Door::k##door, key, values, Treatment::k##treatment, quiet, reason},
constexpr Option kTable[] = {
#include "src/base/cann_options.def"
};
#undef MP_CANN_REASON
#undef MP_CANN_OPTION

constexpr const char* kDoorNames[] = {"graph option",        "atc option",       "configuration key of aclInit",
                                      "model setting",       "setting of a run", "compile option",
                                      "parameter",           "device limit",     "stream attribute",
                                      "HcclCommConfig field"};

std::string Listed(std::string_view values) {
  std::string text;
  ForEachPart(values, "|", [&](std::string_view one) {
    if (!text.empty()) text += ", ";
    text += one.empty() ? "nothing" : std::string(one);
    return true;
  });
  return text;
}

// "0..4": false when `values` is no range.
bool ParseRange(std::string_view values, int64_t* out_min, int64_t* out_max) {
  const size_t dots = values.find("..");
  if (dots == std::string_view::npos) return false;
  const std::optional<int64_t> min = ParseInt(values.substr(0, dots)), max = ParseInt(values.substr(dots + 2));
  *out_min = min.value_or(0);
  *out_max = max.value_or(0);
  return min && max;
}

bool AreIndexes(std::string_view value) {
  return value.empty() ||
         ForEachPart(value, ",;", [](std::string_view part) { return ParseInt(part).value_or(-1) >= 0; });
}

// "#length 128" and its like.
std::string WrongForm(std::string_view form, std::string_view value) {
  const size_t space = std::min(form.find(' '), form.size());
  const int64_t max = ParseInt(form.substr(std::min(space + 1, form.size()))).value_or(0);
  const std::string_view name = form.substr(0, space);
  if (name == "#indexes") return AreIndexes(value) ? "" : "it must be numbers from 0, separated by ';' or ','";
  const bool fits = static_cast<int64_t>(value.size()) <= max;
  if (name == "#length") {
    return fits ? ""
                : Format("it has %zu characters, and at most %lld are allowed", value.size(),
                         static_cast<long long>(max));
  }
  const bool plain = std::all_of(value.begin(), value.end(),
                                 [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  return fits && plain
             ? ""
             : Format("it may have letters, digits, '_' and '-', at most %lld of them", static_cast<long long>(max));
}

// True the first time in the process.
bool FirstTime(Door door, std::string_view key) {
  static auto& mutex = *new Mutex;  // both leaked: options may come from static destructors
  static auto& said = *new std::set<std::pair<Door, std::string>>;
  MutexLock lock(mutex);
  return said.emplace(door, key).second;
}

void Tell(const Option& option, std::string_view value) {
  if (!FirstTime(option.door, option.key)) return;
  const bool told = option.treatment == Treatment::kTold;
  const std::string line = Format("%s %.*s=%.*s %s: %.*s (said once)", kDoorNames[static_cast<size_t>(option.door)],
                                  static_cast<int>(option.key.size()), option.key.data(),
                                  static_cast<int>(std::min<size_t>(value.size(), 200)), value.data(),
                                  told ? "is not carried out" : "has no effect here",
                                  static_cast<int>(option.reason.size()), option.reason.data());
  log::Write(log::Level::kWarning, log::kAscendCl, line);
  if (told) fprintf(stderr, "millpond: %s\n", line.c_str());
}

// How many letters two names differ by.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

bool IsOneOf(std::string_view value, std::string_view values) {
  return !ForEachPart(values, "|", [&](std::string_view one) { return one != value; });
}

std::span<const Option> Options(Door door) {
  const auto* const first =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Option& option) { return option.door == door; });
  const auto* const last =
      std::find_if(first, std::end(kTable), [&](const Option& option) { return option.door != door; });
  return {first, last};
}

const Option* Find(Door door, std::string_view key) {
  for (const Option& option : Options(door)) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

std::string_view Nearest(Door door, std::string_view key) {
  constexpr size_t kLongest = 100;  // whoever sends more did not mistype
  if (key.size() > kLongest) return {};
  std::string_view nearest;
  size_t min = 3;
  for (const Option& option : Options(door)) {
    const size_t distance = Distance(key, option.key);
    if (distance >= min) continue;
    min = distance;
    nearest = option.key;
  }
  return nearest;
}

std::string WrongValue(const Option& option, std::string_view value) {
  if (option.values.empty()) return {};
  if (option.values[0] == '#') return WrongForm(option.values, value);
  int64_t min = 0, max = 0;
  if (ParseRange(option.values, &min, &max)) {
    if (const auto number = ParseInt(value); number && *number >= min && *number <= max) return {};
    return Format("it must be a whole number from %lld to %lld", static_cast<long long>(min),
                  static_cast<long long>(max));
  }
  return IsOneOf(value, option.values) ? "" : "it must be one of: " + Listed(option.values);
}

const char* Refusal(const Option& option, std::string_view value) {
  if (value.empty() || option.treatment == Treatment::kHonoured || IsOneOf(value, option.quiet)) return nullptr;
  if (option.treatment == Treatment::kRefused) return option.reason.data();
  Tell(option, value);
  return nullptr;
}

Status Accept(const Option& option, std::string_view value) {
  const std::string given =
      Format("%s %.*s is \"%.*s\"", kDoorNames[static_cast<size_t>(option.door)], static_cast<int>(option.key.size()),
             option.key.data(), static_cast<int>(std::min<size_t>(value.size(), 200)), value.data());
  if (const std::string wrong = WrongValue(option, value); !wrong.empty()) return InvalidArgument(given + "; " + wrong);
  if (const char* const reason = Refusal(option, value); reason != nullptr) return Unsupported(given + ": " + reason);
  return Ok();
}

bool FirstTimeUnknown(Door door, std::string_view key, std::string* out_line) {
  if (!FirstTime(door, key)) return false;
  const std::string_view nearest = Nearest(door, key);
  *out_line = Format("%s %.*s is not known and has no effect; ", kDoorNames[static_cast<size_t>(door)],
                     static_cast<int>(std::min<size_t>(key.size(), 200)), key.data());
  *out_line += nearest.empty() ? "check its spelling" : "did you mean " + std::string(nearest) + "?";
  return true;
}

}  // namespace millpond::cann
