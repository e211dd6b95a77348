// SPDX-License-Identifier: Apache-2.0
// What parsers answer.
#ifndef MILLPOND_SRC_API_PARSER_PARSER_ABI_H_
#define MILLPOND_SRC_API_PARSER_PARSER_ABI_H_

#include "include/graph/ge_error_codes.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"

namespace millpond::api {

struct ParserAbi : RuntimeAbi {
  using Result = ge::graphStatus;
  static constexpr Result kSuccess = ge::GRAPH_SUCCESS;
  static constexpr Result kNoMemory = ge::GRAPH_FAILED;
  static Result Number(const Status&) { return ge::GRAPH_FAILED; }
};

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_PARSER_PARSER_ABI_H_
