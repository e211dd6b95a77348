// SPDX-License-Identifier: Apache-2.0
// The command line of atc. Which options there are, what each takes and what is done with it:
// src/base/cann_options.def.
#ifndef MILLPOND_TOOLS_ATC_FLAGS_H_
#define MILLPOND_TOOLS_ATC_FLAGS_H_

#include <map>
#include <string>
#include <string_view>

namespace atc {

// The option of a build that a flag becomes; null: it becomes none.
const char* BuildKeyOf(std::string_view flag);

using Values = std::map<std::string, std::string>;

// "--name=value" and "--name value". Empty when all is well, else what is wrong or refused, and the way on.
std::string Parse(int count, char** arguments, Values* out);

std::string HelpText();

}  // namespace atc

#endif  // MILLPOND_TOOLS_ATC_FLAGS_H_
