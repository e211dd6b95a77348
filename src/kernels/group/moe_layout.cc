// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/group/moe_layout.h"

#include <algorithm>

#include "src/kernels/quant/quant_gemm.h"

namespace millpond::kernels {

ExpertLayout ExpertLayoutOf(const Group& group, string_view name, int64_t ep_ranks, int64_t ep_rank, int64_t tp_ranks,
                            const ExpertCounts& experts) {
  group.CheckRanks(name, ep_ranks);
  ExpertLayout layout{group.ranks(name), group.rank(name), 0, experts};
  const int64_t shared_ranks = experts.shared_ranks, shared = experts.shared;
  TORCH_CHECK(tp_ranks <= 1, "tpWorldSize is ", tp_ranks,
              "; a second group (TP) is not supported, as on the device: pass 0 or 1");
  TORCH_CHECK(ep_rank == layout.rank, "epRankId is ", ep_rank, "; this is rank ", layout.rank, " of the group");
  TORCH_CHECK(shared_ranks >= 0 && shared_ranks < layout.ranks, "sharedExpertRankNum is ", shared_ranks, " of ",
              layout.ranks, " ranks");
  TORCH_CHECK(shared_ranks == 0 || (shared > 0 && shared_ranks % shared == 0), "sharedExpertRankNum is ", shared_ranks,
              " and sharedExpertNum ", shared, "; each shared expert has the same number of ranks");
  TORCH_CHECK(experts.routed > 0 && experts.routed % (layout.ranks - shared_ranks) == 0, "moeExpertNum is ",
              experts.routed, ", which is not shared evenly by ", layout.ranks - shared_ranks, " ranks");
  TORCH_CHECK(experts.zero >= 0 && experts.copying >= 0 && experts.constant >= 0, "zeroExpertNum is ", experts.zero,
              ", copyExpertNum ", experts.copying, " and constExpertNum ", experts.constant);
  if (shared_ranks == 0) layout.experts.shared = 0;
  layout.local = experts.routed / (layout.ranks - shared_ranks);
  return layout;
}

void CheckChoice(const Tensor& expert_ids, const OptTensor& mask) {
  TORCH_CHECK(expert_ids.dim() == 2, "expertIds has ", expert_ids.dim(), " dimensions; it needs 2");
  if (!Given(mask).has_value()) return;
  TORCH_CHECK(mask->numel() == expert_ids.size(0) || mask->numel() == expert_ids.numel(), "xActiveMask has shape ",
              mask->sizes(), "; one entry for each token, or for each of its experts, is needed");
}

Copies CopiesOf(const ExpertLayout& layout, const Tensor& expert_ids, const OptTensor& mask) {
  CheckChoice(expert_ids, mask);
  const int64_t tokens = expert_ids.size(0), k = expert_ids.size(1);
  const Tensor ids = expert_ids.to(at::kInt).contiguous();
  const int32_t* id = ids.const_data_ptr<int32_t>();
  Tensor active;
  if (Given(mask).has_value()) {
    active = mask->to(at::kBool).reshape({tokens, -1}).expand({tokens, k}).contiguous();
  }
  struct Copy {
    int64_t place, token, slot, scale;
  };
  std::vector<Copy> copies;
  Copies made;
  made.counts.assign(layout.ranks * layout.local, 0);
  made.numbers.assign(tokens * k, 0);
  for (int64_t token = 0; token < tokens; ++token) {
    bool taken = false;
    for (int64_t slot = token * k; slot < (token + 1) * k; ++slot) {
      if (active.defined() && !active.const_data_ptr<bool>()[slot]) continue;
      TORCH_CHECK(id[slot] >= 0 && id[slot] < layout.numbers(), "expertIds has ", id[slot], "; there are ",
                  layout.numbers(), " experts");
      taken = true;
      if (id[slot] >= layout.first_copying()) made.staying.push_back(slot);
      if (id[slot] >= layout.experts.routed) continue;
      const int64_t rank = layout.experts.shared_ranks + id[slot] / layout.local;
      copies.push_back({rank * layout.local + id[slot] % layout.local, token, slot, layout.experts.shared + id[slot]});
    }
    // Each shared expert has so many ranks, and each of these serves a block of the group's.
    for (int64_t expert = 0; taken && expert < layout.experts.shared; ++expert) {
      const int64_t each = layout.experts.shared_ranks / layout.experts.shared;
      const int64_t rank = expert * each + layout.rank * each / layout.ranks;
      copies.push_back({rank * layout.local, token, -1, expert});
    }
  }
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.place < b.place; });
  for (const Copy& copy : copies) {
    made.tokens.push_back(copy.token);
    made.slots.push_back(copy.slot);
    made.scales.push_back(copy.scale);
    if (copy.slot >= 0) made.numbers[copy.slot] = made.counts[copy.place];
    ++made.counts[copy.place];
  }
  return made;
}

}  // namespace millpond::kernels
