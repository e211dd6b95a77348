// SPDX-License-Identifier: Apache-2.0
// Plain attention in float, head by head: each thread takes whole heads, keeps a few rows of scores in its cache,
// leaves out what the mask hides and reads the operands where they lie. The general way (attention.cc) is for
// everything else.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_HEADS_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_HEADS_H_

#include "src/kernels/attention/attention.h"

namespace millpond::kernels {

// Float operands without bias, sink or dropout, whose head rows are contiguous; and a BLAS to do it with.
bool IsPlainByHeads(const Attention& attention);

// pre: IsPlainByHeads. `result` has the shapes of AttentionResult; its tensors are written, rows of `out` contiguous.
void AttendByHeads(const Attention& attention, const AttentionResult& result);

// pre: IsPlainByHeads. Writes query, key and value gradients: contiguous floats in the shape of the inputs.
void AttendBackwardByHeads(const Attention& attention, const Tensor& grad, const AttentionResult& forward,
                           const AttentionGrads& grads);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_HEADS_H_
