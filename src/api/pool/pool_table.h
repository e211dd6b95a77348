// SPDX-License-Identifier: Apache-2.0
// The pools there are, by handle and by device, and what every entry point of the library shares.
//
// A handle is (kind, generation, index) and never a pointer, so that garbage and a destroyed pool's handle are refused
// without touching memory. Finding one is three loads and no lock: it is on the path of every allocation.
#ifndef MILLPOND_SRC_API_POOL_POOL_TABLE_H_
#define MILLPOND_SRC_API_POOL_POOL_TABLE_H_

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "include/millpond/pool.h"
#include "src/api/pool/acl_page_source.h"
#include "src/api/pool/acl_status.h"
#include "src/base/handle_table.h"
#include "src/pool/pool.h"

namespace millpond::pool_api {

// What an aclrtAllocator descriptor's object is: it outlives the descriptor, and stays readable for ever, because the
// runtime may hold on to it longer than the pool lives.
struct Binding {
  std::atomic<pool::Pool*> pool;        // null: the pool was destroyed
  std::atomic<pool::StreamKey> stream;  // 0: the stream was forgotten
};

// The library's end of a millpondPool. Entries are recycled, never freed.
struct Entry {
  std::unique_ptr<AclPageSource> source;
  std::unique_ptr<pool::Pool> pool;
  std::mutex mutex;
  std::vector<Binding*> bindings;  // guarded by mutex: one per stream
};

// A kind that no table of the runtime uses: a stream given as a pool is refused, and the other way round.
using PoolTable = HandleTable<Entry, static_cast<HandleKind>(0x70)>;
extern PoolTable& g_pools;

// By device id. Null: not made yet.
inline constexpr int32_t kDevices = 256;
extern std::array<std::atomic<Entry*>, kDevices> g_defaults;

// The default pool of `device`; makes it at the first use.
Status MakeDefault(int32_t device, Entry** out_entry);
inline Entry* FindDefault(int device) {
  return device >= 0 && device < kDevices ? g_defaults[static_cast<size_t>(device)].load(std::memory_order_acquire)
                                          : nullptr;
}
// The handle of the default pool that MakeDefault made.
Status DefaultHandle(int32_t device, millpondPool* out_pool);

Status Create(int32_t device, const pool::Settings& settings, void** out_handle, Entry** out_entry);
Status Destroy(millpondPool pool);

// Names what is wrong with a handle.
Status NotAPool(millpondPool pool);

// The default stream of the current context, for callers that pass null.
Status DefaultStream(pool::StreamKey* out_stream);

// The binding of `stream`, made if there is none.
Binding* Bind(Entry* entry, pool::StreamKey stream);
void Unbind(Entry* entry, pool::StreamKey stream);

// Keeps the message for millpondPoolLastError and returns the number.
aclError Fail(const char* api, const Status& status);
aclError FailWithCurrentException(const char* api);
const char* LastError();

// Around every entry point: nothing thrown crosses the ABI.
template <class Body>
inline aclError Guard(const char* api, Body&& body) {
  try {
    const Status status = body();
    if (__builtin_expect(status.ok(), true)) return ACL_SUCCESS;
    return Fail(api, status);
  } catch (...) {
    return FailWithCurrentException(api);
  }
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
