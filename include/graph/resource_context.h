// SPDX-License-Identifier: Apache-2.0
//
// What operators that share a resource tell each other while shapes are inferred. A client derives from it.
#ifndef MILLPOND_INCLUDE_GRAPH_RESOURCE_CONTEXT_H_
#define MILLPOND_INCLUDE_GRAPH_RESOURCE_CONTEXT_H_

namespace ge {

struct ResourceContext {
  virtual ~ResourceContext() {}
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_RESOURCE_CONTEXT_H_
