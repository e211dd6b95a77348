// SPDX-License-Identifier: Apache-2.0
// Device memory that one run of a single operator needs beyond what the client gave: from the allocator registered for
// its stream, else the device's own.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_MEMORY_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_MEMORY_H_

#include <cstddef>
#include <optional>

#include "src/base/status.h"
#include "src/device/memory/allocator_registry.h"
#include "src/device/stream/stream.h"
#include "src/device/stream/stream_use.h"
#include "src/exec/program/block.h"
#include "src/trace/records.h"

namespace millpond {

// The allocator is looked up once per run, when the first block is asked for.
class SingleOpMemorySource {
 public:
  // `who` is the operator's type, for records: it outlives the source.
  SingleOpMemorySource(const char* who, Stream* stream) : who_(who), stream_(stream) {}
  // A block for one operand, whose size is as asked for. It goes back at once to a client's allocator, in the stream's
  // order to the device. That is after the launch of what uses it, and so safe. `what` begins the message of a failure:
  // "outputs[0]".
  Status Take(trace::Purpose purpose, const char* what, size_t bytes, program::Block* out_block);

 private:
  const char* const who_;
  Stream* const stream_;
  AllocatorLease lease_;
  std::optional<StreamUse> use_;  // from the first question to the allocator to the end of the run
  bool looked_up_ = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_MEMORY_H_
