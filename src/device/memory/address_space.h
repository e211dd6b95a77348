// SPDX-License-Identifier: Apache-2.0
// The two reservations every device address lives in, for the memory files of this folder (others want memory.h).
//
//   D = [ heap of device 0 | heap of device 1 | ... | virtual part ]      inaccessible; what clients see
//   A = D + delta                                                        what kernels and copies use
//
// One delta for all, so that translating an address is one compare and one add. In shared mode delta is 0 and A is D.
// A heap's half of A is mapped from the device's file over its whole span, once. The virtual part is handed out by
// ReserveVirtual; whoever reserved a range maps and unmaps files into its A half with MapAlias and UnmapAlias.
// Addresses are the kernel's choice: sanitizers and debuggers have wishes of their own.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_ADDRESS_SPACE_H_
#define MILLPOND_SRC_DEVICE_MEMORY_ADDRESS_SPACE_H_

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/device/memory/memory.h"

namespace millpond {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;
inline constexpr int32_t kMaxDevices = 64;

// Written once by ReserveAddressSpace, before any device address exists.
struct AddressLayout {
  int32_t device_count = 0;
  size_t heap_span = 0;         // bytes of D per device, a power of two
  int heap_shift = 0;           // its logarithm
  uintptr_t virtual_begin = 0;  // first address of the virtual part (a D address)
  size_t virtual_bytes = 0;
  bool shared = false;  // MILLPOND_DEVICE_MEMORY=shared
};
const AddressLayout& GetAddressLayout();
inline uintptr_t HeapBegin(int32_t device) {
  return internal::g_address_map.begin + static_cast<size_t>(device) * GetAddressLayout().heap_span;
}

// A range of the virtual part for `device`: `bytes` rounded up to 2 MiB, 2 MiB aligned, nothing mapped. At `hint` when
// that is given and free, else anywhere. 207001 when the virtual part is used up.
Status ReserveVirtual(int32_t device, size_t bytes, const void* hint, void** out_address);
// pre: `address` and `bytes` as reserved, every mapping in it undone.
void ReleaseVirtual(void* address, size_t bytes) noexcept;

// Maps [offset, offset + bytes) of `file` read-write behind the device address `address`, over whatever is there;
// UnmapAlias makes it inaccessible again. Both keep core dumps and forked children free of it. A failure (the kernel's
// limit on mappings) is 207001 and leaves the old state.
Status MapAlias(void* address, size_t bytes, int file, uint64_t offset);
Status UnmapAlias(void* address, size_t bytes);

// At most this much address space for pinned host memory, by what the process runs under.
size_t LargestHostArena();

// How LookUp asks about addresses of the virtual part. Fills kind (kMapped or kReserved), device, base, bytes and, for
// a mapping, block; false when nothing is reserved there. Called on every copy, from any thread and, with luck
// only, from the fault handler: must not allocate.
class MappedRanges {
 public:
  virtual ~MappedRanges() = default;
  virtual bool Find(const void* address, PointerInfo* out_info) = 0;
};
// Set once by the VMM, before its first reservation; never unset.
void SetMappedRanges(MappedRanges* ranges);

namespace internal {
MappedRanges* GetMappedRanges();
// What every mapping behind A is told: no core dumps, no forked children, huge pages where there are any.
void AdviseAlias(void* alias, size_t bytes);
int32_t DeviceOfReservation(uintptr_t address);  // -1 when nothing is reserved there
}  // namespace internal

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_ADDRESS_SPACE_H_
