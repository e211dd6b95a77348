// SPDX-License-Identifier: Apache-2.0
// The judge of plans. It shares no code with the planner, on purpose.
#include "src/pool/plan.h"

#include <map>

namespace millpond::pool {
namespace {

using Live = std::map<size_t, uint32_t>;  // of one stream: offset -> allocation

Status Clash(const Plan& plan, uint32_t first, uint32_t second, size_t step) {
  const Plan::Place& a = plan.places[first];
  const Plan::Place& b = plan.places[second];
  return InvalidArgument(Format(
      "the plan is wrong: allocations %u (%zu bytes at offset %zu) and %u (%zu bytes at offset %zu) of stream %u "
      "share bytes while both are live, at step %zu",
      first, a.bytes, a.offset, second, b.bytes, b.offset, b.stream, step));
}

Status CheckPlace(const Plan& plan, const Step& step, size_t alignment) {
  MP_REQUIRE(step.id < plan.places.size(), "the plan places %zu allocations, the recording has a %u-th",
             plan.places.size(), step.id);
  const Plan::Place& place = plan.places[step.id];
  MP_REQUIRE(place.bytes == step.bytes && place.stream == step.stream,
             "the plan is of another run: allocation %u is %zu bytes on stream %u there, %zu bytes on stream %u here",
             step.id, place.bytes, place.stream, step.bytes, step.stream);
  MP_REQUIRE(place.stream < plan.area_bytes.size(), "allocation %u is on stream %u, but the plan has %zu areas",
             step.id, place.stream, plan.area_bytes.size());
  MP_REQUIRE(alignment <= 1 || place.offset % alignment == 0,
             "the plan is wrong: allocation %u is at offset %zu, which is no multiple of %zu", step.id, place.offset,
             alignment);
  const size_t area = plan.area_bytes[place.stream];
  MP_REQUIRE(place.bytes <= area && place.offset <= area - place.bytes,
             "the plan is wrong: allocation %u (%zu bytes at offset %zu) ends past the %zu bytes of stream %u", step.id,
             place.bytes, place.offset, area, place.stream);
  return Ok();
}

}  // namespace

size_t Plan::total_bytes() const {
  size_t total = 0;
  for (const size_t bytes : area_bytes) total += bytes;
  return total;
}

Status Plan::Validate(const Recording& recording, size_t alignment) const {
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
    MP_RETURN_IF_ERROR(CheckPlace(*this, step, alignment));
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

}  // namespace millpond::pool
