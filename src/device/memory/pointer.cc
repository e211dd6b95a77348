// SPDX-License-Identifier: Apache-2.0
// What an address is. Asked on every copy, so: one compare, then a lock-free look-up for everything we allocated.
#include <algorithm>
#include <cinttypes>

#include "src/device/memory/address_space.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/host_memory.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace {

// Nothing is ever mapped below; a pointer there is a null pointer plus an offset.
constexpr uintptr_t kLowestAddress = 4096;
// User addresses end at or below this on x86-64 and aarch64, unless a program asks for more by name.
constexpr uintptr_t kAddressEnd = uintptr_t{1} << 48;

const char* KindName(PointerKind kind) {
  switch (kind) {
    case PointerKind::kPageable:
      return "host memory";
    case PointerKind::kDevice:
      return "device memory";
    case PointerKind::kMapped:
      return "mapped device memory";
    case PointerKind::kReserved:
      return "a reservation with nothing mapped";
    case PointerKind::kUnallocated:
      return "unallocated memory";
    case PointerKind::kPinned:
      return "pinned host memory";
    case PointerKind::kRegistered:
      return "registered host memory";
    case PointerKind::kManaged:
      return "managed memory";
  }
  return "unknown memory";
}

Status NotLive(const char* what, const void* address, size_t bytes, const PointerInfo& info) {
  if (info.kind == PointerKind::kReserved) {
    return InvalidArgument(
        Format("%s: %zu B from %p: device memory is reserved there but nothing is mapped; map it "
               "first (aclrtMapMem)",
               what, bytes, address));
  }
  const auto at = reinterpret_cast<uintptr_t>(address);
  HeapBlock block;
  const RangeHeap* heap = info.device >= 0 ? internal::HeapOf(info.device) : nullptr;
  if (heap != nullptr && heap->FindFreed(at, &block)) {
    return InvalidArgument(Format("%s: %p lies %zu B into block #%" PRIu64 " (%zu B on device %d), which is freed; use "
                                  "memory before its aclrtFree",
                                  what, address, at - block.base, block.number, block.bytes, info.device));
  }
  if (info.device < 0) {
    return InvalidArgument(Format("%s: %p is pinned host memory that is freed or was never given out", what, address));
  }
  return InvalidArgument(
      Format("%s: %p lies in device %d's memory but in no block; pass an address inside a block that "
             "was allocated",
             what, address, info.device));
}

Status TooLong(const char* what, const void* address, size_t bytes, const PointerInfo& info) {
  const size_t offset = static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  return InvalidArgument(Format("%s: %zu B from %p run %zu B past the end of block #%" PRIu64 " (%s, %zu B at %p); at "
                                "most %zu B fit from there",
                                what, bytes, address, bytes - (info.bytes - offset), info.block, KindName(info.kind),
                                info.bytes, info.base, info.bytes - offset))
      .Breaks("MP504", address);
}

// Neighbouring mappings make one run: walk them. `info` is of the first and comes back as of the whole run.
Status CheckMappedRun(const char* what, const void* address, size_t bytes, PointerInfo* info) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(address) + bytes;
  MappedRanges* ranges = internal::GetMappedRanges();
  while (reinterpret_cast<uintptr_t>(info->base) + info->bytes < end) {
    const void* next = static_cast<const char*>(info->base) + info->bytes;
    PointerInfo more;
    if (!IsDeviceAddress(next) || !ranges->Find(next, &more) || more.kind != PointerKind::kMapped) {
      return TooLong(what, address, bytes, *info);
    }
    info->bytes += more.bytes;
  }
  return Ok();
}

// The client's other threads may write there; a sanitizer need not tell of that.
[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] void Look(const void* address) {
  static_cast<void>(*static_cast<const volatile char*>(address));
}

// Looks at one byte in each `step` from the first on, and at the last.
Status ProbeHost(const char* what, const void* address, size_t bytes, size_t step) {
  if (bytes == 0) return Ok();
  internal::HostFault fault;
  const bool there = internal::TouchHost(
      [=] {
        const auto* const first = static_cast<const char*>(address);
        for (size_t at = 0; at < bytes; at += std::min(step, bytes - at)) Look(first + at);
        Look(first + bytes - 1);
      },
      &fault);
  if (__builtin_expect(there, true)) return Ok();
  return InvalidArgument(Format("%s: %zu B from %p: %s", what, bytes, address, internal::HostFaultText(fault).c_str()));
}

Status CheckAddresses(const char* what, const void* address, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  MP_REQUIRE(address != nullptr, "%s is null; pass an address", what);
  MP_REQUIRE(at >= kLowestAddress && at < kAddressEnd && bytes < kAddressEnd - at,
             "%s: %zu B from %p is not a range of addresses", what, bytes, address);
  return Ok();
}

}  // namespace

PointerInfo LookUp(const void* address) {
  PointerInfo info;
  if (__builtin_expect(!IsDeviceAddress(address), false)) {
    internal::LookUpHost(address, &info);
    return info;
  }
  const auto at = reinterpret_cast<uintptr_t>(address);
  const AddressLayout& layout = GetAddressLayout();
  if (at < layout.virtual_begin) {
    info.device = static_cast<int32_t>((at - internal::g_address_map.begin) >> layout.heap_shift);
    info.kind = PointerKind::kUnallocated;
    HeapBlock block;
    const RangeHeap* heap = internal::HeapOf(info.device);
    if (heap != nullptr && heap->Find(at, &block)) {
      info = {PointerKind::kDevice, info.device, reinterpret_cast<void*>(block.base), block.bytes, block.number};
    }
    return info;
  }
  MappedRanges* ranges = internal::GetMappedRanges();
  if (ranges == nullptr || !ranges->Find(address, &info)) {
    info = {PointerKind::kUnallocated, -1, nullptr, 0, 0};
  }
  return info;
}

Status CheckRange(const char* what, const void* address, size_t bytes, PointerInfo* out_info) {
  MP_RETURN_IF_ERROR(CheckAddresses(what, address, bytes));
  const auto at = reinterpret_cast<uintptr_t>(address);
  PointerInfo info = LookUp(address);
  const size_t offset = at - reinterpret_cast<uintptr_t>(info.base);
  switch (info.kind) {
    case PointerKind::kDevice:
    case PointerKind::kPinned:
    case PointerKind::kManaged:
      if (__builtin_expect(bytes > info.bytes - offset, false)) return TooLong(what, address, bytes, info);
      break;
    case PointerKind::kMapped:
      MP_RETURN_IF_ERROR(CheckMappedRun(what, address, bytes, &info));
      break;
    case PointerKind::kReserved:
    case PointerKind::kUnallocated:
      return NotLive(what, address, bytes, info).Breaks("MP504", address);
    case PointerKind::kRegistered:
      // The rest may be host memory all the same; then it is not all registered.
      if (bytes > info.bytes - offset) info = {};
      [[fallthrough]];
    case PointerKind::kPageable:
      MP_REQUIRE(at + bytes <= internal::g_address_map.begin ||
                     at >= internal::g_address_map.begin + internal::g_address_map.size,
                 "%s: %zu B from host address %p run into device memory", what, bytes, address);
      MP_RETURN_IF_ERROR(ProbeHost(what, address, bytes, SIZE_MAX));
      break;
  }
  if (out_info != nullptr) *out_info = info;
  return Ok();
}

Status CheckReadable(const char* what, const void* address, size_t bytes) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange(what, address, bytes, &info));
  MP_REQUIRE(info.host_accessible(), "%s: %p is not host memory", what, address);
  constexpr size_t kPageBytes = 4096;
  return info.kind == PointerKind::kPageable ? ProbeHost(what, address, bytes, kPageBytes) : Ok();
}

bool HostCanRead(std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (address == nullptr) continue;
    if (at < kLowestAddress || at >= kAddressEnd) return false;
    if (IsDeviceAddress(address) && !GetAddressLayout().shared) return false;
  }
  internal::HostFault fault;
  return internal::TouchHost(
      [&] {
        for (const void* address : addresses) {
          if (address != nullptr) Look(address);
        }
      },
      &fault);
}

namespace {

[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] uintptr_t WordAt(const void* address) {
  return *static_cast<const volatile uintptr_t*>(address);
}

}  // namespace

bool ReadHostWord(const void* address, uintptr_t* out_word) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  if (at % sizeof(uintptr_t) != 0 || at < kLowestAddress || at >= kAddressEnd || IsDeviceAddress(address)) return false;
  internal::HostFault fault;
  return internal::TouchHost([=] { *out_word = WordAt(address); }, &fault);
}

int32_t DeviceOfAddress(const void* address) {
  if (!IsDeviceAddress(address)) return -1;
  const auto at = reinterpret_cast<uintptr_t>(address);
  const AddressLayout& layout = GetAddressLayout();
  if (at < layout.virtual_begin) {
    return static_cast<int32_t>((at - internal::g_address_map.begin) >> layout.heap_shift);
  }
  return internal::DeviceOfReservation(at);
}

Status FreeDeviceAddress(void* address) {
  MP_REQUIRE(address != nullptr, "the pointer is null; free the address an allocation gave out");
  if (!IsDeviceAddress(address)) {
    const PointerInfo info = LookUp(address);
    if (info.kind == PointerKind::kPageable || info.kind == PointerKind::kRegistered) {
      return InvalidArgument(Format("%p is host memory that this runtime did not allocate", address));
    }
    return FreeManaged(address);
  }
  MP_RETURN_IF_ERROR(RefuseMemPoolAddress("a free", address));
  const auto at = reinterpret_cast<uintptr_t>(address);
  const AddressLayout& layout = GetAddressLayout();
  MP_REQUIRE(at < layout.virtual_begin,
             "%p lies in a reservation of virtual memory; aclrtUnmapMem, aclrtFreePhysical and aclrtReleaseMemAddress "
             "give that back",
             address);
  DeviceMemory* memory =
      internal::MemoryOf(static_cast<int32_t>((at - internal::g_address_map.begin) >> layout.heap_shift));
  MP_REQUIRE(memory != nullptr, "%p belongs to a device that was never opened", address);
  return memory->Free(address);
}

}  // namespace millpond
