// SPDX-License-Identifier: Apache-2.0
#include "src/check/rules.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "src/base/parts.h"

namespace millpond::check {

namespace {

using enum Severity;
using enum When;

constexpr RuleInfo kRules[] = {
#define MP_RULE(id, name, severity, rule, page, advice, on) {#id, name, severity, rule, page, advice, on},
#include "check_rules.inc"
#undef MP_RULE
};

// As the command takes them: MP304 in any case, free-in-flight, MP3*.
bool Matches(std::string_view pattern, const RuleInfo& info) {
  const std::string_view id = info.id;
  const bool open = pattern.ends_with('*');
  const std::string_view wanted = open ? pattern.substr(0, pattern.size() - 1) : pattern;
  const bool begins = wanted.size() <= id.size() &&
                      std::equal(wanted.begin(), wanted.end(), id.begin(),
                                 [](unsigned char given, unsigned char known) { return std::toupper(given) == known; });
  return (begins && (open || wanted.size() == id.size())) || pattern == info.name;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Calls `take` with the index of each rule that the list names.
template <class Take>
void ForEachNamed(std::string_view list, std::string* out_unknown, Take take) {
  ForEachPart(list, ",", [&](std::string_view part) {
    part = Trimmed(part);
    if (part.empty()) return true;
    bool found = false;
    for (size_t i = 0; i < std::size(kRules); ++i) {
      if (!Matches(part, kRules[i])) continue;
      found = true;
      take(i);
    }
    if (!found && out_unknown->empty()) *out_unknown = part;
    return true;
  });
}

}  // namespace

const RuleInfo& InfoOf(Rule rule) { return kRules[static_cast<size_t>(rule)]; }

std::optional<Rule> FindRule(std::string_view id) {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (id == kRules[i].id) return static_cast<Rule>(i);
  }
  return std::nullopt;
}

std::string KnownRules() {
  std::string list;
  for (const RuleInfo& info : kRules) {
    list += (list.empty() ? "" : ", ") + std::string(info.id) + " " + info.name;
  }
  return list;
}

const char* SeverityName(Severity severity) {
  switch (severity) {
    case kError:
      return "error";
    case kWarning:
      return "warning";
    case kAdvice:
      return "advice";
  }
  return "error";
}

RuleSet RuleSet::From(std::string_view only, std::string_view except, std::string_view also, std::string* out_unknown) {
  RuleSet set;
  for (const RuleInfo& info : kRules) set.on_.push_back(Trimmed(only).empty() && info.on == kAlways);
  ForEachNamed(only, out_unknown, [&](size_t rule) { set.on_[rule] = kRules[rule].on != kLater; });
  ForEachNamed(also, out_unknown, [&](size_t rule) { set.on_[rule] = kRules[rule].on != kLater; });
  ForEachNamed(except, out_unknown, [&](size_t rule) { set.on_[rule] = false; });
  return set;
}

}  // namespace millpond::check
