// SPDX-License-Identifier: Apache-2.0
// Memory as the rest of the runtime sees it. Who owns what:
//   AddressSpace   two reservations, D (what clients see, inaccessible) and A = D + delta (what kernels use)
//   DeviceMemory   one device's heap, physical ranges and quota
//   HostMemory     pinned, registered and managed host ranges
// Everything below is safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_MEMORY_H_
#define MILLPOND_SRC_DEVICE_MEMORY_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace millpond {

class Device;
class SharedQuota;
class UniqueFd;
enum class PageClass : uint8_t;  // heap.h

namespace internal {
// [begin, begin + size) is D. delta is 0 in shared mode. Written once, before any device address exists.
struct AddressMap {
  uintptr_t begin = 0;
  size_t size = 0;
  ptrdiff_t delta = 0;
};
extern AddressMap g_address_map;
}  // namespace internal

inline bool IsDeviceAddress(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - internal::g_address_map.begin < internal::g_address_map.size;
}

// The address at which our own code may touch what a client calls `address`. Host addresses are used as they are.
template <class T>
inline T* Reachable(T* address) {
  if (!IsDeviceAddress(address)) return address;
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(address) +
                              static_cast<uintptr_t>(internal::g_address_map.delta));
}

enum class PointerKind : uint8_t {
  kPageable,     // host memory we know nothing about
  kDevice,       // a block of a device's heap
  kMapped,       // VMM-mapped device memory
  kReserved,     // inside a VMM reservation, nothing mapped there
  kUnallocated,  // inside the device address range, but no live block
  kPinned,       // aclrtMallocHost
  kRegistered,   // aclrtHostRegister
  kManaged,      // aclrtMemAllocManaged
};

// What is known about an address. `base` and `bytes` bound the block, mapping or range it lies in (0 when none).
struct PointerInfo {
  PointerKind kind = PointerKind::kPageable;
  int32_t device = -1;  // owner's id, -1 for host memory
  const void* base = nullptr;
  size_t bytes = 0;
  uint64_t block = 0;  // allocation number, for messages
  bool host_accessible() const {
    return kind == PointerKind::kPageable || kind == PointerKind::kPinned || kind == PointerKind::kRegistered ||
           kind == PointerKind::kManaged;
  }
  bool on_device() const { return kind == PointerKind::kDevice || kind == PointerKind::kMapped; }
};
PointerInfo LookUp(const void* address);

// Refuses [address, address + bytes) unless it lies in one live block, mapping run or host range; the message says
// by how much it misses and what to do. `what` is the parameter's name ("dst"). Pageable host memory passes when its
// first and last byte can be read; what lies between is found out by whoever copies it.
Status CheckRange(const char* what, const void* address, size_t bytes, PointerInfo* out_info = nullptr);
// Every page of a client's host memory can be read: for what is parsed in place.
Status CheckReadable(const char* what, const void* address, size_t bytes);
// A byte can be read at each of these addresses of arguments (null ones are passed over): of results to be written,
// arrays, structures, texts. One look at the first byte of each; a wild pointer is what it finds. Some nanoseconds.
bool HostCanRead(std::initializer_list<const void*> addresses);
// The word at an aligned address of host memory; false when none can be read there. For looking at what a client may
// have destroyed: no sanitizer tells of it.
bool ReadHostWord(const void* address, uintptr_t* out_word);

// One device's memory. Made by Device, lives for ever.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // pre: bytes > 0. `usable` bytes are charged against the quota (207001 beyond it) and come 512-byte aligned,
  // contents unspecified. `tag` is kept for messages (static or interned). For the runtime's own use.
  virtual Status Allocate(size_t bytes, const char* tag, void** out_address) = 0;
  // The same for a client, who may export it: on host pages of its own. The quota counts whole pages of that class.
  virtual Status AllocatePages(size_t bytes, PageClass pages, const char* tag, void** out_address) = 0;
  // Immediate. Refuses foreign, interior, double and null pointers by name.
  virtual Status Free(void* address) = 0;

  // The quota: profile memory, MILLPOND_MEMORY, or the device's share of what the host or its cgroup has.
  virtual uint64_t total_bytes() const = 0;
  virtual uint64_t free_bytes() const = 0;
  virtual uint64_t peak_bytes() const = 0;  // the most that was ever charged at once
  // For physical (VMM) memory: charge without a heap block.
  virtual Status Charge(size_t bytes) = 0;
  virtual void Uncharge(size_t bytes) = 0;

  // Ranges of the device's file that hold physical memory: offsets for mapping, multiples of 2 MiB.
  virtual int file() const = 0;
  virtual Status AllocateFileRange(size_t bytes, uint64_t* out_offset) = 0;
  virtual void FreeFileRange(uint64_t offset, size_t bytes) = 0;
  // The file that holds block `number` of AllocatePages, which begins at `base`, and nothing else. The first call moves
  // the block there, under the feet of whoever uses it (own_file.h). The file lives until the block is freed.
  virtual Status OwnFileOf(const void* base, uint64_t number, std::shared_ptr<const UniqueFd>* out_file) = 0;

  // Freed memory that is kept back while a sink asks for guards (trace::kGuards). The figures above do not count it.
  virtual uint64_t quarantined_bytes() const = 0;
  virtual void CheckQuarantine() = 0;

  // Frees every heap block (device reset). Returns how many there were.
  virtual size_t FreeAll() = 0;
};

// What was charged, given back unless it is kept: what comes between may fail by a throw as well.
class ChargeHold {
 public:
  ChargeHold(DeviceMemory* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
  ~ChargeHold() {
    if (memory_ != nullptr) memory_->Uncharge(bytes_);
  }
  ChargeHold(const ChargeHold&) = delete;
  ChargeHold& operator=(const ChargeHold&) = delete;
  void Keep() { memory_ = nullptr; }

 private:
  DeviceMemory* memory_;
  const size_t bytes_;
};
// A device whose capacity processes share, by the id that is the same in all of them; no quota: it is this one's alone.
struct SharedDevice {
  SharedQuota* quota = nullptr;
  int32_t physical_id = 0;
};
// pre: ReserveAddressSpace has succeeded. When the host refuses the file or its mapping, every allocation says so.
std::unique_ptr<DeviceMemory> MakeDeviceMemory(int32_t device_id, uint64_t quota_bytes,
                                               const SharedDevice& shared = {});
// Free for an address of any device's heap or of managed memory: what aclrtFree does.
Status FreeDeviceAddress(void* address);

// Reserves D and A for `device_count` devices; called once by Runtime. Honours MILLPOND_DEVICE_MEMORY.
Status ReserveAddressSpace(int32_t device_count, uint64_t memory_per_device);
// The device whose heap or reservation an address lies in; -1 when none.
int32_t DeviceOfAddress(const void* address);
// What each of `device_count` devices may use of this host: MILLPOND_MEMORY or the profile's memory, capped by a share
// of the host's or cgroup's memory.
Status DeviceQuota(const std::string& memory_option, uint64_t profile_bytes, int32_t device_count, uint64_t* out_bytes);

// Pinned, registered and managed host memory.
Status AllocatePinned(size_t bytes, void** out_address);
Status FreePinned(void* address);
// pre: bytes > 0. `mapped`: devices may use the address too; it is the same one. Overlap with another registration is
// refused.
Status RegisterHost(void* address, size_t bytes, bool mapped = true);
Status UnregisterHost(void* address);
// The address at which devices reach registered host memory.
Status RegisteredDeviceAddress(const void* address, void** out_address);
Status AllocateManaged(size_t bytes, void** out_address);
Status FreeManaged(void* address);

// Copies and fills through Reachable addresses; the caller has checked the ranges. Host memory that turns out not to be
// there ends a copy early, in tasks and in RunOnCaller, whose failure it becomes.
void CopyBytes(void* dst, const void* src, size_t bytes);
void FillBytes(void* dst, int value, size_t bytes);
// `count` 32-bit words of `value`. pre: dst is 4-byte aligned.
void FillWords(void* dst, uint32_t value, size_t count);
// A rectangle of `height` rows of `width` bytes.
void CopyRows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height);

enum class ReduceKind : uint8_t { kSum, kMax, kMin };
enum class ReduceType : uint8_t { kInt8, kInt16, kInt32, kUint32, kFloat16, kBfloat16, kFloat32 };
size_t ReduceTypeBytes(ReduceType type);
// dst[i] = dst[i] (+, max, min) src[i]. pre: bytes is a multiple of the type's size. Integers wrap; halves are computed
// in float and rounded to nearest even; a NaN on either side gives NaN.
void ReduceBytes(void* dst, const void* src, size_t bytes, ReduceKind kind, ReduceType type);

// Installs the SIGSEGV/SIGBUS reporter (fault.cc) in front of whatever handler is there. Once per process.
void InstallFaultHandler();

namespace internal {
extern std::atomic<uint32_t> g_faults_pending;
bool TakeFaultSlow(Status* out_status);
}  // namespace internal

// How many faults wait to be taken; 0 except after a wild access.
inline uint32_t FaultsInTasks() { return internal::g_faults_pending.load(std::memory_order_relaxed); }

// True, once, after code that ran on this thread (or on a helper thread of it) touched device memory that is not
// mapped. The access went to a scratch page, so the code could finish; what it computed is void. For whoever runs a
// task's body or a copy to ask afterwards.
inline bool TakeFaultInTask(Status* out_status) {
  if (__builtin_expect(FaultsInTasks() == 0, true)) return false;
  return internal::TakeFaultSlow(out_status);
}

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_MEMORY_H_
