// SPDX-License-Identifier: Apache-2.0
// Passes that fuse nodes, or convert a constant to the layout its kernel wants. Each works on one graph,
// preserves results up to float rounding, and can be disabled individually (Fusions). They expect inferred types and
// shapes, and work on float32; what they do not recognise is left alone. In the order they run:
//
//   composites  Gelu, Swish, layer norm and RMS norm written out as primitives become one node
//   conv        convolution + batch norm + bias + addend + activation become MillpondFusedConv
//   matmul      GEMM with constant RHS + bias + activation, or + addend, become MillpondFusedMatMul
//   attention   matmul, scale, mask, softmax, matmul become MillpondAttention
//   layout      MillpondFusedConv and the nodes between them use channels last
//   transposes  transposes that cancel out, and reshapes of reshapes, are removed
//   elementwise chains of elementwise nodes become MillpondElementwise
//   prepack     constant filters and matrices are packed for their kernels
#ifndef MILLPOND_SRC_GRAPH_PASSES_FUSE_H_
#define MILLPOND_SRC_GRAPH_PASSES_FUSE_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

Status FuseComposites(ir::Graph* graph, bool* out_changed);
Status FuseConv(ir::Graph* graph, bool* out_changed);
Status FuseMatMul(ir::Graph* graph, bool* out_changed);
Status FuseAttention(ir::Graph* graph, bool* out_changed);
Status ChooseLayout(ir::Graph* graph, bool* out_changed);
Status RemoveTransposes(ir::Graph* graph, bool* out_changed);
Status FuseChains(ir::Graph* graph, bool* out_changed);
// Packs with `environment.run`; without it, or where it cannot, constants stay as they are.
Status Prepack(ir::Graph* graph, const PassEnvironment& environment, bool* out_changed);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_FUSE_H_
