// SPDX-License-Identifier: Apache-2.0
// Findings that somebody knows of and does not want: one per line of a file, `RULE key=glob ...`.
#ifndef MILLPOND_SRC_CHECK_SUPPRESS_H_
#define MILLPOND_SRC_CHECK_SUPPRESS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/check/rules.h"
#include "src/check/symbols.h"

namespace millpond::check {

class Suppressions {
 public:
  // A line that cannot be read is an error that names it.
  static Status Parse(std::string_view text, Suppressions* out);

  // The number of the first line that covers the finding, from 1, or 0; counts it.
  int Cover(std::string_view rule, std::string_view fingerprint, const std::vector<std::vector<const Frame*>>& stacks);

  struct Used {
    int line;
    uint64_t count;
  };
  std::vector<Used> used() const;

 private:
  struct Entry {
    int line = 0;
    std::string rule;  // or *
    std::string function, file, module, fingerprint;
    uint64_t count = 0;
  };
  static Status Validate(const Entry& entry);
  static bool Covers(const Entry& entry, const std::vector<std::vector<const Frame*>>& stacks);

  std::vector<Entry> entries_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_SUPPRESS_H_
