// SPDX-License-Identifier: Apache-2.0
// All pools, by handle and by device, and what the library's entry points share.
//
// A handle is (kind, generation, index) and never a pointer, so that garbage and a destroyed pool's handle are refused
// without touching memory. Finding one is three loads and no lock: it is on the path of every allocation.
#ifndef MILLPOND_SRC_API_POOL_POOL_TABLE_H_
#define MILLPOND_SRC_API_POOL_POOL_TABLE_H_

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "include/millpond/pool.h"
#include "src/api/common/guard.h"
#include "src/api/pool/acl_page_source.h"
#include "src/api/pool/acl_status.h"
#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/pool/pool.h"

namespace millpond::pool_api {

// The object of an aclrtAllocator descriptor. It outlives the descriptor and is never freed, because the runtime may
// keep it longer than the pool exists.
struct Binding {
  std::atomic<pool::Pool*> pool;        // null: the pool was destroyed
  std::atomic<pool::StreamKey> stream;  // 0: the stream was forgotten
};

// What a millpondPool handle refers to. Entries are recycled, never freed.
struct Entry {
  std::unique_ptr<AclPageSource> source;
  std::unique_ptr<pool::Pool> pool;
  Mutex mutex;
  std::vector<Binding*> bindings GUARDED_BY(mutex);  // one per stream
};

// A kind that none of the runtime's tables use: a stream passed as a pool is refused, and vice versa.
using PoolTable = HandleTable<Entry, static_cast<HandleKind>(0x70)>;
extern PoolTable& g_pools;

// By device id. Null: not created yet.
inline constexpr int32_t kDevices = 256;
extern std::array<std::atomic<Entry*>, kDevices> g_defaults;

// The default pool of `device`, created at its first use.
Status MakeDefault(int32_t device, Entry** out_entry);
inline Entry* FindDefault(int device) {
  return device >= 0 && device < kDevices ? g_defaults[static_cast<size_t>(device)].load(std::memory_order_acquire)
                                          : nullptr;
}
// The handle of the default pool.
Status DefaultHandle(int32_t device, millpondPool* out_pool);

Status Create(int32_t device, const pool::Settings& settings, void** out_handle, Entry** out_entry);
Status Destroy(millpondPool handle);

// The error for a handle that is not a pool.
Status NotAPool(millpondPool pool);

// The default stream of the current context, for callers that pass null.
Status DefaultStream(pool::StreamKey* out_stream);

// The binding of `stream`, created if there is none.
Binding* Bind(Entry* entry, pool::StreamKey stream);
void Unbind(Entry* entry, pool::StreamKey stream);

// What millpondPoolLastError tells; empty when nothing failed on this thread.
const char* LastError();

// The library runs on a real NPU too, so it neither asks the runtime about forks nor emits to its trace: the aclrt
// calls it makes do both.
struct PoolAbi : WithoutRuntime {
  using Result = aclError;
  static constexpr aclError kSuccess = ACL_SUCCESS;
  static constexpr aclError kNoMemory = ACL_ERROR_BAD_ALLOC;
  static aclError Number(const Status& failure) { return AclErrorFrom(failure.code()); }
  // For millpondPoolLastError.
  static void Keep(const char* api, aclError number, const Status& failure);
};

template <class Body>
inline aclError Guard(const char* api, Body&& body) {
  return millpond::Guard(PoolAbi(), api, body);
}

// As Guard, for bodies that need the pool.
template <class Body>
inline aclError WithPool(const char* api, millpondPool handle, Body&& body) {
  return Guard(api, [&]() -> Status {
    Entry* entry = g_pools.Find(handle);
    if (__builtin_expect(entry == nullptr, false)) return NotAPool(handle);
    return body(*entry);
  });
}

inline Status StreamOf(aclrtStream stream, pool::StreamKey* out_stream) {
  *out_stream = reinterpret_cast<pool::StreamKey>(stream);
  if (__builtin_expect(stream != nullptr, true)) return Ok();
  return DefaultStream(out_stream);
}

}  // namespace millpond::pool_api

#endif  // MILLPOND_SRC_API_POOL_POOL_TABLE_H_
