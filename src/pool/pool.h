// SPDX-License-Identifier: Apache-2.0
// A stream-ordered caching pool. A block that is freed may be handed out again on its own stream at once, because the
// stream keeps the order; on another stream only after a recorded point has passed; to the source only when all streams
// that used it are done. docs/pool.md explains the design.
//
//   Pool         finds the lane of a stream, moves pages between lanes, enforces the limit        (pool.cc)
//   Lane         one per stream: a lock, two heaps (small and large), blocks other streams use    (lane.h)
//   Heap         blocks in address order and a free list; no streams, no locks                    (heap.h)
//   ThreadCache  freed blocks of a lane that a thread reuses without a lock                       (thread_cache.h)
#ifndef MILLPOND_SRC_POOL_POOL_H_
#define MILLPOND_SRC_POOL_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "src/base/status.h"
#include "src/pool/page_source.h"
#include "src/pool/plan.h"
#include "src/pool/settings.h"
#include "src/pool/snapshot.h"

namespace millpond::pool {

class PoolState;

class Pool {
 public:
  static constexpr size_t kAlignment = 512;

  // `source` must outlive the pool. `device` only names the pool in snapshots and messages.
  Pool(PageSource* source, const Settings& settings, int32_t device);
  // Waits for every stream that used the pool's memory, then gives all of it back. Live blocks are freed with it.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `bytes` 0 is refused. The block is aligned to kAlignment. kOutOfMemory only after trimming and waiting.
  Status Allocate(size_t bytes, StreamKey stream, Address* out_address);
  // The same, at `advice` if that is free (and reusable on `stream`), else anywhere.
  Status AllocateAt(size_t bytes, StreamKey stream, Address advice, Address* out_address);
  // `stream`: where the last use was launched; the block's own stream needs no event. Double frees, foreign addresses
  // and addresses inside a block are refused with a message that says which it is.
  Status Free(Address address, StreamKey stream);
  // To the stream it was allocated on.
  Status Free(Address address);
  // The lock-free paths of Allocate and Free; false: nothing was done, call the others.
  bool AllocateFast(size_t bytes, StreamKey stream, Address* out_address);
  bool FreeFast(Address address, StreamKey stream);
  // For callers whose fast call returned false.
  Status AllocateSlow(size_t bytes, StreamKey stream, Address* out_address);
  Status FreeSlow(Address address, StreamKey stream);
  // Another stream uses the block too: after Free, the block waits for that stream's work launched by then.
  Status RecordStream(Address address, StreamKey stream);
  // Names the block's owner in snapshots; `tag` must be static or interned.
  Status Tag(Address address, const char* tag);
  // The block that holds `address`: its start and the bytes the client asked for. False: none that is live.
  bool Find(Address address, Address* out_start, size_t* out_bytes) const;

  // The stream is about to be destroyed, with its work done: the next new stream takes over its memory.
  void ForgetStream(StreamKey stream);

  // Gives free pages back until at most `keep_bytes` are reserved. Waits for streams only if `wait`.
  Status Trim(size_t keep_bytes, bool wait);
  // Changes a limit while the pool runs.
  void set_limit(size_t bytes);
  void set_keep(size_t bytes);

  Statistics GetStatistics() const;
  void ResetHighs();
  Snapshot TakeSnapshot() const;

  // Recording ends with StopRecording. Streams appear in it in the order of their first allocation. What was recorded
  // is kept until `use` succeeds: after a failure StopRecording may be called again, and no other recording started.
  using UseRecording = std::function<Status(const Recording&)>;
  Status StartRecording();
  Status StopRecording(const UseRecording& use);
  // From now on each run (BeginRun to EndRun) places its n-th allocation where the plan says, as long as sizes and
  // streams agree; the first that does not ends the run's planning, and the lanes serve the rest.
  Status Follow(const Plan& plan);
  Status BeginRun();
  Status EndRun();
  Status Unfollow();

  int32_t device() const;
  const Settings& settings() const;

 private:
  std::unique_ptr<PoolState> state_;
  const uint64_t id_;  // a copy of the state's, for the fast path
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_POOL_H_
