// SPDX-License-Identifier: Apache-2.0
// What stands around the entry points of offline builds, and what they share.
#ifndef MILLPOND_SRC_API_GE_COMPILER_ENTRY_H_
#define MILLPOND_SRC_API_GE_COMPILER_ENTRY_H_

#include <map>
#include <string>

#include "include/ge/ge_ir_build.h"
#include "src/api/acl/guard.h"
#include "src/api/graph/build.h"
#include "src/base/status.h"
#include "src/exec/session_options.h"
#include "src/graph/io/om.h"

namespace millpond::compiler {

// Catches, leaves the message, and maps: a client's mistake is GRAPH_PARAM_INVALID, the rest GRAPH_FAILED.
template <class Body>
::ge::graphStatus Answer(const char* api, Body&& body) {
  Code code = Code::kInternal;
  const aclError result = acl::Guard(api, [&]() -> Status {
    Status status = body();
    code = status.code();
    return status;
  });
  if (result == ACL_SUCCESS) return ::ge::GRAPH_SUCCESS;
  return code == Code::kInvalidArgument ? ::ge::GRAPH_PARAM_INVALID : ::ge::GRAPH_FAILED;
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
