// SPDX-License-Identifier: Apache-2.0
//
// A fast external allocator for Ascend programs (libmillpond_pool.so). It uses the public acl API alone, so the same
// file works with Millpond and with a real NPU. Stream-ordered: a freed block is reused on its own stream at once, on
// another only when the recorded work has passed, and nothing goes back to the system before its streams are done.
//
// Three shapes, one pool:
//   aclrtAllocator   millpondPoolCreateDesc gives a descriptor for aclrtAllocatorRegister
//   ge::Allocator    millpond/ge_allocator.h
//   PyTorch          NPUPluggableAllocator("libmillpond_pool.so", "millpond_malloc", "millpond_free")
//
// Every function returns an aclError; millpondPoolLastError() says in words what the calling thread's last failed call
// was asked, what it found and what to do. docs/pool.md is the guide.
#ifndef MILLPOND_INCLUDE_MILLPOND_POOL_H_
#define MILLPOND_INCLUDE_MILLPOND_POOL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
#include "acl/acl_rt_allocator.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MILLPOND_POOL_API
#define MILLPOND_POOL_API __attribute__((visibility("default")))
#endif

typedef struct millpondPoolHandle* millpondPool;

// Settings. The environment (MILLPOND_POOL_...) is read first, then `settings` by name, e.g. {"limit", "8GiB"}.

typedef struct millpondPoolSetting {
  const char* name;
  const char* value;
} millpondPoolSetting;

// Pools. A device has one default pool, made at its first use; more can be created. Destroy waits for the streams.

MILLPOND_POOL_API aclError millpondPoolDefault(int32_t device, millpondPool* pool);
MILLPOND_POOL_API aclError millpondPoolCreate(int32_t device, const millpondPoolSetting* settings, size_t count,
                                              millpondPool* pool);
MILLPOND_POOL_API aclError millpondPoolDestroy(millpondPool pool);
MILLPOND_POOL_API const char* millpondPoolLastError(void);

// Blocks. A null stream is the current context's default stream. Blocks are aligned to 512 bytes.

MILLPOND_POOL_API aclError millpondPoolMalloc(millpondPool pool, size_t size, aclrtStream stream, void** ptr);
// At `advice` if that is free, else anywhere.
MILLPOND_POOL_API aclError millpondPoolMallocAt(millpondPool pool, size_t size, aclrtStream stream, void* advice,
                                                void** ptr);
// `stream`: where the last use was launched.
MILLPOND_POOL_API aclError millpondPoolFree(millpondPool pool, void* ptr, aclrtStream stream);
// Another stream uses the block as well: a later free waits for what that stream was given until the free.
MILLPOND_POOL_API aclError millpondPoolRecordStream(millpondPool pool, void* ptr, aclrtStream stream);
// Names the block in snapshots; the string is copied.
MILLPOND_POOL_API aclError millpondPoolTag(millpondPool pool, void* ptr, const char* tag);
// Call before aclrtDestroyStream: the stream's memory is adopted by the next new stream.
MILLPOND_POOL_API aclError millpondPoolForgetStream(millpondPool pool, aclrtStream stream);
// Releases memory until at most `keep` bytes are reserved; with `wait` != 0 it waits for streams to finish.
MILLPOND_POOL_API aclError millpondPoolTrim(millpondPool pool, size_t keep, int wait);

// Statistics and snapshots.

typedef struct millpondPoolStatistics {
  size_t size;  // sizeof(millpondPoolStatistics), set by the caller: later versions append
  size_t liveBytes, liveBytesHigh;
  size_t usedBytes, usedBytesHigh;
  size_t reservedBytes, reservedBytesHigh;
  size_t pendingBytes, strandedBytes, largestFreeBytes;
  uint64_t liveBlocks, allocations, frees;
  uint64_t pagesTaken, pagesGiven, pagesMoved, waits, retries, failures, planned, diverged;
} millpondPoolStatistics;

MILLPOND_POOL_API aclError millpondPoolGetStatistics(millpondPool pool, millpondPoolStatistics* statistics);
MILLPOND_POOL_API aclError millpondPoolResetHighs(millpondPool pool);
// `format` is "json" or "memory_viz" (a pickle that PyTorch's memory_viz page and script open).
MILLPOND_POOL_API aclError millpondPoolSaveSnapshot(millpondPool pool, const char* path, const char* format);

// Plans. Record a run, make a plan of it, follow it: begin each run; offsets are then known in advance.

MILLPOND_POOL_API aclError millpondPoolStartRecording(millpondPool pool);
// Writes the recording as op,id,size,stream lines; `plan_path` may be null, or a plan is made and written there. If a
// file cannot be written, the recording has ended but is kept: call again with another path (/dev/null drops it).
MILLPOND_POOL_API aclError millpondPoolStopRecording(millpondPool pool, const char* recording_path,
                                                     const char* plan_path);
MILLPOND_POOL_API aclError millpondPoolMakePlan(const char* recording_path, const char* plan_path);
MILLPOND_POOL_API aclError millpondPoolFollow(millpondPool pool, const char* plan_path);
MILLPOND_POOL_API aclError millpondPoolBeginRun(millpondPool pool);
MILLPOND_POOL_API aclError millpondPoolEndRun(millpondPool pool);
MILLPOND_POOL_API aclError millpondPoolUnfollow(millpondPool pool);

// aclrtAllocator: a ready descriptor of `pool` for one stream. Register it, then destroy the descriptor with
// aclrtAllocatorDestroyDesc. The binding to the stream lives until millpondPoolForgetStream or millpondPoolDestroy.

MILLPOND_POOL_API aclError millpondPoolCreateDesc(millpondPool pool, aclrtStream stream, aclrtAllocatorDesc* desc);

// PyTorch: the functions of NPUPluggableAllocator, on the default pool of `device`. The first two are given by name,
// the others by address to the method of the same name on allocator(): set_init_fn(millpond_init) and so on. Failures
// are also printed to stderr, because torch_npu checks no result. docs/compat.md has what torch_npu passes and expects.

MILLPOND_POOL_API void* millpond_malloc(ssize_t size, int device, aclrtStream stream);
MILLPOND_POOL_API void millpond_free(void* ptr, ssize_t size, int device, aclrtStream stream);
MILLPOND_POOL_API void millpond_init(int device_count);
// Releases all free memory: torch.npu.empty_cache().
MILLPOND_POOL_API void millpond_reset(bool check_error);
MILLPOND_POOL_API void millpond_reset_peak_status(int8_t device);
MILLPOND_POOL_API void millpond_memory_fraction(double fraction, int device);
MILLPOND_POOL_API void* millpond_base_alloc(void* ptr, size_t* size);
// `stream` may be an acl stream or, as torch_npu passes it, the address of a c10_npu::NPUStream on the caller's stack.
MILLPOND_POOL_API void millpond_record_stream(void* ptr, aclrtStream stream);
// Does nothing, safely: a recorded stream that is done delays nothing.
MILLPOND_POOL_API void millpond_erase_stream(void* ptr, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_MILLPOND_POOL_H_
