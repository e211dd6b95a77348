// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_TEAM_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_TEAM_H_

#include <cstdint>

#include "src/ops/call.h"

namespace millpond::kernels {

// Does a call compute with several threads? Decided by its size alone: sums are split by the number of threads, and a
// result must not depend on what else runs. Small calls gain nothing from a team.
inline bool NeedsTeam(const OpCall& call) {
  constexpr int64_t kSmallElements = 8192;
  int64_t elements = 0;
  for (const TensorView& view : call.all_views()) elements += view.elements();
  return elements > kSmallElements;
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_TEAM_H_
