// SPDX-License-Identifier: Apache-2.0
// A rule's wrong program and its right twin are one function, which says `wrong` where they differ: the wrong one earns
// exactly its rule, the right one nothing. Each runs in a process of its own, checked.
#ifndef MILLPOND_TESTS_WRONG_RULES_TEST_H_
#define MILLPOND_TESTS_WRONG_RULES_TEST_H_

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/acl/acl_test.h"

namespace rules_test {

using acl_test::ChildResult;

inline bool IsWrong() { return std::getenv("RULES_WRONG") != nullptr; }

inline uint32_t NumberIn(const char* variable, uint32_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text != 0 ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}
// The random programs that are asked for: the first one's seed, and how many.
inline uint32_t FirstProgram() { return NumberIn("MILLPOND_RANDOM_FIRST", 0); }
inline uint32_t ProgramCount() { return NumberIn("MILLPOND_RANDOM_PROGRAMS", MP_SANITIZED ? 6 : 40); }

// Rule -> how many findings of it.
inline std::map<std::string, int> RulesIn(const std::string& path) {
  std::map<std::string, int> rules;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("{\"event\":\"finding\"", 0) != 0) continue;
    const size_t at = line.find("\"rule\":\"");
    rules[line.substr(at + 8, 5)]++;
  }
  return rules;
}

// In a program: has the checker found this by now?
inline bool HasFound(const std::string& rule) {
  const char* const path = std::getenv("MILLPOND_CHECK_JSON");
  return path != nullptr && RulesIn(path).contains(rule);
}

struct Checked {
  ChildResult result;
  std::map<std::string, int> rules;
};

inline Checked Check(const std::string& role, bool wrong, std::map<std::string, std::string> variables) {
  const std::string path =
      testing::TempDir() + "findings." + std::to_string(getpid()) + "." + role + (wrong ? ".w" : ".r");
  variables["MILLPOND_CHECK"] = "1";
  variables["MILLPOND_CHECK_JSON"] = path;
  variables["RULES_WRONG"] = wrong ? "1" : "";
  // A program whose wrong half loses memory of its own: LeakSanitizer's exit status would hide the checker's.
  if (variables.erase("RULES_LOSES_BLOCKS") != 0 && wrong) variables["LSAN_OPTIONS"] = "detect_leaks=0";
  Checked checked{acl_test::RunRole(role, variables), {}};
  checked.rules = RulesIn(path);
  unlink(path.c_str());
  return checked;
}

enum class Exit { kError, kNoError };  // 66, or the program's own 0

inline void Expect(const char* role, const std::string& rule, Exit wrong_exit,
                   const std::map<std::string, std::string>& variables) {
  const Checked right = Check(role, false, variables);
  EXPECT_EQ(right.result.exit_code, 0) << right.result.output;
  EXPECT_TRUE(right.rules.empty()) << right.result.output;
  const Checked wrong = Check(role, true, variables);
  EXPECT_EQ(wrong.result.exit_code, wrong_exit == Exit::kError ? 66 : 0) << wrong.result.output;
  EXPECT_EQ(wrong.rules.size(), 1U) << wrong.result.output;
  EXPECT_TRUE(wrong.rules.contains(rule)) << wrong.result.output;
  // Without inlining, more frames of ours than a stack has room for lie between the call and what it earns.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (variables.contains("RULES_DEEP_STACK")) return;
#endif
  // The text names a line of this file, in the function of the program.
  if (wrong.result.output.find("rules_") == std::string::npos &&
      wrong.result.output.find("Role_") == std::string::npos) {
    ADD_FAILURE() << "no line of the program is named: " << wrong.result.output;
  }
}

// As Expect, with seeds for the right form.
inline void ExpectWithSeeds(const char* role, const char* rule, Exit wrong_exit) {
  for (const char* seed : {"", "0", "1", "2", "3", "7", "40", "63"}) {
    const Checked right = Check(role, false, {{"MILLPOND_SEED", seed}});
    EXPECT_EQ(right.result.exit_code, 0) << "seed " << seed << ": " << right.result.output;
    EXPECT_TRUE(right.rules.empty()) << "seed " << seed << ": " << right.result.output;
  }
  Expect(role, rule, wrong_exit, {});
}

}  // namespace rules_test

// `exit`: kError for errors, kNoError for warnings and advice; then variables, {"MILLPOND_DEVICES", "2"} ...
#define MP_PROGRAM(rule, what, exit, ...)                                                                           \
  static int Program_##rule##_##what(bool wrong);                                                                   \
  MP_ROLE(rule##_##what) { return Program_##rule##_##what(rules_test::IsWrong()); }                                 \
  TEST(Rules, rule##_##what) { rules_test::Expect(#rule "_" #what, #rule, rules_test::Exit::exit, {__VA_ARGS__}); } \
  static int Program_##rule##_##what(bool wrong)

// Unusual but legal use, beside the mistake that is nearest to it.
#define MP_STRANGE(rule, what, exit)                                                                            \
  static int Program_##rule##_##what(bool wrong);                                                               \
  MP_ROLE(rule##_##what) { return Program_##rule##_##what(rules_test::IsWrong()); }                             \
  TEST(Strange, rule##_##what) { rules_test::ExpectWithSeeds(#rule "_" #what, #rule, rules_test::Exit::exit); } \
  static int Program_##rule##_##what(bool wrong)

#endif  // MILLPOND_TESTS_WRONG_RULES_TEST_H_
