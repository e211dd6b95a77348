// SPDX-License-Identifier: Apache-2.0
// What may follow a convolution or a GEMM and is done by the fused node as well: sums and an activation.
#ifndef MILLPOND_SRC_GRAPH_PASSES_FUSE_TAIL_H_
#define MILLPOND_SRC_GRAPH_PASSES_FUSE_TAIL_H_

#include <string>

#include "src/graph/passes/activations.h"
#include "src/graph/passes/fuse_tools.h"

namespace millpond::passes {

struct Tail {
  ir::NodePtr node;
  ir::NodePtr last;  // the fused node replaces its output
  ir::Endpoint addend;
  std::string activation = kNoActivation;
};

class TailFusingPass : public FusingPass {
 protected:
  using FusingPass::FusingPass;

  // Absorbs the sum that reads the result, if `take(sum, other operand)` accepts it.
  template <class Take>
  bool AbsorbSum(Tail* tail, Take take) {
    const ir::NodePtr sum = fuser_.SoleReader({tail->last, 0});
    ir::Endpoint other;
    if (sum == nullptr || (sum->type != "Add" && sum->type != "BiasAdd")) return false;
    if (!Fuser::Pairs(*sum, {tail->last, 0}, &other) || !take(*sum, other)) return false;
    tail->last = sum;
    return true;
  }

  // No broadcasting as far as shapes are known; what turns out at run time the fused node can handle.
  bool IsAddend(const Tail& tail, const ir::Endpoint& other) const {
    return Fuser::IsFloat(other) && !fuser_.IsMutable(other) && Fuser::RankOf(other) >= 0 &&
           tail.last->outputs[0].dims == Fuser::DescOf(other).dims;
  }

  void AbsorbActivation(Tail* tail) {
    const ir::NodePtr after = fuser_.SoleReader({tail->last, 0});
    const std::string activation = after != nullptr ? ActivationOf(*after) : "";
    if (activation.empty()) return;
    tail->activation = activation;
    tail->last = after;
  }
};

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_FUSE_TAIL_H_
