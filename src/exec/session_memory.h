// SPDX-License-Identifier: Apache-2.0
// Where a session's graphs get device memory: the allocator a client registered for the stream, else the graph's own.
#ifndef MILLPOND_SRC_EXEC_SESSION_MEMORY_H_
#define MILLPOND_SRC_EXEC_SESSION_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "src/base/status.h"
#include "src/device/allocator_registry.h"
#include "src/device/device.h"
#include "src/device/stream.h"
#include "src/exec/graph_program.h"

namespace millpond {

// One graph's memory on one stream. What is given back is kept for the next request on the same stream, so that giving
// back right after a launch is safe: reuse comes later in the stream's order. All of it goes when the graph and the
// last block are gone, again in the stream's order.
class BuiltinMemory : public std::enable_shared_from_this<BuiltinMemory> {
 public:
  explicit BuiltinMemory(Stream* stream);
  ~BuiltinMemory();
  BuiltinMemory(const BuiltinMemory&) = delete;
  BuiltinMemory& operator=(const BuiltinMemory&) = delete;

  Status Take(size_t bytes, GraphBlock* out_block);
  bool stream_alive() const;

 private:
  void Keep(void* address, size_t bytes);

  Device* const device_;
  Stream* const stream_;
  void* const handle_;  // tells whether the stream still is the one it was
  std::mutex mutex_;    // guards free_
  std::multimap<size_t, void*> free_;
};

// A block of a client's allocator as the graphs hold it: given back, through the client's Free, by the last holder.
Status TakeExternal(const AllocatorLease& lease, size_t bytes, void* near, GraphBlock* out_block);

// What a run on a stream takes from. Neither is called with a lock of ours held.
class StreamMemory : public MemorySource {
 public:
  // `lease` null: built-in.
  StreamMemory(AllocatorLease lease, std::shared_ptr<BuiltinMemory> builtin)
      : lease_(std::move(lease)), builtin_(std::move(builtin)) {}

  // `near` is not passed on: only the feature memory of static graphs is asked for by advice (facts 2.3, 2.4).
  Status Take(size_t bytes, void* near, GraphBlock* out_block) override;

 private:
  const AllocatorLease lease_;
  const std::shared_ptr<BuiltinMemory> builtin_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SESSION_MEMORY_H_
