// SPDX-License-Identifier: Apache-2.0
// ONNX models as graphs.
#ifndef MILLPOND_INCLUDE_PARSER_ONNX_PARSER_H_
#define MILLPOND_INCLUDE_PARSER_ONNX_PARSER_H_

#include <cstddef>
#include <map>

#include "graph/ascend_string.h"
#include "graph/ge_error_codes.h"
#include "graph/graph.h"
#include "graph/types.h"

#if defined(_MSC_VER)
#define PARSER_FUNC_VISIBILITY
#else
#define PARSER_FUNC_VISIBILITY __attribute__((visibility("default")))
#endif

namespace ge {

// Reads a model; its constants in other files must lie in its folder or below it. `parser_params`: see docs/onnx.md.
PARSER_FUNC_VISIBILITY graphStatus aclgrphParseONNX(const char* model_file,
                                                    const std::map<ge::AscendString, ge::AscendString>& parser_params,
                                                    ge::Graph& graph);

// The same from memory, which may be freed afterwards.
PARSER_FUNC_VISIBILITY graphStatus
aclgrphParseONNXFromMem(const char* buffer, size_t size,
                        const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);

}  // namespace ge

#endif  // MILLPOND_INCLUDE_PARSER_ONNX_PARSER_H_
