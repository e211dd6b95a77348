// SPDX-License-Identifier: Apache-2.0
// Plans from recordings: src/planner places the blocks of each stream, and every plan is validated against the
// recording before anyone sees it. The validation replays the recording rather than reusing the planner's problem, so
// it also catches lifetimes that were translated wrongly; a sweep in n log n, it runs in release builds, too.
#include "src/pool/plan.h"

#include <algorithm>
#include <map>

#include "src/planner/planner.h"

namespace millpond::pool {
namespace {

// The blocks of one stream as the planner wants them, and which allocation each is.
struct StreamProblem {
  planner::Problem problem;
  std::vector<uint32_t> ids;
};

// The pool keeps the whole of a block's last unit for it.
size_t Whole(size_t bytes, size_t alignment) {
  return (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
}

// A block that is never freed lives to the end.
std::vector<StreamProblem> SplitByStream(const Recording& recording, size_t alignment) {
  struct Position {
    uint32_t stream;
    size_t index;
  };
  std::vector<StreamProblem> streams;
  std::vector<Position> positions;  // of each allocation
  const auto steps = static_cast<uint32_t>(recording.steps.size());
  for (uint32_t at = 0; at < steps; ++at) {
    const Step& step = recording.steps[at];
    if (!step.allocate) {
      const Position& position = positions[step.id];
      streams[position.stream].problem.buffers[position.index].last_step = at - 1;
      continue;
    }
    if (step.stream >= streams.size()) streams.resize(step.stream + size_t{1});
    StreamProblem& stream = streams[step.stream];
    const size_t bytes = Whole(step.bytes, alignment);
    positions.push_back({step.stream, stream.ids.size()});
    stream.ids.push_back(step.id);
    stream.problem.buffers.push_back({.bytes = bytes, .first_step = at, .last_step = steps});
  }
  for (StreamProblem& stream : streams) stream.problem.alignment = alignment;
  return streams;
}

using Live = std::map<size_t, uint32_t>;  // of one stream: offset -> allocation

Status Clash(const Plan& plan, uint32_t first, uint32_t second, size_t step) {
  const Plan::Place& a = plan.places[first];
  const Plan::Place& b = plan.places[second];
  return InvalidArgument(Format(
      "the plan is wrong: allocations %u (%zu bytes at offset %zu) and %u (%zu bytes at offset %zu) of stream %u "
      "share bytes while both are live, at step %zu",
      first, a.bytes, a.offset, second, b.bytes, b.offset, b.stream, step));
}

Status CheckSameRun(const Plan& plan, const Step& step) {
  const Plan::Place& place = plan.places[step.id];
  MP_REQUIRE(place.bytes == step.bytes && place.stream == step.stream,
             "the plan is for another run: allocation %u is %zu bytes on stream %u there, %zu bytes on stream %u here",
             step.id, place.bytes, place.stream, step.bytes, step.stream);
  return Ok();
}

}  // namespace

size_t Plan::total_bytes() const {
  size_t total = 0;
  for (const size_t bytes : area_bytes) total += bytes;
  return total;
}

Status Plan::ValidatePlaces(size_t alignment) const {
  for (size_t id = 0; id < places.size(); ++id) {
    const auto& [bytes, stream, offset] = places[id];
    MP_REQUIRE(stream < area_bytes.size(), "allocation %zu is on stream %u, but the plan has %zu areas", id, stream,
               area_bytes.size());
    MP_REQUIRE(offset % alignment == 0,
               "the plan is wrong: allocation %zu is at offset %zu, which is not a multiple of %zu", id, offset,
               alignment);
    const size_t area = area_bytes[stream];
    MP_REQUIRE(bytes <= area && Whole(bytes, alignment) <= area && offset <= area - Whole(bytes, alignment),
               "the plan is wrong: allocation %zu (%zu bytes at offset %zu) ends past the %zu bytes of stream %u", id,
               bytes, offset, area, stream);
  }
  return Ok();
}

Status Plan::Validate(const Recording& recording, size_t alignment) const {
  MP_RETURN_IF_ERROR(ValidatePlaces(alignment));
  std::vector<Live> live(area_bytes.size());
  std::vector<bool> is_live;
  for (size_t at = 0; at < recording.steps.size(); ++at) {
    const Step& step = recording.steps[at];
    if (!step.allocate) {
      MP_REQUIRE(step.id < is_live.size() && is_live[step.id], "step %zu frees allocation %u, which is not live", at,
                 step.id);
      is_live[step.id] = false;
      live[places[step.id].stream].erase(places[step.id].offset);
      continue;
    }
    MP_REQUIRE(step.id == is_live.size(), "step %zu is allocation %zu of the recording but has the id %u", at,
               is_live.size(), step.id);
    MP_REQUIRE(step.id < places.size(), "the plan places %zu allocations, but the recording has more", places.size());
    MP_RETURN_IF_ERROR(CheckSameRun(*this, step));
    is_live.push_back(true);
    // Blocks that do not overlap are in the same order by offset and by end: only the two neighbours matter.
    Live& blocks = live[step.stream];
    const size_t offset = places[step.id].offset;
    const auto next = blocks.lower_bound(offset);
    if (next != blocks.end() && next->first - offset < step.bytes) return Clash(*this, next->second, step.id, at);
    if (next != blocks.begin()) {
      const auto [before_offset, before] = *std::prev(next);
      if (offset - before_offset < places[before].bytes) return Clash(*this, before, step.id, at);
    }
    blocks.emplace(offset, step.id);
  }
  MP_REQUIRE(is_live.size() == places.size(), "the plan places %zu allocations, the recording has %zu", places.size(),
             is_live.size());
  return Ok();
}

Status MakePlan(const Recording& recording, size_t alignment, Plan* out_plan, uint64_t steps) {
  constexpr uint64_t kMinStepsPerStream = 1000;
  const std::vector<StreamProblem> streams = SplitByStream(recording, alignment);
  Plan plan;
  for (const Step& step : recording.steps) {
    if (step.allocate) plan.places.push_back({.bytes = step.bytes, .stream = step.stream, .offset = 0});
  }
  for (const StreamProblem& stream : streams) {
    const double share = static_cast<double>(stream.ids.size()) / static_cast<double>(plan.places.size());
    planner::Budget budget;
    budget.steps = static_cast<uint64_t>(static_cast<double>(steps) * share);
    budget.steps = std::max(budget.steps, std::min(steps, kMinStepsPerStream));
    const planner::Plan placed = planner::PlanMemory(stream.problem, budget);
    plan.area_bytes.push_back(placed.peak);
    for (size_t i = 0; i < stream.ids.size(); ++i) plan.places[stream.ids[i]].offset = placed.offsets[i];
  }
  const Status valid = plan.Validate(recording, alignment);
  MP_CHECK(valid.ok(), kInternal, "%s; please report this, with the recording", valid.message().c_str());
  *out_plan = std::move(plan);
  return Ok();
}

}  // namespace millpond::pool
