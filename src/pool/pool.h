// SPDX-License-Identifier: Apache-2.0
// A stream-ordered caching pool. A block that is freed may be handed out again on its own stream at once, because the
// stream keeps the order; on another stream only after a recorded point has passed; to the source only when all streams
// that used it are done. docs/pool.md tells the whole story, with pictures.
//
//   Pool      finds the lane of a stream, moves pages between lanes, keeps the limit        (pool.cc)
//   Lane      one per stream: a lock, two heaps (small and large), what waits for others     (lane.h)
//   Heap      blocks in address order, free ones in bins; knows no stream and no lock         (heap.h)
//   Front     what a thread holds back of a lane, reached without a lock                      (front.h)
#ifndef MILLPOND_SRC_POOL_POOL_H_
#define MILLPOND_SRC_POOL_POOL_H_

#include <cstddef>
#include <cstdint>
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
  // Waits for every stream that used the pool's memory, then gives all of it back. Live blocks go with it.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `bytes` 0 is refused. The block is aligned to kAlignment. kOutOfMemory after trimming and waiting did not help.
  Status Allocate(size_t bytes, StreamKey stream, Address* out_address);
  // The same, at `advice` if that is free (and reusable on `stream`), else anywhere.
  Status AllocateAt(size_t bytes, StreamKey stream, Address advice, Address* out_address);
  // `stream`: where the last use was launched; the block's own stream costs nothing. Refuses by name: double free,
  // foreign address, address inside a block.
  Status Free(Address address, StreamKey stream);
  // To the stream it was allocated on.
  Status Free(Address address);
  // What of Allocate and Free can be done without a lock; false: nothing was done, call the others.
  bool AllocateFast(size_t bytes, StreamKey stream, Address* out_address);
  bool FreeFast(Address address, StreamKey stream);
  // The two for callers that know that the fast ones did nothing.
  Status AllocateSlow(size_t bytes, StreamKey stream, Address* out_address);
  Status FreeSlow(Address address, StreamKey stream);
  // Another stream uses the block too: after Free it waits for what that stream was given so far.
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

  // Recording ends with StopRecording. Streams appear in it in the order of their first allocation.
  Status StartRecording();
  Status StopRecording(Recording* out_recording);
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
  const uint64_t id_;  // the state's: read by every call
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_POOL_H_
