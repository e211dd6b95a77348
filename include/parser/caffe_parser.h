// SPDX-License-Identifier: Apache-2.0
// Models of Caffe as graphs. Both functions are there so that programs link, and fail with a message that names
// them: convert the model to ONNX and use parser/onnx_parser.h.
#ifndef MILLPOND_INCLUDE_PARSER_CAFFE_PARSER_H_
#define MILLPOND_INCLUDE_PARSER_CAFFE_PARSER_H_

#include "parser/onnx_parser.h"

namespace ge {

PARSER_FUNC_VISIBILITY graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file,
                                                     ge::Graph& graph);
PARSER_FUNC_VISIBILITY graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file,
                                                     const std::map<ge::AscendString, ge::AscendString>& parser_params,
                                                     ge::Graph& graph);

}  // namespace ge

#endif  // MILLPOND_INCLUDE_PARSER_CAFFE_PARSER_H_
