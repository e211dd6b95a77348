// SPDX-License-Identifier: Apache-2.0
// The file that `atc --insert_op_conf` names: which inputs of a model are pictures, and what is done with them before
// the model reads them (the guide of atc, page "Configuration file template").
#ifndef MILLPOND_SRC_GRAPH_IO_AIPP_CONFIG_H_
#define MILLPOND_SRC_GRAPH_IO_AIPP_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/aipp.h"
#include "src/base/status.h"

namespace millpond::io {

// One group `aipp_op { ... }`.
struct AippConfig {
  bool dynamic = false;
  size_t input = 0;
  std::string input_name;  // stands above the number; empty: the number counts
  int64_t max_bytes = 0;   // dynamic: of all pictures of a run together
  aipp::Header header;     // static, and so is what follows; sizes that are 0 are the model's
  aipp::Record record;
  float padding = 0;  // what the border has
};

// Groups of both modes exclude each other. Fails with the parameter that is wrong or not supported.
Status ParseAippConfig(std::string_view text, std::vector<AippConfig>* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_AIPP_CONFIG_H_
