// SPDX-License-Identifier: Apache-2.0
// An allocation trace, parsed before anything is timed. The file has lines "op,id,size,stream": a allocates, f frees.
#ifndef BENCH_POOL_TRACE_FILE_H_
#define BENCH_POOL_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::bench {

struct TraceStep {
  std::uint32_t slot;  // where the block's address is kept
  std::uint32_t lane;  // the trace's stream, numbered from 0
  std::size_t bytes;   // 0: free
};

struct Trace {
  std::vector<TraceStep> steps;
  std::size_t slots = 0;
  std::size_t lanes = 0;
  std::size_t peak_live_bytes = 0;  // as requested, the least that any allocator must hold
  std::size_t peak_step = 0;        // the step that reaches it
};

// Ends the program with the line and the reason when the file cannot be replayed. Blocks that the trace leaves behind
// are freed at its end, so that it can be replayed again; allocations of 0 bytes are left out, since a pool never sees
// them. Both are reported on stderr.
Trace ReadTrace(const std::string& path);

}  // namespace millpond::bench

#endif  // BENCH_POOL_TRACE_FILE_H_
