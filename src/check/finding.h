// SPDX-License-Identifier: Apache-2.0
// One broken rule, as the checker found it. Stacks are numbers here; the reporter makes them readable.
#ifndef MILLPOND_SRC_CHECK_FINDING_H_
#define MILLPOND_SRC_CHECK_FINDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/check/rules.h"

namespace millpond::check {

// A call or task that takes part. The first one of a finding is the one that was wrong.
struct Part {
  const char* role;       // later, earlier, allocated, freed, registered, created, destroyed
  std::string label;      // "the free", as a heading of its stack
  std::string operation;  // "aclrtFree"
  uint32_t stack = 0;
  uint32_t thread = 0;
};

// What it happened to. Fields that say nothing are left out of the report.
struct Thing {
  const char* kind;  // block, stream, task, allocator, event, ...
  std::string name;
  uintptr_t address = 0;
  size_t bytes = 0;
  int64_t offset = -1;  // where in it the operations meet
  size_t range_bytes = 0;
  int32_t stream = -1;
  uint64_t count = 0;
};

struct LaneTask {
  uint64_t count;  // in its stream; 0 for what the host does
  std::string name;
  const char* mark;    // "", earlier, later
  uint64_t order = 0;  // of calls, over all lanes
  // The task that it waits for, if it waits for one that is known.
  int32_t after_stream = -1;
  uint64_t after_count = 0;
};
struct Lane {
  int32_t stream;  // -1: the host
  std::string label;
  std::vector<LaneTask> tasks;
};

struct NearBlock {
  uintptr_t begin;
  size_t bytes;
  bool live;
  uint64_t number;
  uint32_t stack;
  bool mark;
};

struct Finding {
  Rule rule;
  std::string message;
  std::vector<Part> parts;
  std::vector<Thing> things;
  std::vector<Lane> lanes;
  std::vector<NearBlock> memory;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_FINDING_H_
