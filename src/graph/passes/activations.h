// SPDX-License-Identifier: Apache-2.0
// Activations that a fused kernel applies to its result. The names are passed to the kernel
// verbatim (src/kernels/gemm/fused.h).
#ifndef MILLPOND_SRC_GRAPH_PASSES_ACTIVATIONS_H_
#define MILLPOND_SRC_GRAPH_PASSES_ACTIVATIONS_H_

#include <string>

#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {

inline constexpr char kNoActivation[] = "none";

// The name of the activation that a unary node applies; empty when it applies none.
inline std::string ActivationOf(const ir::Node& node) {
  if (node.type == "Relu") return "relu";
  if (node.type == "Sigmoid") return "sigmoid";
  if (node.type == "Tanh") return "tanh";
  if (node.type == "HardSwish") return "hardswish";
  if (node.type == "Swish" && Fuser::FloatAttr(node, "scale", 1) == 1) return "swish";
  if (node.type == "Gelu") return "gelu_tanh";  // aclnnGelu's page defines it so; GeluV2 has the choice
  if (node.type == "GeluV2") {
    const std::string_view how = Fuser::TextAttr(node, "approximate", "none");
    return how == "tanh" ? "gelu_tanh" : how == "none" ? "gelu" : "";
  }
  return "";
}

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_ACTIVATIONS_H_
