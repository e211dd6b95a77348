// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session_options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <mutex>
#include <set>

#include "src/base/log.h"
#include "src/exec/session_error.h"

namespace millpond {

namespace {

// A client that never reads its warnings must not grow.
constexpr size_t kMostWarningBytes = 16384;

std::string& ThreadWarnings() {
  thread_local std::string warnings;
  return warnings;
}

bool ParseInteger(std::string_view text, int64_t* out_value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out_value);
  return error == std::errc() && stop == end && !text.empty();
}

// Calls `take` with each part of `text` between separators; stops at the first that it refuses.
template <class Take>
bool ForEachPart(std::string_view text, std::string_view separators, Take take) {
  while (true) {
    const size_t end = text.find_first_of(separators);
    if (!take(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

bool IsOneOf(std::string_view value, std::string_view values) {
  return !ForEachPart(values, "|", [&](std::string_view one) { return one != value; });
}

std::string Listed(std::string_view values) {
  std::string text;
  ForEachPart(values, "|", [&](std::string_view one) {
    if (!text.empty()) text += ", ";
    text += one.empty() ? "nothing" : std::string(one);
    return true;
  });
  return text;
}

Status CheckValue(const OptionRule& rule, const std::string& key, const std::string& value) {
  switch (rule.kind) {
    case OptionRule::kAny:
      return Ok();
    case OptionRule::kOneOf:
      if (IsOneOf(value, rule.values)) return Ok();
      return OptionError(key, value, "it must be one of: " + Listed(rule.values));
    case OptionRule::kInteger: {
      int64_t number = 0;
      if (ParseInteger(value, &number) && number >= rule.least && number <= rule.most) return Ok();
      return OptionError(key, value,
                         Format("it must be a whole number from %lld to %lld", static_cast<long long>(rule.least),
                                static_cast<long long>(rule.most)));
    }
    case OptionRule::kIndexes: {
      std::vector<int64_t> indexes;
      return ParseIndexes(key, value, &indexes);
    }
    case OptionRule::kLength:
      if (static_cast<int64_t>(value.size()) <= rule.most) return Ok();
      return OptionError(key, value,
                         Format("it has %zu characters, and at most %lld are allowed", value.size(),
                                static_cast<long long>(rule.most)));
    case OptionRule::kWord: {
      const bool fits = static_cast<int64_t>(value.size()) <= rule.most;
      const bool plain = std::all_of(value.begin(), value.end(),
                                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
      if (fits && plain) return Ok();
      return OptionError(
          key, value,
          Format("it may have letters, digits, '_' and '-', at most %lld of them", static_cast<long long>(rule.most)));
    }
  }
  return Ok();
}

void WarnOnce(const std::string& key) {
  static auto& mutex = *new std::mutex;  // both leaked: options may come from static destructors
  static auto& warned = *new std::set<std::string>;
  {
    std::lock_guard lock(mutex);
    if (!warned.insert(key).second) return;
  }
  Warn(Format("option %s is not known and has no effect; check its spelling", key.c_str()));
}

}  // namespace

Status CheckOptions(const GraphOptions& options) {
  for (const auto& [key, value] : options) {
    if (key.empty()) {
      return InvalidArgument(Format(
          "[E10059] Check of options failed. Reason: an option has no name (its value is \"%s\").", value.c_str()));
    }
    const OptionRule* rule = FindOptionRule(key);
    if (rule == nullptr) {
      WarnOnce(key);
      continue;
    }
    MP_RETURN_IF_ERROR(CheckValue(*rule, key, value));
  }
  return Ok();
}

void Warn(const std::string& text) {
  log::Write(log::Level::kWarning, log::kGe, text);
  std::string& warnings = ThreadWarnings();
  if (warnings.size() + text.size() > kMostWarningBytes) return;
  warnings += text + ".\n";
}

std::string TakeWarnings() {
  std::string taken;
  taken.swap(ThreadWarnings());
  return taken;
}

std::string_view OptionOr(const GraphOptions& options, std::string_view key, std::string_view otherwise) {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : std::string_view(found->second);
}

GraphOptions MergeOptions(const GraphOptions& base, const GraphOptions& options) {
  GraphOptions merged = options;
  merged.insert(base.begin(), base.end());  // keeps what is there
  return merged;
}

Status ParseIndexes(const std::string& key, std::string_view text, std::vector<int64_t>* out_indexes) {
  out_indexes->clear();
  if (text.empty()) return Ok();
  const bool good = ForEachPart(text, ",;", [&](std::string_view part) {
    int64_t index = 0;
    if (!ParseInteger(part, &index) || index < 0) return false;
    out_indexes->push_back(index);
    return true;
  });
  if (good) return Ok();
  return OptionError(key, std::string(text), "it must be numbers from 0, separated by ';' or ','");
}

Status ParseFrozenInputs(std::string_view text, std::vector<int64_t>* out_indexes) {
  out_indexes->clear();
  if (text.empty()) return Ok();
  const bool good = ForEachPart(text, ";", [&](std::string_view item) {
    int64_t fields[3];
    int count = 0;
    const bool numbers = ForEachPart(item, ",", [&](std::string_view part) {
      return count < 3 && ParseInteger(part, &fields[count]) && fields[count++] >= 0;
    });
    if (!numbers || (count != 1 && count != 3)) return false;
    out_indexes->push_back(fields[0]);
    return true;
  });
  if (good) return Ok();
  return OptionError("ge.exec.frozenInputIndexes", std::string(text),
                     "its items, separated by ';', must be an index or index,address,length");
}

}  // namespace millpond
