// SPDX-License-Identifier: Apache-2.0
#include "src/base/options.h"

#include <charconv>
#include <cstdlib>

namespace millpond {

Options ReadOptions() {
  Options read;
#define MP_OPTION(field, variable, default_value, sentence)                         \
  if (const char* value = std::getenv(variable); value != nullptr && *value != 0) { \
    read.field = value;                                                             \
  }
#include "src/base/options.def"
#undef MP_OPTION
  return read;
}

const Options& GetOptions() {
  static const Options& options = *new Options(ReadOptions());  // leaked: static destructors of clients may still ask
  return options;
}

uint64_t ShareOf(std::string_view share) {
  constexpr std::string_view kOne = "1/";
  uint64_t of = 0;
  if (!share.starts_with(kOne)) return 0;
  const char* const end = share.data() + share.size();
  const auto [rest, error] = std::from_chars(share.data() + kOne.size(), end, of);
  return error == std::errc() && rest == end ? of : 0;
}

const std::vector<OptionInfo>& OptionTable() {
  static const auto& table = *new std::vector<OptionInfo>{
#define MP_OPTION(field, variable, default_value, sentence) {#field, variable, default_value, sentence},
#include "src/base/options.def"
#undef MP_OPTION
  };
  return table;
}

}  // namespace millpond
