// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/mem_pool.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/base/spinlock.h"
#include "src/device/device.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/device_page_source.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/pool/pool.h"

namespace millpond {

namespace internal {
std::atomic<uint32_t> g_mem_pools{0};
}

namespace {

constexpr size_t kReserveBytes = size_t{4} << 30;

class MemPool {
 public:
  Status Open(Device* device, size_t max_bytes, void* handle);
  void Close();

  Device* device() const { return device_; }
  size_t max_bytes() const { return max_bytes_; }

  Status Allocate(size_t bytes, const Stream& stream, void** out_address);
  Status Free(void* address, const Stream& stream);
  Status Trim(size_t keep_bytes) { return pool_->Trim(keep_bytes, /*wait=*/false); }
  void TrimToThreshold();
  void ForgetStream(const Stream& stream) { pool_->ForgetStream(DevicePageSource::KeyOf(stream)); }
  bool Find(const void* address, void** out_base, size_t* out_bytes) const {
    pool::Address start = 0;
    if (!pool_->Find(reinterpret_cast<pool::Address>(address), &start, out_bytes)) return false;
    *out_base = reinterpret_cast<void*>(start);
    return true;
  }
  size_t reserved_bytes() const { return pool_->GetStatistics().reserved_bytes; }

  Status Set(MemPoolAttribute attribute, uint64_t value);
  Status Get(MemPoolAttribute attribute, uint64_t* out_value);

  // How many calls are inside, so that Destroy lets them finish. See MemPoolUse.
  std::atomic<uint32_t> users{0};

 private:
  Device* device_ = nullptr;
  size_t max_bytes_ = 0;
  std::unique_ptr<DevicePageSource> source_;
  std::unique_ptr<pool::Pool> pool_;

  std::atomic<uint32_t> follow_events_{0};
  std::atomic<uint32_t> opportunistic_{0};
  std::atomic<uint64_t> threshold_{0};
  // Something was freed since idle memory was last brought under the threshold.
  std::atomic<bool> freed_{false};

  // The pool resets its highs together and clients one by one: what the other one was is kept here.
  Mutex highs_mutex_;
  uint64_t reserved_high_ GUARDED_BY(highs_mutex_) = 0;
  uint64_t used_high_ GUARDED_BY(highs_mutex_) = 0;
};

using MemPoolTable = HandleTable<MemPool, HandleKind::kMemPool>;
MemPoolTable& Table() {
  static auto& table = *new MemPoolTable;
  return table;
}

// Live pools in places that do not move, so that walking them needs no copy.
struct Roll {
  SpinLock lock;
  std::vector<void*> places GUARDED_BY(lock);

  void Add(void* handle) {
    MutexLock guard(lock);
    const auto hole = std::find(places.begin(), places.end(), nullptr);
    if (hole != places.end()) {
      *hole = handle;
    } else {
      places.push_back(handle);
    }
  }
  void Remove(void* handle) {
    MutexLock guard(lock);
    std::replace(places.begin(), places.end(), handle, static_cast<void*>(nullptr));
  }
  bool At(size_t place, void** out_handle) {
    MutexLock guard(lock);
    if (place >= places.size()) return false;
    *out_handle = places[place];
    return true;
  }
};
Roll& TheRoll() {
  static auto& roll = *new Roll;
  return roll;
}

// A call's stay in a pool. The handle is looked at again after `users` went up: Destroy retires the handle first and
// then reads `users` by a read-modify-write, so one of the two sees the other.
class MemPoolUse {
 public:
  explicit MemPoolUse(const void* handle) : pool_(Table().Find(handle)) {
    if (pool_ == nullptr) return;
    pool_->users.fetch_add(1, std::memory_order_acq_rel);
    if (Table().Find(handle) != pool_) Leave();
  }
  ~MemPoolUse() { Leave(); }
  MemPoolUse(const MemPoolUse&) = delete;
  MemPoolUse& operator=(const MemPoolUse&) = delete;

  explicit operator bool() const { return pool_ != nullptr; }
  MemPool* operator->() const { return pool_; }

 private:
  void Leave() {
    if (pool_ != nullptr) std::exchange(pool_, nullptr)->users.fetch_sub(1, std::memory_order_acq_rel);
  }
  MemPool* pool_;
};

Status NotLive(const void* handle) {
  return {Code::kInvalidHandle,
          Format("memory pool %p is not live: it was never created, or was destroyed (aclrtMemPoolDestroy, the "
                 "device's last reset, aclFinalize)",
                 handle)};
}

template <class Visit>
void ForEachPool(Visit visit) {
  void* handle = nullptr;
  for (size_t place = 0; TheRoll().At(place, &handle); ++place) {
    if (handle == nullptr) continue;
    if (const MemPoolUse use(handle); use) visit(handle, use);
  }
}

void ObserveDevices() {
  static std::once_flag once;
  std::call_once(once, [] {
    Device::AddStreamEndObserver([](Stream* stream) {
      if (internal::g_mem_pools.load(std::memory_order_relaxed) == 0) return;
      ForEachPool([stream](void*, const MemPoolUse& pool) { pool->ForgetStream(*stream); });
    });
    Device::AddDeviceObserver([](Device* device, Device::Stage stage) {
      if (stage == Device::Stage::kResetPost) DestroyMemPools(device);
    });
  });
}

// --- One pool ---

Status MemPool::Open(Device* device, size_t max_bytes, void* handle) {
  pool::Settings settings;
  MP_RETURN_IF_ERROR(pool::Settings::FromEnvironment(&settings));
  settings.limit = max_bytes;
  settings.keep = SIZE_MAX;  // what goes back, and when, is this file's business
  settings.vmm = 1;
  settings.wait = 0;  // these calls are asynchronous
  // Address space is shared by all streams of all pools; a stream that needs more reserves again.
  if (settings.reserve == 0) settings.reserve = std::min(max_bytes, kReserveBytes);
  device_ = device;
  max_bytes_ = max_bytes;
  follow_events_ = opportunistic_ = 0;
  threshold_ = 0;
  freed_ = false;
  {
    MutexLock lock(highs_mutex_);  // whoever asks with an old handle
    reserved_high_ = used_high_ = 0;
  }
  source_ = std::make_unique<DevicePageSource>(device, handle);
  source_->AllowWaiting(false);
  pool_ = std::make_unique<pool::Pool>(source_.get(), settings, device->id());
  return Ok();
}

void MemPool::Close() {
  if (source_ != nullptr) source_->AllowWaiting(true);
  pool_.reset();
  source_.reset();
}

Status MemPool::Allocate(size_t bytes, const Stream& stream, void** out_address) {
  MP_CHECK(stream.device() == device_, kRuntimeArgument,
           "the pool is on device %d and stream %d on device %d; use a stream of the pool's device", device_->id(),
           stream.id(), stream.device()->id());
  MP_CHECK(bytes <= max_bytes_, kOutOfMemory, "%s asked for from a pool of %s (maxSize); create a larger pool",
           FormatBytes(bytes).c_str(), FormatBytes(max_bytes_).c_str());
  pool::Address address = 0;
  if (Status status = pool_->Allocate(bytes, DevicePageSource::KeyOf(stream), &address); !status.ok()) {
    return std::move(status).Prefixed(
        Format("pool of %s (maxSize)%s", FormatBytes(max_bytes_).c_str(),
               source_->waiting_allowed()
                   ? ""
                   : ", which waits for no stream (ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES is 0)"));
  }
  *out_address = reinterpret_cast<void*>(address);
  return Ok();
}

Status MemPool::Free(void* address, const Stream& stream) {
  MP_CHECK(stream.device() == device_, kRuntimeArgument,
           "%p belongs to a pool on device %d and stream %d is on device %d; use a stream of the pool's device",
           address, device_->id(), stream.id(), stream.device()->id());
  Status status = pool_->Free(reinterpret_cast<pool::Address>(address), DevicePageSource::KeyOf(stream));
  if (status.ok()) {
    if (!freed_.load(std::memory_order_relaxed)) freed_.store(true, std::memory_order_relaxed);
    return status;
  }
  // A wrong address is the runtime's 107000, as in the reference.
  return status.code() == Code::kInvalidArgument || status.code() == Code::kMemoryFree
             ? Status(Code::kRuntimeArgument, status.message())
             : std::move(status);
}

// CANN's chapter on memory pools: when more than the threshold is idle, the next synchronisation tries to give the rest
// back.
void MemPool::TrimToThreshold() {
  if (!freed_.exchange(false, std::memory_order_acq_rel)) return;
  const uint64_t threshold = threshold_.load(std::memory_order_relaxed);
  const auto keep = [&](const pool::Statistics& now) {
    return now.used_bytes > SIZE_MAX - threshold ? SIZE_MAX : now.used_bytes + threshold;
  };
  pool::Statistics now = pool_->GetStatistics();
  if (now.reserved_bytes <= keep(now)) return;
  Trim(keep(now)).Ignore();  // an attempt: what cannot go now goes next time
  now = pool_->GetStatistics();
  if (now.reserved_bytes > keep(now)) freed_.store(true, std::memory_order_relaxed);
}

Status MemPool::Set(MemPoolAttribute attribute, uint64_t value) {
  switch (attribute) {
    case MemPoolAttribute::kFollowEvents:
      follow_events_.store(value != 0, std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kAllowOpportunistic:
      opportunistic_.store(value != 0, std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kAllowInternal:
      source_->AllowWaiting(value != 0);
      return Ok();
    case MemPoolAttribute::kReleaseThreshold:
      MP_CHECK(value <= max_bytes_, kRuntimeArgument, "the release threshold is %llu; at most %zu, the pool's size",
               static_cast<unsigned long long>(value), max_bytes_);
      threshold_.store(value, std::memory_order_relaxed);
      freed_.store(true, std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kReservedHigh:
    case MemPoolAttribute::kUsedHigh: {
      MP_CHECK(value == 0, kRuntimeArgument, "a high-water mark is set to %llu; it can only be reset, by 0",
               static_cast<unsigned long long>(value));
      MutexLock lock(highs_mutex_);
      const pool::Statistics now = pool_->GetStatistics();
      const bool reserved = attribute == MemPoolAttribute::kReservedHigh;
      reserved_high_ = reserved ? 0 : std::max<uint64_t>(reserved_high_, now.reserved_bytes_high);
      used_high_ = reserved ? std::max<uint64_t>(used_high_, now.used_bytes_high) : 0;
      pool_->ResetHighs();
      return Ok();
    }
    case MemPoolAttribute::kReservedCurrent:
    case MemPoolAttribute::kUsedCurrent:
      return {Code::kRuntimeArgument, Format("attribute %u tells how much memory there is and can only be read",
                                             static_cast<uint32_t>(attribute))};
  }
  return {Code::kRuntimeArgument,
          Format("attribute %u is none; 1 to 8 (aclrtMemPoolAttr)", static_cast<uint32_t>(attribute))};
}

Status MemPool::Get(MemPoolAttribute attribute, uint64_t* out_value) {
  MutexLock lock(highs_mutex_);
  switch (attribute) {
    case MemPoolAttribute::kFollowEvents:
      *out_value = follow_events_.load(std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kAllowOpportunistic:
      *out_value = opportunistic_.load(std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kAllowInternal:
      *out_value = source_->waiting_allowed() ? 1 : 0;
      return Ok();
    case MemPoolAttribute::kReleaseThreshold:
      *out_value = threshold_.load(std::memory_order_relaxed);
      return Ok();
    case MemPoolAttribute::kReservedCurrent:
      *out_value = pool_->GetStatistics().reserved_bytes;
      return Ok();
    case MemPoolAttribute::kReservedHigh:
      *out_value = std::max<uint64_t>(reserved_high_, pool_->GetStatistics().reserved_bytes_high);
      return Ok();
    case MemPoolAttribute::kUsedCurrent:
      *out_value = pool_->GetStatistics().used_bytes;
      return Ok();
    case MemPoolAttribute::kUsedHigh:
      *out_value = std::max<uint64_t>(used_high_, pool_->GetStatistics().used_bytes_high);
      return Ok();
  }
  return {Code::kRuntimeArgument,
          Format("attribute %u is none; 1 to 8 (aclrtMemPoolAttr)", static_cast<uint32_t>(attribute))};
}

}  // namespace

// --- Pools by handle ---

Status CreateMemPool(Device* device, size_t max_bytes, void** out_handle) {
  const size_t total = device->memory().total_bytes();
  const size_t whole = total / kHugePageBytes * kHugePageBytes;
  MP_CHECK(max_bytes <= total, kRuntimeArgument,
           "maxSize is %zu and device %d has %zu bytes in all; ask for at most %zu", max_bytes, device->id(), total,
           whole);
  const size_t rounded = max_bytes == 0 ? whole : (max_bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  MP_CHECK(rounded <= total, kRuntimeArgument,
           "maxSize is %zu, in whole 2 MiB pages %zu, and device %d has %zu bytes in all; ask for at most %zu",
           max_bytes, rounded, device->id(), total, whole);
  ObserveDevices();
  void* handle = nullptr;
  MemPool* pool = Table().Create(&handle);
  MP_CHECK(pool != nullptr, kOverLimit, "the process has %u memory pools already; destroy some first", Table().live());
  const auto undo = [&] {
    Table().Retire(handle);
    pool->Close();
    Table().Recycle(handle);
  };
  try {
    if (Status status = pool->Open(device, rounded, handle); !status.ok()) {
      undo();
      return status;
    }
    TheRoll().Add(handle);
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
  internal::g_mem_pools.fetch_add(1, std::memory_order_relaxed);
  *out_handle = handle;
  return Ok();
}

Status DestroyMemPool(void* handle) {
  MP_CHECK(!InTask(), kInternal, "a task may not destroy a memory pool");
  MemPool* pool = Table().Find(handle);
  if (pool == nullptr || !Table().Retire(handle)) return NotLive(handle);
  TheRoll().Remove(handle);
  while (pool->users.fetch_add(0, std::memory_order_acq_rel) != 0) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000};
    nanosleep(&pause, nullptr);
  }
  pool->Close();
  internal::g_mem_pools.fetch_sub(1, std::memory_order_relaxed);
  Table().Recycle(handle);
  return Ok();
}

void DestroyMemPools(const Device* device) {
  const auto affected = [device](const void* handle) {
    const MemPoolUse pool(handle);
    return pool && (device == nullptr || pool->device() == device);
  };
  void* handle = nullptr;
  for (size_t place = 0; TheRoll().At(place, &handle); ++place) {
    if (handle != nullptr && affected(handle)) DestroyMemPool(handle).Ignore();  // another thread may have been first
  }
}

Status AllocateFromMemPool(void* handle, size_t bytes, const Stream& stream, void** out_address) {
  const MemPoolUse pool(handle);
  if (!pool) return NotLive(handle);
  MP_CHECK(stream.capture() == nullptr, kStreamCaptured,
           "stream %d is being captured, and a graph holds no allocation; allocate before the capture begins",
           stream.id());
  Status status = pool->Allocate(bytes, stream, out_address);
  if (status.ok() || status.code() != Code::kOutOfMemory || bytes > pool->max_bytes()) return status;
  // The device, not this pool, may be what is full: of memory that lies idle in other pools.
  if (!MemPoolsGiveBack(pool->device())) return status;
  return pool->Allocate(bytes, stream, out_address);
}

Status FreeToMemPool(void* address, const Stream& stream) {
  void* handle = DevicePageSource::OwnerOf(address);
  const MemPoolUse pool(handle);
  if (!pool) {
    const PointerInfo info = LookUp(address);
    const char* advice = info.kind == PointerKind::kDevice ? "it is a block of aclrtMalloc: free it with aclrtFree"
                                                           : "pass what aclrtMemPoolMallocAsync gave, once, while its "
                                                             "pool lives";
    return {Code::kRuntimeArgument, Format("%p lies in no memory pool; %s", address, advice)};
  }
  MP_CHECK(stream.capture() == nullptr, kStreamCaptured,
           "stream %d is being captured, and a graph frees nothing; free after the capture has ended", stream.id());
  return pool->Free(address, stream);
}

Status TrimMemPool(void* handle, size_t keep_bytes) {
  const MemPoolUse pool(handle);
  if (!pool) return NotLive(handle);
  MP_CHECK(keep_bytes <= pool->max_bytes(), kRuntimeArgument, "minBytesToKeep is %zu; at most %zu, the pool's size",
           keep_bytes, pool->max_bytes());
  return pool->Trim(keep_bytes);
}

Status SetMemPoolAttribute(void* handle, MemPoolAttribute attribute, uint64_t value) {
  const MemPoolUse pool(handle);
  return pool ? pool->Set(attribute, value) : NotLive(handle);
}

Status GetMemPoolAttribute(void* handle, MemPoolAttribute attribute, uint64_t* out_value) {
  const MemPoolUse pool(handle);
  return pool ? pool->Get(attribute, out_value) : NotLive(handle);
}

Status RefuseMemPoolAddress(const char* what, const void* address) {
  if (internal::g_mem_pools.load(std::memory_order_relaxed) == 0) return Ok();
  const void* owner = DevicePageSource::OwnerOf(address);
  MP_CHECK(owner == nullptr, kRuntimeArgument,
           "%s: %p is memory of pool %p; it goes back with aclrtMemPoolFreeAsync, in the order of a stream", what,
           address, owner);
  return Ok();
}

bool FindMemPoolBlock(const void* address, void** out_base, size_t* out_bytes) {
  if (internal::g_mem_pools.load(std::memory_order_relaxed) == 0) return false;
  const MemPoolUse pool(DevicePageSource::OwnerOf(address));
  return pool && pool->Find(address, out_base, out_bytes);
}

namespace internal {

void TrimMemPoolsToThreshold() {
  ForEachPool([](void*, const MemPoolUse& pool) { pool->TrimToThreshold(); });
}

bool TrimIdleMemPools(const Device* device) {
  bool gave = false;
  ForEachPool([&](void*, const MemPoolUse& pool) {
    if (pool->device() != device) return;
    const size_t before = pool->reserved_bytes();
    pool->Trim(0).Ignore();  // what is in use stays
    gave |= pool->reserved_bytes() < before;
  });
  return gave;
}

}  // namespace internal

}  // namespace millpond
