// SPDX-License-Identifier: Apache-2.0
// The command line of atc: which options there are, what each takes, and what it means for a build.
#ifndef MILLPOND_TOOLS_ATC_FLAGS_H_
#define MILLPOND_TOOLS_ATC_FLAGS_H_

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace atc {

struct Flag {
  const char* name;
  const char* build_key;  // the build option it becomes; null: read by atc itself, or without effect on a CPU
  const char* values;     // those it takes, with '|' between; null: any
  const char* help;       // null: accepted, checked and without effect here
};

// Sorted by what they are for, as the help shows them.
std::span<const Flag> Flags();
const Flag* FindFlag(std::string_view name);

using Values = std::map<std::string, std::string>;

// "--name=value" and "--name value". Empty when all is well, else what is wrong and the way on.
std::string Parse(int count, char** arguments, Values* out);

std::string HelpText();

}  // namespace atc

#endif  // MILLPOND_TOOLS_ATC_FLAGS_H_
