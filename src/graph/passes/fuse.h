// SPDX-License-Identifier: Apache-2.0
// Passes that make one node of several, or give a constant the form that its kernel likes best. Each works on one
// graph, keeps its results to float rounding, and can be switched off alone (Fusions). They expect inferred types and
// shapes, and work on float32; what they do not recognise stays as it is. In the order in which they run:
//
//   composites  Gelu, Swish, layer norm and RMS norm that were written out become one node
//   conv        convolution + batch norm + bias + addend + activation become MillpondFusedConv
//   matmul      product with a matrix that is constant + bias + activation, or + addend, become MillpondFusedMatMul
//   attention   product, scale, mask, softmax, product become MillpondAttention
//   layout      MillpondFusedConv and what is between them work with channels last
//   transposes  transposes that undo each other, and reshapes of reshapes, go
//   elementwise chains of elementwise nodes become MillpondElementwise
//   prepack     constant filters and matrices are stored as their kernels read them
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
// Asks `environment.run` to pack; without it, or where it cannot, constants stay.
Status Prepack(ir::Graph* graph, const PassEnvironment& environment, bool* out_changed);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_FUSE_H_
