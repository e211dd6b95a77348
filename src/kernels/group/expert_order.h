// SPDX-License-Identifier: Apache-2.0
// Rows on their way between ranks lie rank by rank; where they are computed they lie expert by expert. Counts are
// [ranks][experts of a rank], flattened.
#ifndef MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_
#define MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_

#include <cstdint>
#include <vector>

#include "src/kernels/runtime/group.h"

namespace millpond::kernels {

// Each rank's elements: its rows of all experts, `width` elements each.
inline Group::Parts RowsOfRanks(const std::vector<int64_t>& counts, int64_t ranks, int64_t width) {
  const int64_t experts = static_cast<int64_t>(counts.size()) / ranks;
  std::vector<int64_t> elements(ranks, 0);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (int64_t expert = 0; expert < experts; ++expert) elements[rank] += counts[rank * experts + expert] * width;
  }
  return Group::InOrder(std::move(elements));
}

// For each row in the order of experts, its place in the order of ranks.
inline Tensor ByExpert(const std::vector<int64_t>& counts, int64_t ranks) {
  const int64_t experts = static_cast<int64_t>(counts.size()) / ranks;
  const std::vector<int64_t> begins = Group::InOrder(counts).places;
  std::vector<int64_t> places;
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const size_t at = rank * experts + expert;
      for (int64_t i = 0; i < counts[at]; ++i) places.push_back(begins[at] + i);
    }
  }
  return at::tensor(places, at::kLong);
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_
