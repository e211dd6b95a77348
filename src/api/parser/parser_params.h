// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_API_PARSER_PARSER_PARAMS_H_
#define MILLPOND_SRC_API_PARSER_PARSER_PARAMS_H_

#include <map>

#include "include/graph/ascend_string.h"
#include "src/base/status.h"
#include "src/graph/onnx/import.h"

namespace millpond::api {

// The vendor's parameters of parsers (docs/compat.md, "Keys of parsers and builds"). Fails with the key and what it may
// be.
Status OptionsFrom(const std::map<ge::AscendString, ge::AscendString>& params, onnx::ImportOptions* out);

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_PARSER_PARSER_PARAMS_H_
