// SPDX-License-Identifier: Apache-2.0
// The state of a pool at one point in time, as plain data, and its two file formats.
#ifndef MILLPOND_SRC_POOL_SNAPSHOT_H_
#define MILLPOND_SRC_POOL_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/pool/page_source.h"

namespace millpond::pool {

struct Statistics {
  size_t live_bytes = 0;       // as requested by the client
  size_t live_bytes_high = 0;  // high-water mark
  size_t used_bytes = 0;       // live, rounded to the pool's blocks
  size_t used_bytes_high = 0;
  size_t reserved_bytes = 0;  // taken from the source
  size_t reserved_bytes_high = 0;
  size_t pending_bytes = 0;   // freed, but another stream is not done with it
  size_t stranded_bytes = 0;  // free, but not a whole page: can only be reused where it is
  size_t largest_free_bytes = 0;
  uint64_t live_blocks = 0;
  uint64_t allocations = 0;
  uint64_t frees = 0;
  uint64_t pages_taken = 0;  // from the source
  uint64_t pages_given = 0;  // back to it
  uint64_t pages_moved = 0;  // mapped elsewhere, so that free pages were not stranded
  uint64_t waits = 0;        // for a stream, before pages could move
  uint64_t retries = 0;      // requests that succeeded after the source had refused once
  uint64_t failures = 0;
  uint64_t planned = 0;   // allocations that a plan placed
  uint64_t diverged = 0;  // allocations that did not follow the plan
};

enum class BlockState : uint8_t { kLive, kFree, kPending, kCached, kHole };
const char* BlockStateName(BlockState state);

struct BlockInfo {
  Address address = 0;
  size_t bytes = 0;      // as the pool rounds it
  size_t requested = 0;  // by the client; 0 unless live
  BlockState state = BlockState::kFree;
  StreamKey stream = 0;
  uint64_t age_ns = 0;  // since it came into this state
  const char* tag = nullptr;
};

// A run of addresses with its blocks, in order and, but for red zones, without gaps. `mapped` counts the bytes with
// memory behind them.
struct SpanInfo {
  Address address = 0;
  size_t bytes = 0;
  size_t mapped = 0;
  StreamKey stream = 0;
  bool small = false;
  bool pages = false;  // grows page by page
  std::vector<BlockInfo> blocks;
};

struct HistoryEntry {
  enum class Action : uint8_t { kAllocate, kFreeRequested, kFreeCompleted, kPageTaken, kPageGiven, kOutOfMemory };
  Action action;
  Address address;  // for kOutOfMemory: how many bytes were left
  size_t bytes;
  StreamKey stream;
  uint64_t time_us;
};

struct Snapshot {
  int32_t device = 0;
  Statistics statistics;
  std::vector<SpanInfo> spans;
  std::vector<HistoryEntry> history;  // oldest first
};

std::string ToJson(const Snapshot& snapshot);
// The format of torch.cuda.memory._snapshot() and memory_viz: a pickle, protocol 4.
std::string ToMemoryVizPickle(const Snapshot& snapshot);

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_SNAPSHOT_H_
