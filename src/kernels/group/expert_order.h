// SPDX-License-Identifier: Apache-2.0
// Rows on their way between ranks lie rank by rank; where they are computed they lie expert by expert. Counts are
// [ranks][experts of a rank], flattened.
#ifndef MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_
#define MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_

#include <cstdint>
#include <numeric>
#include <vector>

#include "src/kernels/runtime/group.h"

namespace millpond::kernels {

// The counts as a client lists them, checked. They are `rows` rows, of the tensor of that name.
inline std::vector<int64_t> Counts(const char* what, IntArrayRef counts, int64_t experts, int64_t ranks, int64_t rows,
                                   const char* tensor) {
  TORCH_CHECK(static_cast<int64_t>(counts.size()) == experts * ranks, what, " has ", counts.size(),
              " entries; one for each of ", experts, " experts of ", ranks, " ranks is needed");
  for (const int64_t count : counts) TORCH_CHECK(count >= 0, what, " has a negative entry, ", count);
  const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  TORCH_CHECK(sum == rows, what, " are ", sum, " rows, and ", tensor, " has ", rows);
  return counts.vec();
}

// Calls `multiply` with each expert that has rows, where they begin among those that lie expert by expert, and how many
// they are.
template <class Multiply>
void EachExpert(const std::vector<int64_t>& counts, int64_t experts, const Multiply& multiply) {
  const int64_t ranks = static_cast<int64_t>(counts.size()) / experts;
  int64_t begin = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    int64_t length = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) length += counts[rank * experts + expert];
    if (length > 0) multiply(expert, begin, length);
    begin += length;
  }
}

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

// Asks that kept(1), rows that lie expert by expert, go to the ranks that they are for. They are kept(0) then: `out`
// itself where that is contiguous.
inline void SendBackRows(Group& group, string_view name, const std::vector<int64_t>& gives,
                         const std::vector<int64_t>& gets, const Tensor& out) {
  const int64_t ranks = group.ranks(name), width = out.size(1);
  const Tensor product = group.kept(1);
  group.kept(1) = at::empty_like(product);
  if (!group.checking()) group.kept(1).index_copy_(0, ByExpert(gives, ranks), product);
  group.kept(0) = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  group.AlltoAllV(name, group.kept(1), RowsOfRanks(gives, ranks, width), group.kept(0),
                  RowsOfRanks(gets, ranks, width));
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GROUP_EXPERT_ORDER_H_
