// SPDX-License-Identifier: Apache-2.0
#include "src/graph/planner/validator.h"

#include <algorithm>

namespace millpond::planner {
namespace {

Status CheckOne(const Problem& problem, const Plan& plan, size_t i) {
  const Buffer& buffer = problem.buffers[i];
  const size_t alignment = buffer.alignment != 0 ? buffer.alignment : problem.alignment;
  MP_REQUIRE(buffer.first_step <= buffer.last_step, "buffer %zu dies at step %u, before it is born at step %u", i,
             buffer.last_step, buffer.first_step);
  MP_REQUIRE(alignment != 0 && (alignment & (alignment - 1)) == 0, "buffer %zu: alignment %zu is no power of two", i,
             alignment);
  MP_REQUIRE(plan.offsets[i] % alignment == 0, "buffer %zu lies at %zu, which is no multiple of %zu", i,
             plan.offsets[i], alignment);
  MP_REQUIRE(plan.offsets[i] <= SIZE_MAX - buffer.bytes, "buffer %zu at %zu + %zu bytes overflows", i, plan.offsets[i],
             buffer.bytes);
  return Ok();
}

}  // namespace

Status ValidatePlan(const Problem& problem, const Plan& plan) {
  const std::vector<Buffer>& buffers = problem.buffers;
  MP_REQUIRE(plan.offsets.size() == buffers.size(), "the plan has %zu offsets for %zu buffers", plan.offsets.size(),
             buffers.size());
  size_t furthest = 0;
  size_t most_live = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    MP_RETURN_IF_ERROR(CheckOne(problem, plan, i));
    const Buffer& a = buffers[i];
    if (a.bytes != 0) furthest = std::max(furthest, plan.offsets[i] + a.bytes);
    size_t live = 0;  // when `a` is born: the sum can only be largest at some birth
    for (size_t j = 0; j < buffers.size(); ++j) {
      const Buffer& b = buffers[j];
      if (b.first_step <= a.first_step && a.first_step <= b.last_step) live += b.bytes;
      if (j >= i || a.bytes == 0 || b.bytes == 0) continue;
      const bool live_together = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool bytes_overlap =
          plan.offsets[i] < plan.offsets[j] + b.bytes && plan.offsets[j] < plan.offsets[i] + a.bytes;
      MP_REQUIRE(!(live_together && bytes_overlap), "buffers %zu and %zu share bytes while both are live", j, i);
    }
    most_live = std::max(most_live, live);
  }
  MP_REQUIRE(plan.peak == furthest, "the peak is said to be %zu, but the furthest buffer ends at %zu", plan.peak,
             furthest);
  MP_REQUIRE(plan.lower_bound >= most_live, "the lower bound is said to be %zu, but %zu bytes are live at once",
             plan.lower_bound, most_live);
  MP_REQUIRE(plan.lower_bound <= plan.peak, "the lower bound %zu is above the peak %zu", plan.lower_bound, plan.peak);
  return Ok();
}

}  // namespace millpond::planner
