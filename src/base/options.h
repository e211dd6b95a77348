// SPDX-License-Identifier: Apache-2.0
// Settings are one table (options.def): name, environment variable, default, sentence. docs/options.md and
// `millpond doctor` are generated from it. Read once, at the first use of any of them.
#ifndef MILLPOND_SRC_BASE_OPTIONS_H_
#define MILLPOND_SRC_BASE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millpond {

struct Options {
#define MP_OPTION(field, variable, default_value, sentence) std::string field = default_value;
#include "src/base/options.def"
#undef MP_OPTION
};

// The process's settings, from the environment.
const Options& GetOptions();

// As the environment has them now. For who must know at load: a program may set variables until its first call.
Options ReadOptions();

// The N of "1/N", 0 for anything else.
uint64_t ShareOf(std::string_view share);

struct OptionInfo {
  const char* name;
  const char* variable;
  const char* default_value;
  const char* sentence;
};
const std::vector<OptionInfo>& OptionTable();

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_OPTIONS_H_
