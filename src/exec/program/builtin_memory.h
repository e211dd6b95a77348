// SPDX-License-Identifier: Apache-2.0
// Device memory of a loaded program's own, for the streams that no client's allocator serves.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_BUILTIN_MEMORY_H_
#define MILLPOND_SRC_EXEC_PROGRAM_BUILTIN_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/block.h"

namespace millpond::program {

// One program's memory on one stream. What is given back is kept for the next request on the same stream, so that
// giving back right after a launch is safe: reuse comes later in the stream's order. All of it goes when the program
// and the last block are gone, again in the stream's order. Safe from any thread.
class BuiltinMemory : public std::enable_shared_from_this<BuiltinMemory> {
 public:
  explicit BuiltinMemory(Stream* stream);
  ~BuiltinMemory();
  BuiltinMemory(const BuiltinMemory&) = delete;
  BuiltinMemory& operator=(const BuiltinMemory&) = delete;

  // 0 bytes: an empty block.
  Status Take(size_t bytes, Block* out_block);
  bool stream_alive() const;

 private:
  class Owner;
  void Keep(void* address, size_t bytes);

  Device* const device_;
  Stream* const stream_;
  void* const handle_;  // tells whether the stream still is the one it was
  Mutex mutex_;         // guards free_
  std::multimap<size_t, void*> free_ GUARDED_BY(mutex_);
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_BUILTIN_MEMORY_H_
