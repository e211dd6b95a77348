// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/place.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/exec/program/moves.h"
#include "src/planner/validator.h"

namespace millpond::program {
namespace {

constexpr size_t kSearchWork = 1'000'000;  // steps times buffers
constexpr size_t kMaxValidated = 256;      // buffers: judging a plan takes time with their square

// What is there when a loop begins and used within it lives until the loop ends. Inner loops end first, and what they
// lengthen lies within the outer ones. Of each loop only the buffers that end within it are looked at.
void LengthenOverLoops(const Plan& plan, std::vector<Range>* ranges) {
  std::vector<std::vector<BufferId>> ending;  // by step; made for the first loop
  for (uint32_t end = 0; end < plan.steps.size(); ++end) {
    for (const uint32_t begin : plan.steps[end].targets) {
      if (begin > end) continue;
      if (ending.empty()) {
        ending.resize(plan.steps.size());
        for (BufferId i = 0; i < ranges->size(); ++i) {
          if ((*ranges)[i].first != UINT32_MAX) ending[(*ranges)[i].last].push_back(i);
        }
      }
      for (uint32_t at = begin; at < end; ++at) {
        std::erase_if(ending[at], [&](BufferId buffer) {
          Range& range = (*ranges)[buffer];
          if (range.first >= begin) return false;
          range.last = end;
          ending[end].push_back(buffer);
          return true;
        });
      }
    }
  }
}

// From the first step that names a buffer to the last. What a loop finds when it begins must live until it ends.
std::vector<Range> LiveRanges(const Plan& plan) {
  std::vector<Range> ranges(plan.buffers.size());
  for (uint32_t at = 0; at < plan.steps.size(); ++at) {
    plan.steps[at].ForEachBuffer([&](BufferId buffer) {
      ranges[buffer].first = std::min(ranges[buffer].first, at);
      ranges[buffer].last = std::max(ranges[buffer].last, at);
    });
  }
  LengthenOverLoops(plan, &ranges);
  return ranges;
}

// Kernels that are one pass over their elements by ATen: each result takes the place of the element it was made from.
// Kernels that read an operand again after they have written the result must never be named here.
bool WorksInPlace(const char* name) {
  static constexpr std::string_view kNames[] = {
      "aclnnAdd",     "aclnnSub",   "aclnnMul",  "aclnnDiv",   "aclnnMaximum",    "aclnnMinimum",  "aclnnRelu",
      "aclnnSigmoid", "aclnnTanh",  "aclnnSilu", "aclnnExp",   "aclnnErf",        "aclnnLog",      "aclnnNeg",
      "aclnnAbs",     "aclnnFloor", "aclnnSqrt", "aclnnRsqrt", "aclnnReciprocal", "OwnElementwise"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Kernels that read one operand, element by element, only as they write the result in its place: what a product or a
// convolution is added to. -1: none. Their other operands are read again and again.
int AddendOf(const Step& step) {
  constexpr size_t kAddend = 3;
  const std::string_view name = step.name;
  if (name != "OwnFusedConv" && name != "OwnFusedMatMul") return -1;
  return step.call->has(kAddend) ? static_cast<int>(step.call->arg(kAddend).first) : -1;
}

// May the result take the operand's place, for all that the kernel does?
bool MayTake(const Step& step, const Patch& operand) {
  if (WorksInPlace(step.name)) return true;
  if (AddendOf(step) != static_cast<int>(operand.view)) return false;
  return std::count_if(step.patches.begin(), step.patches.end(),
                       [&](const Patch& patch) { return patch.buffer == operand.buffer; }) == 1;
}

bool SameElements(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.offset == b.offset &&
         std::equal(a.dims, a.dims + a.rank, b.dims) && std::equal(a.strides, a.strides + a.rank, b.strides);
}

// Offers a result the place of an operand that nothing reads later. `number` is each buffer's in the problem.
void OfferPlaces(const Plan& plan, const std::vector<Range>& ranges, const std::vector<uint32_t>& number,
                 planner::Problem* problem) {
  for (uint32_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[at];
    if (step.kind != Step::Kind::kKernel || step.name == nullptr) continue;
    if (!WorksInPlace(step.name) && AddendOf(step) < 0) continue;
    const auto views = std::as_const(*step.call).all_views();
    // Of planned buffers a step's results are the new ones; a constant may be new too, but is not planned.
    const auto is_result = [&](const Patch& patch) {
      return number[patch.buffer] != planner::kNowhere && ranges[patch.buffer].first == at;
    };
    const auto result = std::find_if(step.patches.begin(), step.patches.end(), is_result);
    if (result == step.patches.end() || problem->buffers[number[result->buffer]].inside != planner::kNowhere) continue;
    for (const Patch& operand : step.patches) {
      if (!MayTake(step, operand) || is_result(operand) || ranges[operand.buffer].last != at ||
          number[operand.buffer] == planner::kNowhere ||
          plan.buffers[operand.buffer].bytes != plan.buffers[result->buffer].bytes ||
          !SameElements(views[operand.view], views[result->view])) {
        continue;
      }
      planner::Buffer& buffer = problem->buffers[number[result->buffer]];
      buffer.inside = number[operand.buffer];
      buffer.alignment = problem->buffers[number[operand.buffer]].alignment;
      break;
    }
  }
}

}  // namespace

Status PlanFeature(Reuse reuse, Plan* plan, FeaturePlan* out) {
  out->ranges = LiveRanges(*plan);
  out->problem.alignment = kFeatureAlignment;
  std::vector<size_t> planned;
  out->number.assign(plan->buffers.size(), planner::kNowhere);
  const auto last = static_cast<uint32_t>(plan->steps.size());
  for (size_t i = 0; i < plan->buffers.size(); ++i) {
    const Buffer& buffer = plan->buffers[i];
    const Range& range = out->ranges[i];
    if (buffer.home != Home::kFeature || buffer.bytes == 0 || range.first == UINT32_MAX) continue;
    const bool ends = reuse != Reuse::kNone;
    out->problem.buffers.push_back(
        {.bytes = buffer.bytes, .first_step = ends ? range.first : 0, .last_step = ends ? range.last : last});
    out->number[i] = static_cast<uint32_t>(planned.size());
    planned.push_back(i);
  }
  if (reuse == Reuse::kSharing) {
    OfferMoves(*plan, out->number, &out->problem);  // first: they save work too
    OfferPlaces(*plan, out->ranges, out->number, &out->problem);
  }
  // A step of the search takes the longer the more buffers there are: compiling takes a fraction of a second in any
  // case.
  const planner::Budget budget{.steps = kSearchWork / std::max<size_t>(50, planned.size())};
  out->made = planner::PlanMemory(out->problem, budget);
  if (planned.size() <= kMaxValidated) {
    const Status validated = planner::ValidatePlan(out->problem, out->made);
    MP_CHECK(validated.ok(), kInternal, "the memory plan is wrong: %s", validated.message().c_str());
  }
  for (size_t i = 0; i < planned.size(); ++i) plan->buffers[planned[i]].offset = out->made.offsets[i];
  DropMoves(plan);
  out->bytes = (out->made.peak + kFeatureAlignment - 1) / kFeatureAlignment * kFeatureAlignment;
  return Ok();
}

}  // namespace millpond::program
