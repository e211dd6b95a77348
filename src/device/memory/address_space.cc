// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/base/options.h"

// Present in the process when it runs under ThreadSanitizer, whichever of its parts were built with it.
extern "C" [[gnu::weak]] void __tsan_init();  // NOLINT: its name

namespace millpond {

namespace internal {
AddressMap g_address_map;
}  // namespace internal

namespace {

constexpr size_t kGiB = size_t{1} << 30;

AddressLayout g_layout;
std::atomic<MappedRanges*> g_mapped_ranges{nullptr};

// The virtual part, in the order of addresses. Reservations are few: a map and a lock do.
struct VirtualPart {
  using Runs = std::map<uintptr_t, size_t>;
  struct Reservation {
    size_t bytes;
    int32_t device;
    Runs::node_type when_free;  // its entry among the free ones, made beforehand: to release must not need memory
  };
  Mutex mutex;
  Runs free GUARDED_BY(mutex);
  std::map<uintptr_t, Reservation> reserved GUARDED_BY(mutex);
};
VirtualPart& TheVirtualPart() {
  static auto& part = *new VirtualPart;  // leaked: clients release from static destructors
  return part;
}

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// What the tools a process may run under leave us. gcc's TSan keeps about 1.5 TiB for all mappings; valgrind's own
// allocator gives up beyond some tens of GiB.
size_t LargestReservation() {
  const char* preload = std::getenv("LD_PRELOAD");
  if (preload != nullptr && std::strstr(preload, "vgpreload") != nullptr) return 24 * kGiB;
  if (&__tsan_init != nullptr) return 512 * kGiB;
  return size_t{32} << 40;
}

void KeepOut(void* address, size_t bytes) {
  madvise(address, bytes, MADV_DONTDUMP);
  madvise(address, bytes, MADV_DONTFORK);
}

// Whether the kernel would ever put huge pages under a memfd that asks for them; asked once, as the answer is a setting
// of the machine. Advice that cannot help is a system call per mapping all the same.
bool HugePagesHelp() {
  static const bool help = [] {
    std::unique_ptr<FILE, int (*)(FILE*)> file(fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re"),
                                               &fclose);
    char line[128] = "";
    if (file == nullptr || fgets(line, sizeof(line), file.get()) == nullptr) return true;  // unknown: ask for them
    return std::strstr(line, "[never]") == nullptr && std::strstr(line, "[deny]") == nullptr;
  }();
  return help;
}

// One mapping for D and A together; `bytes` each, 1 GiB apart so that no address just past D is in A.
bool Reserve(size_t bytes, bool shared, uintptr_t* out_begin, ptrdiff_t* out_delta) {
  const size_t delta = shared ? 0 : bytes + kGiB;
  const size_t want = delta + bytes;
  void* mapped = mmap(nullptr, want + kGiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  const auto at = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t begin = RoundUp(at, kGiB);
  if (begin != at) munmap(mapped, begin - at);
  if (const size_t tail = at + want + kGiB - (begin + want); tail != 0) {
    munmap(reinterpret_cast<void*>(begin + want), tail);
  }
  KeepOut(reinterpret_cast<void*>(begin), want);
  *out_begin = begin;
  *out_delta = static_cast<ptrdiff_t>(delta);
  return true;
}

}  // namespace

size_t LargestHostArena() { return std::clamp<size_t>(LargestReservation() / 6, kGiB, size_t{1} << 40); }

const AddressLayout& GetAddressLayout() { return g_layout; }

Status ReserveAddressSpace(int32_t device_count, uint64_t memory_per_device) {
  // There already: a first attempt to open the runtime ran out of host memory later on, and settings do not change.
  if (internal::g_address_map.size != 0 && g_layout.device_count == device_count) return Ok();
  MP_ASSERT(internal::g_address_map.size == 0);
  MP_REQUIRE(device_count >= 0 && device_count <= kMaxDevices, "%d devices asked for; at most %d are possible",
             device_count, kMaxDevices);
  if (device_count == 0) return Ok();  // all of them hidden by ASCEND_RT_VISIBLE_DEVICES
  const std::string& mode = GetOptions().device_memory;
  MP_REQUIRE(mode == "hidden" || mode == "shared",
             "MILLPOND_DEVICE_MEMORY is '%s'; it is 'hidden' (the host faults on device memory) or 'shared'",
             mode.c_str());
  const bool shared = mode == "shared";
  const auto devices = static_cast<size_t>(device_count);
  const size_t largest = LargestReservation() / (shared ? 1 : 2) - 2 * kGiB;
  // Twice the memory, so that fragments never cost a block that the quota has room for; a power of two, so that the
  // device of an address is a shift away.
  size_t span = std::bit_ceil(std::clamp<size_t>(2 * memory_per_device, kHugePageBytes, size_t{1} << 40));
  while (span * devices > largest * 2 / 3 && span > kHugePageBytes) span /= 2;
  size_t virtual_bytes = std::max<size_t>(2048 * kGiB, RoundUp(8 * devices * memory_per_device, kGiB));
  virtual_bytes = std::min(virtual_bytes, (largest - span * devices) / kGiB * kGiB);
  internal::AddressMap map;
  // A limit on address space (ulimit -v) may still leave room for less.
  while (!Reserve(span * devices + virtual_bytes, shared, &map.begin, &map.delta)) {
    const int error = errno;
    if (virtual_bytes >= 2 * kGiB) {
      virtual_bytes = virtual_bytes / 2 / kGiB * kGiB;
    } else if (span / 2 >= memory_per_device) {
      span /= 2;
    } else {
      return {Code::kHostOutOfMemory,
              Format("cannot reserve %s of addresses for %d devices of %s: %s; raise the limit on address space "
                     "(ulimit -v) or ask for less with MILLPOND_MEMORY",
                     FormatBytes((shared ? 1 : 2) * span * devices).c_str(), device_count,
                     FormatBytes(memory_per_device).c_str(), std::strerror(error))};
    }
  }
  const size_t heaps = span * devices;
  g_layout = {device_count, span, std::countr_zero(span), map.begin + heaps, virtual_bytes, shared};
  {
    auto& part = TheVirtualPart();
    MutexLock guard(part.mutex);
    part.free = {{g_layout.virtual_begin, virtual_bytes}};
  }
  map.size = heaps + virtual_bytes;
  internal::g_address_map = map;
  return Ok();
}

Status ReserveVirtual(int32_t device, size_t bytes, const void* hint, void** out_address) {
  MP_REQUIRE(bytes > 0, "a reservation of 0 B; ask for at least one byte");
  const AddressLayout& layout = g_layout;
  const size_t size = bytes > layout.virtual_bytes ? SIZE_MAX : RoundUp(bytes, kHugePageBytes);
  VirtualPart& part = TheVirtualPart();
  MutexLock guard(part.mutex);
  auto fit = part.free.end();
  uintptr_t at = 0;
  if (const auto wish = reinterpret_cast<uintptr_t>(hint); wish != 0 && wish % kHugePageBytes == 0) {
    auto after = part.free.upper_bound(wish);
    if (after != part.free.begin()) {
      const auto run = std::prev(after);
      if (wish - run->first < run->second && run->second - (wish - run->first) >= size) {
        fit = run;
        at = wish;
      }
    }
  }
  if (fit == part.free.end()) {
    fit = std::find_if(part.free.begin(), part.free.end(), [&](const auto& run) { return run.second >= size; });
    if (fit == part.free.end()) {
      return OutOfMemory(
          Format("no %s of device addresses are free in one piece (%s in all, %zu reservations); release "
                 "reservations that are no longer used",
                 FormatBytes(bytes).c_str(), FormatBytes(layout.virtual_bytes).c_str(), part.reserved.size()));
    }
    at = fit->first;
  }
  const auto [run_at, run_bytes] = *fit;
  // What may fail for want of memory comes first.
  VirtualPart::Runs made{{at, size}};
  const auto reserved =
      part.reserved.emplace(at, VirtualPart::Reservation{size, device, made.extract(made.begin())}).first;
  if (const size_t left = run_bytes - (at - run_at) - size; left != 0) {
    try {
      part.free.emplace(at + size, left);
    } catch (...) {
      part.reserved.erase(reserved);
      throw;
    }
  }
  if (at != run_at) {
    fit->second = at - run_at;
  } else {
    part.free.erase(fit);
  }
  *out_address = reinterpret_cast<void*>(at);
  return Ok();
}

void ReleaseVirtual(void* address, size_t bytes) noexcept {
  VirtualPart& part = TheVirtualPart();
  MutexLock guard(part.mutex);
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto found = part.reserved.find(at);
  MP_ASSERT(found != part.reserved.end() && found->second.bytes == RoundUp(bytes, kHugePageBytes));
  const size_t size = found->second.bytes;
  const auto place = part.free.insert(std::move(found->second.when_free)).position;
  part.reserved.erase(found);
  const auto after = std::next(place);
  if (after != part.free.end() && after->first == at + size) {
    place->second += after->second;
    part.free.erase(after);
  }
  if (place == part.free.begin()) return;
  const auto before = std::prev(place);
  if (before->first + before->second == at) {
    before->second += place->second;
    part.free.erase(place);
  }
}

namespace internal {
int32_t DeviceOfReservation(uintptr_t address) {
  VirtualPart& part = TheVirtualPart();
  MutexLock guard(part.mutex);
  const auto after = part.reserved.upper_bound(address);
  if (after == part.reserved.begin()) return -1;
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found->second.device : -1;
}
void AdviseAlias(void* alias, size_t bytes) {
  KeepOut(alias, bytes);
  if (HugePagesHelp()) madvise(alias, bytes, MADV_HUGEPAGE);
}
MappedRanges* GetMappedRanges() { return g_mapped_ranges.load(std::memory_order_acquire); }
}  // namespace internal

Status MapAlias(void* address, size_t bytes, int file, uint64_t offset) {
  void* alias = Reachable(address);
  if (mmap(alias, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return OutOfMemory(
        Format("cannot map %s behind device address %p: %s; the kernel's limit on mappings is "
               "vm.max_map_count: map larger pieces, or raise it",
               FormatBytes(bytes).c_str(), address, std::strerror(errno)));
  }
  internal::AdviseAlias(alias, bytes);
  return Ok();
}

Status UnmapAlias(void* address, size_t bytes) {
  void* alias = Reachable(address);
  if (mmap(alias, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
    return OutOfMemory(Format("cannot unmap %s behind device address %p: %s", FormatBytes(bytes).c_str(), address,
                              std::strerror(errno)));
  }
  KeepOut(alias, bytes);
  return Ok();
}

void SetMappedRanges(MappedRanges* ranges) { g_mapped_ranges.store(ranges, std::memory_order_release); }

}  // namespace millpond
