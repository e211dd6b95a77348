// SPDX-License-Identifier: Apache-2.0
// libfmk_onnx_parser: an ONNX model becomes a ge::Graph.
#include "include/parser/onnx_parser.h"

#include "src/api/graph/build.h"
#include "src/api/parser/parser_abi.h"
#include "src/api/parser/parser_params.h"
#include "src/exec/program/host.h"
#include "src/graph/io/files.h"
#include "src/graph/io/onnx_model.h"
#include "src/graph/onnx/import.h"

namespace ge {

using millpond::Guard;
using millpond::Ok;
using millpond::Status;
using millpond::api::ParserAbi;

namespace {

using Params = std::map<AscendString, AscendString>;

Status Parse(std::span<const std::byte> bytes, const millpond::onnx::ReadOptions& from, const Params& params,
             Graph* graph) {
  millpond::onnx::ImportOptions options;
  MP_RETURN_IF_ERROR(millpond::api::OptionsFrom(params, &options));
  millpond::onnx::Model model;
  MP_RETURN_IF_ERROR(millpond::onnx::ReadModel(bytes, from, &model));
  millpond::passes::PassEnvironment environment;
  environment.run = &millpond::program::RunNodeOnHost;
  millpond::ir::GraphPtr made;
  MP_RETURN_IF_ERROR(millpond::onnx::Import(model, options, environment, &made));
  *graph = millpond::api::Wrap(made);
  return Ok();
}

}  // namespace

graphStatus aclgrphParseONNX(const char* model_file, const Params& parser_params, Graph& graph) {
  return Guard(ParserAbi(), "aclgrphParseONNX", [&]() -> Status {
    MP_REQUIRE(model_file != nullptr, "model_file is null");
    const std::string path = model_file;
    millpond::io::FileBytes file;
    MP_RETURN_IF_ERROR(millpond::io::ReadFile(path, &file));
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string_view::npos ? "." : path.substr(0, slash + 1);
    return Parse(file.bytes, {.folder = folder, .keep = file.keep}, parser_params, &graph)
        .Prefixed(millpond::Format("\"%.300s\"", model_file));
  });
}

graphStatus aclgrphParseONNXFromMem(const char* buffer, size_t size, const Params& parser_params, Graph& graph) {
  return Guard(ParserAbi(), "aclgrphParseONNXFromMem", [&]() -> Status {
    MP_REQUIRE(buffer != nullptr && size > 0, "there is nothing to parse: %zu bytes at %p", size,
               static_cast<const void*>(buffer));
    return Parse({reinterpret_cast<const std::byte*>(buffer), size}, {.folder = "", .keep = nullptr}, parser_params,
                 &graph);
  });
}

}  // namespace ge
