// SPDX-License-Identifier: Apache-2.0
#include "src/check/suppress.h"

#include <fnmatch.h>

#include <map>
#include <sstream>

namespace millpond::check {

namespace {

bool Fits(const std::string& glob, const std::string& text) {
  return glob.empty() || fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

Status Suppressions::Parse(std::string_view text, Suppressions* out) {
  // Streams of strings that were moved are younger than the oldest libstdc++ that a wheel runs on.
  const std::string whole(text);
  std::istringstream lines(whole);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string said = line.substr(0, line.find('#'));
    std::istringstream words(said);
    Entry entry;
    if (!(words >> entry.rule)) continue;
    entry.line = number;
    MP_REQUIRE(entry.rule == "*" || FindRule(entry.rule), "line %d: '%s' is no rule; write * or one of: %s", number,
               entry.rule.c_str(), KnownRules().c_str());
    const std::map<std::string, std::string Entry::*> keys = {{"function", &Entry::function},
                                                              {"file", &Entry::file},
                                                              {"module", &Entry::module},
                                                              {"fingerprint", &Entry::fingerprint}};
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const auto key = equals == std::string::npos ? keys.end() : keys.find(word.substr(0, equals));
      MP_REQUIRE(key != keys.end() && equals + 1 < word.size(),
                 "line %d: '%s' is no condition; write function=, file=, module= or fingerprint= and a pattern", number,
                 word.c_str());
      MP_REQUIRE((entry.*(key->second)).empty(), "line %d: '%s=' stands twice", number, key->first.c_str());
      entry.*(key->second) = word.substr(equals + 1);
    }
    MP_RETURN_IF_ERROR(Validate(entry));
    out->entries_.push_back(std::move(entry));
  }
  return Ok();
}

// What the command's own reading refuses too (tools/cli/check/suppress.py).
Status Suppressions::Validate(const Entry& entry) {
  const bool has_pattern = !entry.function.empty() || !entry.file.empty() || !entry.module.empty();
  MP_REQUIRE(entry.rule != "*" || has_pattern || !entry.fingerprint.empty(),
             "line %d: '*' alone would hide everything; name a rule, a function, a file, a module or a fingerprint",
             entry.line);
  if (entry.fingerprint.empty()) return Ok();
  MP_REQUIRE(
      entry.fingerprint.size() == 16 && entry.fingerprint.find_first_not_of("0123456789abcdef") == std::string::npos,
      "line %d: '%s' is no fingerprint: 16 hexadecimal digits in small letters", entry.line, entry.fingerprint.c_str());
  MP_REQUIRE(!has_pattern, "line %d: a fingerprint names one finding; no other condition goes with it", entry.line);
  return Ok();
}

bool Suppressions::Covers(const Entry& entry, const std::vector<std::vector<const Frame*>>& stacks) {
  if (entry.function.empty() && entry.file.empty() && entry.module.empty()) return true;
  for (const auto& frames : stacks) {
    for (const Frame* frame : frames) {
      if (Fits(entry.function, frame->function) && Fits(entry.file, frame->file) && Fits(entry.module, frame->module)) {
        return true;
      }
    }
  }
  return false;
}

int Suppressions::Cover(std::string_view rule, std::string_view fingerprint,
                        const std::vector<std::vector<const Frame*>>& stacks) {
  for (Entry& entry : entries_) {
    if (entry.rule != "*" && entry.rule != rule) continue;
    if (!entry.fingerprint.empty() && entry.fingerprint != fingerprint) continue;
    if (!Covers(entry, stacks)) continue;
    ++entry.count;
    return entry.line;
  }
  return 0;
}

std::vector<Suppressions::Used> Suppressions::used() const {
  std::vector<Used> used;
  for (const Entry& entry : entries_) {
    if (entry.count != 0) used.push_back({entry.line, entry.count});
  }
  return used;
}

}  // namespace millpond::check
