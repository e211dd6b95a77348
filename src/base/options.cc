// SPDX-License-Identifier: Apache-2.0
#include "src/base/options.h"

#include <cstdlib>

namespace millpond {

const Options& GetOptions() {
  static const Options& options = *[] {
    auto* read = new Options;  // leaked: static destructors of clients may still ask
#define MP_OPTION(field, variable, default_value, sentence)                         \
  if (const char* value = std::getenv(variable); value != nullptr && *value != 0) { \
    read->field = value;                                                            \
  }
#include "src/base/options.def"
#undef MP_OPTION
    return read;
  }();
  return options;
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
