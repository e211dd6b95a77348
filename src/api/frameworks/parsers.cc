// SPDX-License-Identifier: Apache-2.0
// libfmk_parser: models of TensorFlow and Caffe are refused by name. A client that has one converts it to ONNX.
#include "include/parser/caffe_parser.h"
#include "include/parser/tensorflow_parser.h"
#include "src/api/parser/parser_abi.h"

namespace ge {
namespace {

using Params = std::map<AscendString, AscendString>;

graphStatus Refused(const char* function, const char* framework, const char* model_file) {
  return millpond::Guard(millpond::api::ParserAbi(), function, [&]() -> millpond::Status {
    MP_REQUIRE(model_file != nullptr, "model_file is null");
    return millpond::Unsupported(millpond::Format(
        "\"%.300s\": models of %s are not read here; convert it to ONNX (aclgrphParseONNX)", model_file, framework));
  });
}

}  // namespace

graphStatus aclgrphParseTensorFlow(const char* model_file, Graph& /*graph*/) {
  return Refused("aclgrphParseTensorFlow", "TensorFlow", model_file);
}
graphStatus aclgrphParseTensorFlow(const char* model_file, const Params& /*parser_params*/, Graph& /*graph*/) {
  return Refused("aclgrphParseTensorFlow", "TensorFlow", model_file);
}
graphStatus aclgrphParseCaffe(const char* model_file, const char* /*weights_file*/, Graph& /*graph*/) {
  return Refused("aclgrphParseCaffe", "Caffe", model_file);
}
graphStatus aclgrphParseCaffe(const char* model_file, const char* /*weights_file*/, const Params& /*parser_params*/,
                              Graph& /*graph*/) {
  return Refused("aclgrphParseCaffe", "Caffe", model_file);
}

}  // namespace ge
