// SPDX-License-Identifier: Apache-2.0
// Clients' functions for nodes, as ir::ClientHooks takes them.
#ifndef MILLPOND_SRC_API_GRAPH_INFER_H_
#define MILLPOND_SRC_API_GRAPH_INFER_H_

#include <string_view>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::api {

bool ClientKnows(std::string_view type);
Status ClientInfer(const ir::NodePtr& node, bool* out_inferred);
Status ClientVerify(const ir::NodePtr& node);

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_INFER_H_
