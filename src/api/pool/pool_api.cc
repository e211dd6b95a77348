// SPDX-License-Identifier: Apache-2.0
// Pools and their blocks.
#include <string>
#include <unordered_set>

#include "include/millpond/check.h"
#include "src/api/pool/pool_table.h"
#include "src/base/mutex.h"

using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::pool_api;  // NOLINT

namespace {

using pool::Address;
using pool::StreamKey;

Address AddressOf(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// Tags are few and never freed, so a snapshot can show them at any time.
const char* Intern(const char* tag) {
  static Mutex& mutex = *new Mutex;
  static std::unordered_set<std::string>& tags = *new std::unordered_set<std::string>;
  MutexLock lock(mutex);
  return tags.emplace(tag).first->c_str();
}

Status ReadSettings(const millpondPoolSetting* given, size_t count, pool::Settings* out_settings) {
  MP_REQUIRE(given != nullptr || count == 0, "settings is null but count is %zu", count);
  MP_RETURN_IF_ERROR(pool::Settings::FromEnvironment(out_settings));
  for (size_t i = 0; i < count; ++i) {
    MP_REQUIRE(given[i].name != nullptr, "settings[%zu].name is null", i);
    MP_REQUIRE(given[i].value != nullptr, "settings[%zu] ('%s') has a null value", i, given[i].name);
    MP_RETURN_IF_ERROR(out_settings->Set(given[i].name, given[i].value));
  }
  return out_settings->Validate();
}

}  // namespace

aclError millpondPoolDefault(int32_t device, millpondPool* pool) {
  return Guard("millpondPoolDefault", [&]() -> Status {
    MP_REQUIRE(pool != nullptr, "pool is null; pass the address of a millpondPool");
    *pool = nullptr;
    return DefaultHandle(device, pool);
  });
}

aclError millpondPoolCreate(int32_t device, const millpondPoolSetting* settings, size_t count, millpondPool* pool) {
  return Guard("millpondPoolCreate", [&]() -> Status {
    MP_REQUIRE(pool != nullptr, "pool is null; pass the address of a millpondPool");
    *pool = nullptr;
    pool::Settings read;
    MP_RETURN_IF_ERROR(ReadSettings(settings, count, &read));
    void* handle = nullptr;
    Entry* entry = nullptr;
    MP_RETURN_IF_ERROR(Create(device, read, &handle, &entry));
    *pool = static_cast<millpondPool>(handle);
    return Ok();
  });
}

aclError millpondPoolDestroy(millpondPool pool) {
  return Guard("millpondPoolDestroy", [&] { return Destroy(pool); });
}

const char* millpondPoolLastError(void) { return LastError(); }

namespace {

// A separate function, so that the fast path sets up no stack frame for what it rarely needs.
[[gnu::noinline]] aclError MallocSlow(millpondPool pool, size_t size, aclrtStream stream, void** ptr) {
  return WithPool("millpondPoolMalloc", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(ptr != nullptr, "ptr is null; pass the address of a pointer");
    *ptr = nullptr;
    Address address = 0;
    if (stream != nullptr) {
      MP_RETURN_IF_ERROR(entry.pool->AllocateSlow(size, AddressOf(stream), &address));
    } else {
      StreamKey key = 0;
      MP_RETURN_IF_ERROR(DefaultStream(&key));
      MP_RETURN_IF_ERROR(entry.pool->Allocate(size, key, &address));
    }
    *ptr = reinterpret_cast<void*>(address);
    return Ok();
  });
}

[[gnu::noinline]] aclError FreeSlow(millpondPool pool, void* ptr, aclrtStream stream) {
  return WithPool("millpondPoolFree", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(ptr != nullptr, "ptr is null; pass an address from millpondPoolMalloc");
    if (stream != nullptr) return entry.pool->FreeSlow(AddressOf(ptr), AddressOf(stream));
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(DefaultStream(&key));
    return entry.pool->Free(AddressOf(ptr), key);
  });
}

}  // namespace

[[gnu::flatten]] aclError millpondPoolMalloc(millpondPool pool, size_t size, aclrtStream stream, void** ptr) {
  Entry* known = g_pools.Find(pool);
  Address fast = 0;
  if (known != nullptr && ptr != nullptr && known->pool->AllocateFast(size, AddressOf(stream), &fast)) {
    *ptr = reinterpret_cast<void*>(fast);
    millpond_check_block_begin(*ptr, size, nullptr, stream);
    return ACL_SUCCESS;
  }
  const aclError code = MallocSlow(pool, size, stream, ptr);
  if (code == ACL_SUCCESS) millpond_check_block_begin(*ptr, size, nullptr, stream);
  return code;
}

aclError millpondPoolMallocAt(millpondPool pool, size_t size, aclrtStream stream, void* advice, void** ptr) {
  return WithPool("millpondPoolMallocAt", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(ptr != nullptr, "ptr is null; pass the address of a pointer");
    *ptr = nullptr;
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    Address address = 0;
    MP_RETURN_IF_ERROR(entry.pool->AllocateAt(size, key, AddressOf(advice), &address));
    *ptr = reinterpret_cast<void*>(address);
    millpond_check_block_begin(*ptr, size, nullptr, stream);
    return Ok();
  });
}

[[gnu::flatten]] aclError millpondPoolFree(millpondPool pool, void* ptr, aclrtStream stream) {
  millpond_check_block_end(ptr);  // before it: another thread may have it a moment later
  Entry* known = g_pools.Find(pool);
  if (known != nullptr && known->pool->FreeFast(AddressOf(ptr), AddressOf(stream))) return ACL_SUCCESS;
  return FreeSlow(pool, ptr, stream);
}

aclError millpondPoolRecordStream(millpondPool pool, void* ptr, aclrtStream stream) {
  return WithPool("millpondPoolRecordStream", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(ptr != nullptr, "ptr is null; pass a live block of the pool");
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    return entry.pool->RecordStream(AddressOf(ptr), key);
  });
}

aclError millpondPoolTag(millpondPool pool, void* ptr, const char* tag) {
  return WithPool("millpondPoolTag", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(ptr != nullptr, "ptr is null; pass a live block of the pool");
    MP_REQUIRE(tag != nullptr, "tag is null; an empty string removes a tag");
    return entry.pool->Tag(AddressOf(ptr), *tag == '\0' ? nullptr : Intern(tag));
  });
}

aclError millpondPoolForgetStream(millpondPool pool, aclrtStream stream) {
  return WithPool("millpondPoolForgetStream", pool, [&](Entry& entry) -> Status {
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    Unbind(&entry, key);
    entry.pool->ForgetStream(key);
    return Ok();
  });
}

aclError millpondPoolTrim(millpondPool pool, size_t keep, int wait) {
  return WithPool("millpondPoolTrim", pool, [&](Entry& entry) { return entry.pool->Trim(keep, wait != 0); });
}
