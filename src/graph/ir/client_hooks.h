// SPDX-License-Identifier: Apache-2.0
// Operators that a client defines itself live in libgraph, above this layer; the graph compiler queries them here.
#ifndef MILLPOND_SRC_GRAPH_IR_CLIENT_HOOKS_H_
#define MILLPOND_SRC_GRAPH_IR_CLIENT_HOOKS_H_

#include <string_view>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::ir {

struct ClientHooks {
  // Whether a client defined the type.
  bool (*knows)(std::string_view type) = nullptr;
  // Runs the client's function on the node, whose inputs are described and whose constant sources are connected; it
  // fills in the outputs. *out_inferred = false: there is no function for the type, and the node is unchanged.
  Status (*infer)(const NodePtr& node, bool* out_inferred) = nullptr;
  // The client's own checks of the node. OK when there are none.
  Status (*verify)(const NodePtr& node) = nullptr;
};

// Set once, by libgraph; null functions while it is not loaded or nothing is registered.
ClientHooks GetClientHooks();
void SetClientHooks(const ClientHooks& hooks);

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_CLIENT_HOOKS_H_
