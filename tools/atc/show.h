// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_TOOLS_ATC_SHOW_H_
#define MILLPOND_TOOLS_ATC_SHOW_H_

#include <map>

#include "graph/graph.h"

namespace atc {

// Prints what an .om takes and gives. False: the reason is in aclGetRecentErrMsg.
bool Show(const char* path);

// Reads an ONNX file. False: the reason is in aclGetRecentErrMsg, or was printed.
bool ParseOnnx(const char* path, const std::map<ge::AscendString, ge::AscendString>& options, ge::Graph* graph);

}  // namespace atc

#endif  // MILLPOND_TOOLS_ATC_SHOW_H_
