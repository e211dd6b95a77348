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
  // Blocks of one stream that live at the same time must not overlap. Names the first two that do.
  Status Validate(const Recording& recording, size_t alignment) const;
  std::string ToText() const;
  static Status Parse(std::string_view text, Plan* out_plan);
};

// Tries several orders and keeps the tightest; deterministic. `budget_ms` bounds the search after the first answer.
Plan MakePlan(const Recording& recording, size_t alignment, uint32_t budget_ms = 2000);

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_PLAN_H_
