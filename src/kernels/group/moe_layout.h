// SPDX-License-Identifier: Apache-2.0
// Where a token's copies go when its experts are on several ranks. It follows from the experts' numbers alone: a rank's
// copies of its tokens travel in the order of their experts, and within an expert in the order of the tokens. At the
// expert they lie rank by rank.
#ifndef MILLPOND_SRC_KERNELS_GROUP_MOE_LAYOUT_H_
#define MILLPOND_SRC_KERNELS_GROUP_MOE_LAYOUT_H_

#include "src/kernels/runtime/group.h"

namespace millpond::kernels {

// What the caller tells of its experts.
struct ExpertCounts {
  int64_t routed = 0;        // experts that tokens are sent to
  int64_t shared = 0;        // experts that see every token
  int64_t shared_ranks = 0;  // the first ranks: they have the shared experts' copies
  int64_t zero = 0;          // numbers behind the routed experts': these make nothing of a token,
  int64_t copying = 0;       // the next give it back,
  int64_t constant = 0;      // and the last mix it with a vector of theirs
};

// Which ranks have which experts.
struct ExpertLayout {
  int64_t ranks = 0;
  int64_t rank = 0;
  int64_t local = 0;  // experts of a rank behind those of the shared ones
  ExpertCounts experts;

  int64_t here() const { return rank < experts.shared_ranks ? 1 : local; }
  int64_t first_copying() const { return experts.routed + experts.zero; }
  int64_t first_constant() const { return first_copying() + experts.copying; }
  int64_t numbers() const { return first_constant() + experts.constant; }
};
ExpertLayout ExpertLayoutOf(const Group& group, string_view name, int64_t ep_ranks, int64_t ep_rank, int64_t tp_ranks,
                            const ExpertCounts& experts);

// This rank's copies of its tokens, in the order in which they travel.
struct Copies {
  std::vector<int64_t> tokens;   // of each copy
  std::vector<int64_t> slots;    // token * K + k; of a shared expert -1
  std::vector<int64_t> scales;   // the row of `scales` that belongs to its expert
  std::vector<int64_t> counts;   // [ranks][local]
  std::vector<int64_t> numbers;  // by slot: how many of this rank's copies go to that expert before it
  std::vector<int64_t> staying;  // slots of copying and constant experts, whose work is done where the token is
};
// Refuses ids and a mask that do not fit together.
void CheckChoice(const Tensor& expert_ids, const OptTensor& mask);
Copies CopiesOf(const ExpertLayout& layout, const Tensor& expert_ids, const OptTensor& mask);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GROUP_MOE_LAYOUT_H_
