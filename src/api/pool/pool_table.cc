// SPDX-License-Identifier: Apache-2.0
#include "src/api/pool/pool_table.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "src/base/mutex.h"

namespace millpond::pool_api {

// Leaked: clients' static destructors may still free blocks.
PoolTable& g_pools = *new PoolTable;
std::array<std::atomic<Entry*>, kDevices> g_defaults{};

namespace {

Mutex g_defaults_mutex;
std::array<void*, kDevices> g_default_handles GUARDED_BY(g_defaults_mutex){};

constexpr size_t kMessageBytes = 2048;

// Not thread_local: the pool's fast path uses static TLS, which this would have to share, and a Python process with
// torch loaded has no static TLS to spare.
pthread_key_t MessageKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    if (pthread_key_create(&made, std::free) != 0) std::abort();  // at most 1024 keys per process; we need one
    return made;
  }();
  return key;
}

}  // namespace

const char* LastError() {
  const auto* message = static_cast<const char*>(pthread_getspecific(MessageKey()));
  return message != nullptr ? message : "";
}

void PoolAbi::Keep(const char* api, aclError, const Status& failure) {
  auto* message = static_cast<char*>(pthread_getspecific(MessageKey()));
  if (message == nullptr) {
    message = static_cast<char*>(std::malloc(kMessageBytes));
    if (message == nullptr) return;
    if (pthread_setspecific(MessageKey(), message) != 0) {
      std::free(message);
      return;
    }
  }
  std::snprintf(message, kMessageBytes, "%s: %s", api, failure.message().c_str());
}

Status NotAPool(millpondPool pool) {
  return InvalidArgument(Format(
      "%p is not a pool: it was destroyed or never created; pass one from millpondPoolCreate or millpondPoolDefault",
      static_cast<void*>(pool)));
}

Status DefaultStream(pool::StreamKey* out_stream) {
  aclrtStream stream = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtCtxGetCurrentDefaultStream(&stream), "aclrtCtxGetCurrentDefaultStream")
                         .Prefixed("stream is null, which means the current context's default stream"));
  *out_stream = reinterpret_cast<pool::StreamKey>(stream);
  return Ok();
}

Status Create(int32_t device, const pool::Settings& settings, void** out_handle, Entry** out_entry) {
  uint32_t count = 0;
  MP_RETURN_IF_ERROR(FromAcl(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount"));
  MP_REQUIRE(device >= 0 && static_cast<uint32_t>(device) < count,
             "device is %d; there are %u devices, numbered from 0", device, count);
  std::unique_ptr<AclPageSource> source;
  MP_RETURN_IF_ERROR(AclPageSource::Create(device, &source));
  auto pool = std::make_unique<pool::Pool>(source.get(), settings, device);
  void* handle = nullptr;
  Entry* entry = g_pools.Create(&handle);
  MP_CHECK(entry != nullptr, kOverLimit, "there are already %u pools, the maximum; destroy some", g_pools.live());
  entry->source = std::move(source);
  entry->pool = std::move(pool);
  *out_handle = handle;
  *out_entry = entry;
  return Ok();
}

Status MakeDefault(int32_t device, Entry** out_entry) {
  MP_REQUIRE(device >= 0 && device < kDevices, "device is %d; it must be 0 to %d", device, kDevices - 1);
  MutexLock lock(g_defaults_mutex);
  std::atomic<Entry*>& place = g_defaults[static_cast<size_t>(device)];
  *out_entry = place.load(std::memory_order_acquire);
  if (*out_entry != nullptr) return Ok();
  pool::Settings settings;
  MP_RETURN_IF_ERROR(pool::Settings::FromEnvironment(&settings));
  MP_RETURN_IF_ERROR(Create(device, settings, &g_default_handles[static_cast<size_t>(device)], out_entry));
  place.store(*out_entry, std::memory_order_release);
  return Ok();
}

Status DefaultHandle(int32_t device, millpondPool* out_pool) {
  Entry* entry = nullptr;
  MP_RETURN_IF_ERROR(MakeDefault(device, &entry));
  MutexLock lock(g_defaults_mutex);
  *out_pool = static_cast<millpondPool>(g_default_handles[static_cast<size_t>(device)]);
  return Ok();
}

Status Destroy(millpondPool handle) {
  Entry* entry = g_pools.Find(handle);
  {
    MutexLock lock(g_defaults_mutex);
    if (entry == nullptr || !g_pools.Retire(handle)) return NotAPool(handle);
    for (size_t device = 0; device < g_default_handles.size(); ++device) {
      if (g_default_handles[device] != handle) continue;
      g_default_handles[device] = nullptr;
      g_defaults[device].store(nullptr, std::memory_order_release);
    }
  }
  {
    MutexLock lock(entry->mutex);
    for (Binding* binding : entry->bindings) binding->pool.store(nullptr, std::memory_order_release);
    entry->bindings.clear();
  }
  entry->pool.reset();
  entry->source.reset();
  g_pools.Recycle(handle);
  return Ok();
}

Binding* Bind(Entry* entry, pool::StreamKey stream) {
  MutexLock lock(entry->mutex);
  for (Binding* binding : entry->bindings) {
    if (binding->stream.load(std::memory_order_relaxed) == stream) return binding;
  }
  // Leaked on purpose (see Binding); reachable from here so that leak checkers do not report it.
  static Mutex& kept_mutex = *new Mutex;
  static std::vector<Binding*>& kept = *new std::vector<Binding*>;
  auto made = std::make_unique<Binding>();
  made->pool.store(entry->pool.get(), std::memory_order_release);
  made->stream.store(stream, std::memory_order_release);
  {
    MutexLock kept_lock(kept_mutex);
    kept.push_back(made.get());
  }
  entry->bindings.push_back(made.get());
  return made.release();
}

void Unbind(Entry* entry, pool::StreamKey stream) {
  MutexLock lock(entry->mutex);
  std::erase_if(entry->bindings, [stream](Binding* binding) {
    if (binding->stream.load(std::memory_order_relaxed) != stream) return false;
    binding->stream.store(0, std::memory_order_release);
    return true;
  });
}

}  // namespace millpond::pool_api
