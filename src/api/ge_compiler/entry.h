// SPDX-License-Identifier: Apache-2.0
// What stands around the entry points of offline builds, and what they share.
#ifndef MILLPOND_SRC_API_GE_COMPILER_ENTRY_H_
#define MILLPOND_SRC_API_GE_COMPILER_ENTRY_H_

#include <map>
#include <string>

#include "include/ge/ge_ir_build.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"
#include "src/api/graph/build.h"
#include "src/base/status.h"
#include "src/exec/session/options.h"
#include "src/graph/io/om.h"

namespace millpond::compiler {

struct CompilerAbi : RuntimeAbi {
  using Result = ::ge::graphStatus;
  static constexpr Result kSuccess = ::ge::GRAPH_SUCCESS;
  static constexpr Result kNoMemory = ::ge::GRAPH_FAILED;
  static Result Number(const Status& failure) {
    return failure.code() == Code::kInvalidArgument ? ::ge::GRAPH_PARAM_INVALID : ::ge::GRAPH_FAILED;
  }
};

template <class Body>
::ge::graphStatus Answer(const char* api, Body&& body) {
  return Guard(CompilerAbi(), api, body);
}

Status OptionsFrom(const std::map<::ge::AscendString, ::ge::AscendString>& options, GraphOptions* out);
// The graph, which must have been built.
Status RequireGraph(const ::ge::Graph& graph, ir::GraphPtr* out);
::ge::ModelBufferData BufferFrom(const std::string& file);
// Writes a buffer of the kind to `path`, ".om" added where it is not there.
Status SaveFile(const char* path, const ::ge::ModelBufferData& model, io::OmKind kind);
std::string WithOm(const std::string& path);

}  // namespace millpond::compiler

#endif  // MILLPOND_SRC_API_GE_COMPILER_ENTRY_H_
