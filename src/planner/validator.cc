// SPDX-License-Identifier: Apache-2.0
#include "src/planner/validator.h"

#include <algorithm>

namespace millpond::planner {
namespace {

Status CheckOne(const Problem& problem, const Plan& plan, size_t i) {
  const Buffer& buffer = problem.buffers[i];
  const size_t alignment = buffer.alignment != 0 ? buffer.alignment : problem.alignment;
  MP_REQUIRE(buffer.first_step <= buffer.last_step, "buffer %zu ends at step %u, before it begins at step %u", i,
             buffer.last_step, buffer.first_step);
  MP_REQUIRE(alignment != 0 && (alignment & (alignment - 1)) == 0, "buffer %zu: alignment %zu is not a power of two", i,
             alignment);
  MP_REQUIRE(buffer.must_lie_inside || plan.offsets[i] % alignment == 0,
             "buffer %zu lies at %zu, which is not a multiple of %zu", i, plan.offsets[i], alignment);
  MP_REQUIRE(plan.offsets[i] <= SIZE_MAX - buffer.bytes, "buffer %zu at %zu + %zu bytes overflows", i, plan.offsets[i],
             buffer.bytes);
  return Ok();
}

// Only what was offered lies inside another buffer, at the offered offset, and what must does.
Status CheckInside(const Problem& problem, const Plan& plan, size_t i) {
  const Buffer& buffer = problem.buffers[i];
  if (buffer.inside == kNowhere) {
    MP_REQUIRE(!plan.lies_inside[i], "the plan puts buffer %zu inside another one, which was not offered", i);
    return Ok();
  }
  MP_REQUIRE(buffer.inside < problem.buffers.size(), "buffer %zu lies inside buffer %u; there are %zu", i,
             buffer.inside, problem.buffers.size());
  const Buffer& host = problem.buffers[buffer.inside];
  MP_REQUIRE(buffer.inside_at <= host.bytes && buffer.bytes <= host.bytes - buffer.inside_at,
             "buffer %zu, %zu bytes at %zu, ends behind the %zu bytes of buffer %u", i, buffer.bytes, buffer.inside_at,
             host.bytes, buffer.inside);
  MP_REQUIRE(!buffer.must_lie_inside || plan.lies_inside[i], "buffer %zu must lie inside buffer %u and does not", i,
             buffer.inside);
  if (!plan.lies_inside[i] || buffer.bytes == 0) return Ok();
  MP_REQUIRE(plan.offsets[i] == plan.offsets[buffer.inside] + buffer.inside_at,
             "buffer %zu lies at %zu; inside buffer %u it would be at %zu + %zu", i, plan.offsets[i], buffer.inside,
             plan.offsets[buffer.inside], buffer.inside_at);
  return Ok();
}

// The outermost buffer of those that `i` lies inside of; the number of buffers if they form a cycle.
size_t Outermost(const Problem& problem, const Plan& plan, size_t i) {
  for (size_t hops = 0; hops < problem.buffers.size(); ++hops) {
    if (!plan.lies_inside[i]) return i;
    i = problem.buffers[i].inside;
  }
  return problem.buffers.size();
}

// Each buffer; the outermost ones with the combined lifetime of all that lies inside.
Status Lives(const Problem& problem, const Plan& plan, std::vector<Buffer>* out) {
  *out = problem.buffers;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const size_t root = Outermost(problem, plan, i);
    MP_REQUIRE(root < problem.buffers.size(), "buffer %zu lies inside itself through a chain of others", i);
    (*out)[root].first_step = std::min((*out)[root].first_step, problem.buffers[i].first_step);
    (*out)[root].last_step = std::max((*out)[root].last_step, problem.buffers[i].last_step);
  }
  return Ok();
}

bool IsInside(const Problem& problem, const Plan& plan, size_t inner, size_t outer) {
  for (size_t i = inner; plan.lies_inside[i];) {
    i = problem.buffers[i].inside;
    if (i == outer) return true;
  }
  return false;
}

// Live at `step` and certain to need bytes of its own then: while its host is live, an offer may save them.
bool Counts(const Problem& problem, const Buffer& buffer, uint32_t step) {
  if (buffer.first_step > step || step > buffer.last_step || buffer.must_lie_inside) return false;
  if (buffer.inside == kNowhere) return true;
  const Buffer& host = problem.buffers[buffer.inside];
  return host.first_step > step || step > host.last_step;
}

}  // namespace

Status ValidatePlan(const Problem& problem, const Plan& plan) {
  const std::vector<Buffer>& buffers = problem.buffers;
  MP_REQUIRE(plan.offsets.size() == buffers.size(), "the plan has %zu offsets for %zu buffers", plan.offsets.size(),
             buffers.size());
  MP_REQUIRE(plan.lies_inside.size() == buffers.size(), "the plan has %zu choices for %zu buffers",
             plan.lies_inside.size(), buffers.size());
  size_t furthest = 0;
  size_t max_live = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    MP_RETURN_IF_ERROR(CheckOne(problem, plan, i));
    MP_RETURN_IF_ERROR(CheckInside(problem, plan, i));
  }
  std::vector<Buffer> lives;
  MP_RETURN_IF_ERROR(Lives(problem, plan, &lives));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = lives[i];
    if (a.bytes != 0) furthest = std::max(furthest, plan.offsets[i] + a.bytes);
    size_t live = 0;  // when the buffer begins: the sum peaks where some buffer begins
    for (size_t j = 0; j < buffers.size(); ++j) {
      const Buffer& b = lives[j];
      if (Counts(problem, buffers[j], buffers[i].first_step)) live += b.bytes;
      if (j >= i || a.bytes == 0 || b.bytes == 0) continue;
      if (IsInside(problem, plan, i, j) || IsInside(problem, plan, j, i)) continue;
      const bool live_together = a.first_step <= b.last_step && b.first_step <= a.last_step;
      const bool bytes_overlap =
          plan.offsets[i] < plan.offsets[j] + b.bytes && plan.offsets[j] < plan.offsets[i] + a.bytes;
      MP_REQUIRE(!(live_together && bytes_overlap), "buffers %zu and %zu share bytes while both are live", j, i);
    }
    max_live = std::max(max_live, live);
  }
  MP_REQUIRE(plan.peak == furthest, "the plan's peak is %zu, but its highest buffer ends at %zu", plan.peak, furthest);
  MP_REQUIRE(plan.lower_bound >= max_live, "the plan's lower bound is %zu, but %zu bytes are live at once",
             plan.lower_bound, max_live);
  MP_REQUIRE(plan.lower_bound <= plan.peak, "the lower bound %zu is above the peak %zu", plan.lower_bound, plan.peak);
  return Ok();
}

}  // namespace millpond::planner
