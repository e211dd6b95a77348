// SPDX-License-Identifier: Apache-2.0
// The pool's settings: one table (settings.def), read from the environment or set by name.
#ifndef MILLPOND_SRC_POOL_SETTINGS_H_
#define MILLPOND_SRC_POOL_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/status.h"

namespace millpond::pool {

struct Settings {
#define MP_POOL_SETTING(field, variable, standard, smallest, largest, sentence) size_t field = standard;
#include "src/pool/settings.def"
#undef MP_POOL_SETTING

  // Reads every variable that is set. The first bad one is refused by name, with the allowed range.
  static Status FromEnvironment(Settings* out_settings);
  // `name` is a field or its environment variable.
  Status Set(std::string_view name, std::string_view value);
  Status Validate() const;
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_SETTINGS_H_
