// SPDX-License-Identifier: Apache-2.0
// For tests: texts whose parts differ from run to run.
#ifndef MILLPOND_SRC_BASE_REGEX_TESTING_H_
#define MILLPOND_SRC_BASE_REGEX_TESTING_H_

#include <gtest/gtest.h>
#include <regex.h>

#include <string>

namespace millpond {

// Searches for a POSIX extended expression.
inline bool Matches(const std::string& text, const char* pattern) {
  regex_t compiled;
  EXPECT_EQ(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0) << pattern;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}
// The date torch_npu looks for.
#define MP_DATE_PATTERN "[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\.[0-9]{3}"

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_REGEX_TESTING_H_
