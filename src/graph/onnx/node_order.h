// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_GRAPH_ONNX_NODE_ORDER_H_
#define MILLPOND_SRC_GRAPH_ONNX_NODE_ORDER_H_

#include <span>
#include <vector>

#include "src/graph/io/onnx_model.h"

namespace millpond::onnx {

// The places of `nodes`, each behind those whose values it or a graph inside it reads; otherwise as they stand. Some
// exporters write them in another order. What waits for itself stands at the end, where the missing value is named.
std::vector<size_t> InOrderOfUse(std::span<const Node> nodes);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_NODE_ORDER_H_
