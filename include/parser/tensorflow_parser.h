// SPDX-License-Identifier: Apache-2.0
// Models of TensorFlow as graphs. Both functions are there so that programs link, and fail with a message that names
// them: convert the model to ONNX and use parser/onnx_parser.h.
#ifndef MILLPOND_INCLUDE_PARSER_TENSORFLOW_PARSER_H_
#define MILLPOND_INCLUDE_PARSER_TENSORFLOW_PARSER_H_

#include "parser/onnx_parser.h"

namespace ge {

PARSER_FUNC_VISIBILITY graphStatus aclgrphParseTensorFlow(const char* model_file, ge::Graph& graph);
PARSER_FUNC_VISIBILITY graphStatus aclgrphParseTensorFlow(
    const char* model_file, const std::map<ge::AscendString, ge::AscendString>& parser_params, ge::Graph& graph);

}  // namespace ge

#endif  // MILLPOND_INCLUDE_PARSER_TENSORFLOW_PARSER_H_
