// SPDX-License-Identifier: Apache-2.0
// The rules as C++ sees them: made of rules.yaml by tools/gen_rules.py.
#ifndef MILLPOND_SRC_CHECK_RULES_H_
#define MILLPOND_SRC_CHECK_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millpond::check {

enum class Severity : uint8_t { kError, kWarning, kAdvice };
enum class When : uint8_t { kAlways, kAsked, kLater };

enum class Rule : uint16_t {
#define MP_RULE(id, name, severity, rule, page, advice, on) id,
#include "check_rules.inc"
#undef MP_RULE
};

struct RuleInfo {
  const char* id;
  const char* name;
  Severity severity;
  const char* rule;
  const char* page;  // empty: derived
  const char* advice;
  When on;
};

const RuleInfo& InfoOf(Rule rule);
std::optional<Rule> FindRule(std::string_view id);
// Every rule by id and name, for whoever asked for one that is not there.
std::string KnownRules();
const char* SeverityName(Severity severity);

// Which rules are checked.
class RuleSet {
 public:
  // Lists of ids, names or beginnings ("MP3*") with commas between; `only` empty: all that are on by default.
  // `*out_unknown` gets the first part that names no rule, or stays empty.
  static RuleSet From(std::string_view only, std::string_view except, std::string_view also, std::string* out_unknown);
  bool Has(Rule rule) const { return on_[static_cast<size_t>(rule)]; }

 private:
  std::vector<bool> on_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_RULES_H_
