// SPDX-License-Identifier: Apache-2.0
// A recorded run turned into offsets known in advance. Blocks share memory only within a stream, so that following a
// plan needs no event; each stream has an area of its own.
#ifndef MILLPOND_SRC_POOL_PLAN_H_
#define MILLPOND_SRC_POOL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/pool/page_source.h"

namespace millpond::pool {

// One step of a run. Streams are numbered in the order of their first allocation, so that a plan outlives handles.
struct Step {
  bool allocate;
  uint32_t id;      // of the allocation: the n-th one of the run has id n; a free names the allocation it ends
  uint32_t stream;  // of the allocation
  size_t bytes;
};

struct Recording {
  std::vector<Step> steps;
  // "op,id,size,stream" lines with a header, the format of bench/traces. Refuses a file it cannot replay, by line.
  static Status Parse(std::string_view text, Recording* out_recording);
  std::string ToText() const;
};

struct Plan {
  struct Place {
    size_t bytes;     // as requested
    uint32_t stream;  // index into areas
    size_t offset;    // in the stream's area
  };
  std::vector<Place> places;       // the n-th allocation of the run
  std::vector<size_t> area_bytes;  // per stream

  size_t total_bytes() const;
  // Every place is aligned and lies within its stream's area: all that can be known without the recording.
  Status ValidatePlaces(size_t alignment) const;
  // And no two blocks of a stream overlap while both are live in the recording; names the first two that do.
  Status Validate(const Recording& recording, size_t alignment) const;
  std::string ToText() const;
  static Status Parse(std::string_view text, Plan* out_plan);
};

// The search budget in steps of src/planner, not in seconds: the same recording gives the same plan on every machine.
// 50,000 take up to two seconds of one core, after heuristics that take up to a second and about 4 us per block.
inline constexpr uint64_t kPlanSteps = 50'000;

// Plans each stream's area with src/planner and validates the result against the recording.
// pre: alignment is a power of two; the recording was made by a pool or by Parse
Status MakePlan(const Recording& recording, size_t alignment, Plan* out_plan, uint64_t steps = kPlanSteps);

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_PLAN_H_
