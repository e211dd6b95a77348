// SPDX-License-Identifier: Apache-2.0
// Pinned, managed and registered host memory.
//
// Pinned and managed blocks come from one arena of ordinary memory with the same heap as device memory: whether an
// address is pinned is asked on every asynchronous copy, and in an arena that is a compare and a lock-free look-up; and
// a block that is allocated again finds its pages present. Registered ranges may be anywhere: a map behind a
// reader-writer lock, skipped while it is empty. Nothing is mlocked: our "devices" page-fault like everybody else.
#include "src/device/memory/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/quota.h"
#include "src/device/memory/range_heap.h"
#include "src/device/memory/watched_target.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr char kPinnedTag[] = "pinned";
constexpr char kManagedTag[] = "managed";

struct Arena {
  RangeHeap heap;
  uint64_t limit = 0;  // the host's memory, less a tenth
  std::atomic<uint64_t> used{0};
};
std::atomic<Arena*> g_arena{nullptr};
Mutex g_arena_mutex;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

Status OpenArena(Arena** out_arena) {
  MutexLock guard(g_arena_mutex);
  if ((*out_arena = g_arena.load(std::memory_order_relaxed)) != nullptr) return Ok();
  const auto keep = ParseBytes(GetOptions().heap_keep);
  MP_REQUIRE(keep, "MILLPOND_HEAP_KEEP is '%s'; it is a size such as 256MiB", GetOptions().heap_keep.c_str());
  const uint64_t host_total = ReadHostMemory().total;
  size_t span = std::min(std::max(RoundUp(2 * host_total, kGiB), 8 * kGiB), LargestHostArena());
  void* mapped = MAP_FAILED;
  for (;; span /= 2) {
    mapped = mmap(nullptr, span + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (mapped != MAP_FAILED) break;
    MP_CHECK(span > kGiB, kHostOutOfMemory,
             "cannot reserve %s of addresses for pinned host memory: %s; raise the limit on address space (ulimit -v)",
             FormatBytes(span).c_str(), std::strerror(errno));
  }
  const uintptr_t begin = RoundUp(reinterpret_cast<uintptr_t>(mapped), kHugePageBytes);
  madvise(reinterpret_cast<void*>(begin), span, MADV_HUGEPAGE);
  auto arena = std::make_unique<Arena>();
  arena->limit = host_total / 10 * 9;
  MP_RETURN_IF_ERROR(arena->heap.Open(begin, span, *keep, [](uintptr_t address, size_t bytes) {
    madvise(reinterpret_cast<void*>(address), bytes, MADV_DONTNEED);
  }));
  *out_arena = arena.release();  // lives for ever: clients free from static destructors
  g_arena.store(*out_arena, std::memory_order_release);
  return Ok();
}

void Emit(bool allocated, trace::MemoryKind kind, uintptr_t address, size_t bytes) {
  trace::TellMemory(allocated, kind, -1, reinterpret_cast<void*>(address), bytes, 0);
}

Status AllocateFromArena(size_t bytes, size_t alignment, const char* tag, void** out_address) {
  MP_ASSERT(bytes > 0);
  Arena* arena = g_arena.load(std::memory_order_acquire);
  if (arena == nullptr) MP_RETURN_IF_ERROR(OpenArena(&arena));
  const uint64_t used = arena->used.fetch_add(bytes, std::memory_order_relaxed);
  uint64_t number = 0;
  uintptr_t address = 0;
  if (bytes <= arena->limit && used <= arena->limit - bytes) {
    address = arena->heap.Allocate(bytes, alignment, PageClass::kNormal, tag, &number);
  }
  if (address == 0) {
    arena->used.fetch_sub(bytes, std::memory_order_relaxed);
    return {Code::kHostOutOfMemory,
            Format("%s of %s host memory asked for, %s in use, and the host has %s for it; free host memory first",
                   FormatBytes(bytes).c_str(), tag, FormatBytes(used).c_str(), FormatBytes(arena->limit).c_str())};
  }
  *out_address = reinterpret_cast<void*>(address);
  return Ok();
}

// Sinks are told before anybody can be given the place, so that they hear of lives in their order.
Status FreeToArena(void* address, PointerKind kind, trace::MemoryKind told_as) {
  Arena* arena = g_arena.load(std::memory_order_acquire);
  PointerInfo info;
  internal::LookUpHost(address, &info);
  const auto base = reinterpret_cast<uintptr_t>(address);
  const bool told = __builtin_expect(trace::Wants(trace::kMemory), false);
  HeapBlock block;
  if (info.kind != kind || !(told ? arena->heap.Retire(base, &block) : arena->heap.Free(base, &block))) {
    return internal::ExplainBadHostFree(address, kind);
  }
  arena->used.fetch_sub(block.bytes, std::memory_order_relaxed);
  if (!told) return Ok();
  Emit(false, told_as, block.base, block.bytes);
  arena->heap.Release(base);
  return Ok();
}

// --- Registered ranges ---

struct Registered {
  size_t bytes;
  bool mapped;
};
struct Registry {
  SharedMutex mutex;
  std::map<uintptr_t, Registered> ranges GUARDED_BY(mutex);  // by first address; they do not overlap
};
Registry& TheRegistry() {
  static auto& registry = *new Registry;
  return registry;
}
std::atomic<size_t> g_registered{0};

// The range that holds `address`, else end().
std::map<uintptr_t, Registered>::iterator FindRange(Registry& registry, uintptr_t address)
    REQUIRES_SHARED(registry.mutex) {
  auto after = registry.ranges.upper_bound(address);
  if (after == registry.ranges.begin()) return registry.ranges.end();
  --after;
  return address - after->first < after->second.bytes ? after : registry.ranges.end();
}

// --- Advice on managed memory ---

using ManagedPage = ManagedFacts;
struct ManagedAdviceTable {
  Mutex mutex;
  std::map<uintptr_t, std::vector<ManagedPage>> blocks GUARDED_BY(mutex);
};
ManagedAdviceTable& TheAdvice() {
  static auto& table = *new ManagedAdviceTable;
  return table;
}

// Calls visit(page) for each 2 MiB page that [address, address + bytes) touches.
template <class Visit>
Status VisitManaged(const void* address, size_t bytes, Visit visit) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("ptr", address, bytes, &info));
  MP_REQUIRE(info.kind == PointerKind::kManaged,
             "ptr %p is not managed memory; this call takes what aclrtMemAllocManaged gave out", address);
  ManagedAdviceTable& table = TheAdvice();
  MutexLock guard(table.mutex);
  const auto found = table.blocks.find(reinterpret_cast<uintptr_t>(info.base));
  MP_REQUIRE(found != table.blocks.end(), "ptr %p was freed meanwhile", address);
  const size_t offset = static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  for (size_t page = offset / kHugePageBytes; page <= (offset + bytes - 1) / kHugePageBytes; ++page) {
    visit(found->second[page]);
  }
  return Ok();
}

// Something is mapped at every page. Asks the kernel, because touching the pages would make them resident.
Status CheckMapped(uintptr_t begin, size_t bytes) {
  constexpr size_t kPagesAtOnce = 65536;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t end = begin + bytes;
  const std::unique_ptr<unsigned char[]> resident(new unsigned char[kPagesAtOnce]);
  for (uintptr_t at = begin / page * page; at < end;) {
    const size_t length = std::min<size_t>(end - at, kPagesAtOnce * page);
    MP_REQUIRE(mincore(reinterpret_cast<void*>(at), length, resident.get()) == 0 || errno != ENOMEM,
               "ptr: of %zu B from %p some are not mapped; register memory that is there", bytes,
               reinterpret_cast<void*>(begin));
    at += length;
  }
  return Ok();
}

}  // namespace

Status AllocatePinned(size_t bytes, void** out_address) {
  const size_t alignment =
      __builtin_expect(trace::Wants(trace::kTargets), false) ? RangeHeap::kHostPage : RangeHeap::kGranule;
  MP_RETURN_IF_ERROR(AllocateFromArena(bytes, alignment, kPinnedTag, out_address));
  Emit(true, trace::MemoryKind::kPinned, reinterpret_cast<uintptr_t>(*out_address), bytes);
  return Ok();
}

Status FreePinned(void* address) {
  if (__builtin_expect(trace::Wants(trace::kTargets), false)) {
    PointerInfo info;
    internal::LookUpHost(address, &info);
    const auto begin = reinterpret_cast<uintptr_t>(info.base);
    internal::OpenTargetsIn(begin, begin + info.bytes);
  }
  return FreeToArena(address, PointerKind::kPinned, trace::MemoryKind::kPinned);
}

Status AllocateManaged(size_t bytes, void** out_address) {
  MP_CHECK(bytes <= SIZE_MAX - kHugePageBytes, kHostOutOfMemory, "%zu B of managed memory asked for", bytes);
  const size_t rounded = RoundUp(bytes, kHugePageBytes);
  MP_RETURN_IF_ERROR(AllocateFromArena(rounded, kHugePageBytes, kManagedTag, out_address));
  ManagedAdviceTable& table = TheAdvice();
  {
    MutexLock guard(table.mutex);
    table.blocks[reinterpret_cast<uintptr_t>(*out_address)].resize(rounded / kHugePageBytes);
  }
  Emit(true, trace::MemoryKind::kManaged, reinterpret_cast<uintptr_t>(*out_address), rounded);
  return Ok();
}

Status FreeManaged(void* address) {
  ManagedAdviceTable& table = TheAdvice();
  decltype(table.blocks)::node_type advice;
  {
    MutexLock guard(table.mutex);
    // Before the free: afterwards the address may be somebody else's.
    advice = table.blocks.extract(reinterpret_cast<uintptr_t>(address));
  }
  return FreeToArena(address, PointerKind::kManaged, trace::MemoryKind::kManaged);
}

Status RegisterHost(void* address, size_t bytes, bool mapped) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  MP_REQUIRE(address != nullptr && bytes > 0, "host memory to register is %p, %zu B; give an address and a size",
             address, bytes);
  MP_REQUIRE(begin + bytes > begin, "%zu B from %p run past the end of the address space", bytes, address);
  MP_REQUIRE(!IsDeviceAddress(address), "%p is device memory; only host memory is registered", address);
  MP_RETURN_IF_ERROR(CheckRange("ptr", address, bytes));
  MP_RETURN_IF_ERROR(CheckMapped(begin, bytes));
  Registry& registry = TheRegistry();
  {
    UniqueLock guard(registry.mutex);
    const auto after = registry.ranges.lower_bound(begin + bytes);
    if (after != registry.ranges.begin()) {
      const auto& [at, range] = *std::prev(after);
      MP_CHECK(at + range.bytes <= begin, kHostRegistered,
               "%zu B from %p overlap the %zu B registered from %p; unregister those first", bytes, address,
               range.bytes, reinterpret_cast<void*>(at));
    }
    registry.ranges.emplace(begin, Registered{bytes, mapped});
    g_registered.fetch_add(1, std::memory_order_release);
    Emit(true, trace::MemoryKind::kRegistered, begin, bytes);
  }
  return Ok();
}

Status UnregisterHost(void* address) {
  Registry& registry = TheRegistry();
  {
    UniqueLock guard(registry.mutex);
    const auto found = FindRange(registry, reinterpret_cast<uintptr_t>(address));
    MP_CHECK(found != registry.ranges.end(), kHostNotRegistered,
             "%p is not registered; unregister the address that was registered, once", address);
    MP_CHECK(found->first == reinterpret_cast<uintptr_t>(address), kHostNotRegistered,
             "%p lies %zu B into the %zu B registered from %p; unregister that address", address,
             reinterpret_cast<uintptr_t>(address) - found->first, found->second.bytes,
             reinterpret_cast<void*>(found->first));
    // Under the lock: whoever registers the place next is told after this.
    Emit(false, trace::MemoryKind::kRegistered, found->first, found->second.bytes);
    registry.ranges.erase(found);
    g_registered.fetch_sub(1, std::memory_order_release);
  }
  return Ok();
}

Status RegisteredDeviceAddress(const void* address, void** out_address) {
  Registry& registry = TheRegistry();
  ReaderLock guard(registry.mutex);
  const auto found = FindRange(registry, reinterpret_cast<uintptr_t>(address));
  MP_CHECK(found != registry.ranges.end(), kHostNotRegistered,
           "%p is not registered host memory; register it first (aclrtHostRegister)", address);
  MP_CHECK(found->second.mapped, kHostNotRegistered,
           "%p was registered without ACL_HOST_REG_MAPPED, so devices have no address for it", address);
  *out_address = const_cast<void*>(address);
  return Ok();
}

Status AdviseManaged(const void* address, size_t bytes, ManagedAdvice advice, int32_t location) {
  return VisitManaged(address, bytes, [&](ManagedPage& page) {
    const uint64_t device = location >= 0 ? uint64_t{1} << location : 0;
    const uint64_t node = location <= kLocationNode0 ? uint64_t{1} << (kLocationNode0 - location) : 0;
    switch (advice) {
      case ManagedAdvice::kSetReadMostly:
      case ManagedAdvice::kUnsetReadMostly:
        page.read_mostly = advice == ManagedAdvice::kSetReadMostly;
        break;
      case ManagedAdvice::kSetPreferred:
        page.preferred = location;
        break;
      case ManagedAdvice::kUnsetPreferred:
        page.preferred = kLocationNone;
        break;
      case ManagedAdvice::kSetAccessedBy:
        page.accessed_by_devices |= device;
        page.accessed_by_nodes |= node;
        page.accessed_by_host |= location == kLocationHost;
        break;
      case ManagedAdvice::kUnsetAccessedBy:
        page.accessed_by_devices &= ~device;
        page.accessed_by_nodes &= ~node;
        page.accessed_by_host &= location != kLocationHost;
        break;
    }
  });
}

Status NotePrefetch(const void* address, size_t bytes, int32_t location) {
  return VisitManaged(address, bytes, [&](ManagedPage& page) { page.last_prefetch = location; });
}

Status QueryManaged(const void* address, size_t bytes, ManagedFacts* out_facts) {
  bool first = true;
  ManagedFacts& all = *out_facts;
  return VisitManaged(address, bytes, [&](const ManagedPage& page) {
    if (first) {
      all = page;
      first = false;
      return;
    }
    all.read_mostly &= page.read_mostly;
    if (all.preferred != page.preferred) all.preferred = kLocationNone;
    if (all.last_prefetch != page.last_prefetch) all.last_prefetch = kLocationNone;
    all.accessed_by_devices &= page.accessed_by_devices;
    all.accessed_by_nodes &= page.accessed_by_nodes;
    all.accessed_by_host &= page.accessed_by_host;
  });
}

namespace internal {

void LookUpHost(const void* address, PointerInfo* out_info) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (const Arena* arena = g_arena.load(std::memory_order_acquire); arena != nullptr && arena->heap.Contains(at)) {
    HeapBlock block;
    if (arena->heap.Find(at, &block)) {
      const bool managed = block.tag == kManagedTag;
      *out_info = {managed ? PointerKind::kManaged : PointerKind::kPinned, -1, reinterpret_cast<void*>(block.base),
                   block.bytes, block.number};
    } else {
      *out_info = {PointerKind::kUnallocated, -1, nullptr, 0, 0};
    }
    return;
  }
  *out_info = {};
  if (g_registered.load(std::memory_order_acquire) == 0) return;
  Registry& registry = TheRegistry();
  ReaderLock guard(registry.mutex);
  const auto found = FindRange(registry, at);
  if (found == registry.ranges.end()) return;
  *out_info = {PointerKind::kRegistered, -1, reinterpret_cast<void*>(found->first), found->second.bytes, 0};
}

Status ExplainBadHostFree(void* address, PointerKind kind) {
  MP_REQUIRE(address != nullptr, "the pointer is null; free the address an allocation gave out");
  const char* want = kind == PointerKind::kPinned ? "aclrtMallocHost" : "aclrtMemAllocManaged";
  if (IsDeviceAddress(address)) {
    return InvalidArgument(Format("%p is device memory; aclrtFree gives that back", address));
  }
  PointerInfo info;
  LookUpHost(address, &info);
  if (info.kind == PointerKind::kPinned || info.kind == PointerKind::kManaged) {
    if (info.kind != kind) {
      return InvalidArgument(Format("%p is %s memory; %s gives that back", address,
                                    info.kind == PointerKind::kPinned ? "pinned host" : "managed",
                                    info.kind == PointerKind::kPinned ? "aclrtFreeHost" : "aclrtFree"));
    }
    return InvalidArgument(Format("%p points %zu B into host block #%llu (%zu B at %p); free the block's start",
                                  address,
                                  reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.base),
                                  static_cast<unsigned long long>(info.block), info.bytes, info.base));
  }
  HeapBlock block;
  const Arena* arena = g_arena.load(std::memory_order_acquire);
  if (arena != nullptr && arena->heap.FindFreed(reinterpret_cast<uintptr_t>(address), &block)) {
    return InvalidArgument(Format("%p was already freed (host block #%llu, %zu B); free each block once", address,
                                  static_cast<unsigned long long>(block.number), block.bytes));
  }
  return InvalidArgument(Format("%p did not come from %s; free it with what allocated it", address, want));
}

}  // namespace internal

}  // namespace millpond
