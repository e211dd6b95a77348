// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserve addresses, make physical memory, map the one to the other, undo all of it in any
// sensible order. Contents belong to the physical memory, addresses to the reservation; neither dies with a
// mapping. Safe from any thread: one mutex around changes, none around LookUp (vmm_table.h).
//
// The kernel allows a process some 65,530 mappings and, at the limit, refuses even to undo one. So the VMM counts
// what its mappings cost after merging and answers "out of memory" well before.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_VMM_H_
#define MILLPOND_SRC_DEVICE_MEMORY_VMM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/memory/vmm_physical.h"
#include "src/device/memory/vmm_table.h"

namespace millpond {

// The values are the ABI's.
enum class MemoryAccess : uint8_t { kNone = 0, kRead = 1, kReadWrite = 3 };

// Who may do what with a mapping.
struct AccessRule {
  MemorySide side = MemorySide::kDevice;
  int32_t id = 0;  // ignored for the host
  MemoryAccess access = MemoryAccess::kNone;
};

class Vmm {
 public:
  static Vmm& Get();

  // `wanted` null: anywhere. Otherwise exactly there or refused, as the documents say.
  Status Reserve(int32_t device, size_t bytes, const void* wanted, void** out_address);
  // Refused while anything is mapped in it.
  Status Release(void* address);

  // pre: bytes > 0. `memory` is null for host memory. A size off the granularity is refused; no memory left is 207001.
  Status CreatePhysical(DeviceMemory* memory, const PhysicalSpec& spec, size_t bytes, void** out_handle);
  // Drops one reference. With the last one the handle is dead and *out_last is what it stood for (else null); the
  // memory lives on while mapped or in use by another process.
  Status FreePhysical(void* handle, std::shared_ptr<Physical>* out_last);
  // A handle on physical memory made elsewhere (imported).
  Status AddPhysical(std::shared_ptr<Physical> physical, void** out_handle);
  Status FindPhysical(const void* handle, std::shared_ptr<Physical>* out_physical);

  // What an exporter does first: gives the memory a file of its own, which holds nothing else, and moves it there with
  // every mapping of it (own_file.h). Does nothing the second time.
  Status MoveToOwnFile(const void* handle);

  // Whole handles at whole 2 MiB addresses only (offset 0). `accessible` false: nobody may touch it until SetAccess.
  Status Map(void* address, size_t bytes, size_t offset, void* handle, bool accessible);
  Status Unmap(void* address);
  Status SetAccess(void* address, size_t bytes, std::span<const AccessRule> rules);
  Status GetAccess(const void* address, MemorySide side, int32_t id, MemoryAccess* out_access);
  // A handle on what is mapped at `address`; one more FreePhysical is due for it.
  Status Retain(const void* address, void** out_handle);

  // A block of another process at an address of its own (src/device/share/ipc.h). `file` may be closed afterwards.
  Status MapForeign(int32_t device, int file, uint64_t offset, size_t bytes, void** out_address);
  Status UnmapForeign(void* address);

  // For mappings made by others (device_memory.cc): counts them against the budget, or refuses.
  Status TakeKernelMappings(int64_t count);
  void GiveKernelMappings(int64_t count);

  size_t kernel_mappings();
  void SetMappingBudgetForTest(size_t budget);

 private:
  struct Handle {
    std::shared_ptr<Physical> physical;
    uint32_t references = 0;
  };
  struct Mapping {
    uintptr_t base = 0;
    size_t bytes = 0;
    std::shared_ptr<Physical> physical;
    MemoryAccess granted = MemoryAccess::kNone;        // what mapping gave the owner
    std::vector<AccessRule> rules;                     // what SetAccess said since, one per place
    MemoryAccess device_access = MemoryAccess::kNone;  // the widest of any device: what A is mapped with
    MemoryAccess host_access = MemoryAccess::kNone;    // likewise D, for host memory
    RangeTable::Record* record = nullptr;
  };
  struct Reservation {
    uintptr_t base = 0;
    size_t bytes = 0;
    int32_t device = 0;
    bool foreign = false;  // made by MapForeign: not the client's to map or release
    RangeTable::Record* record = nullptr;
    std::map<uintptr_t, Mapping> mappings;
  };

  Vmm();
  Status ReserveLocked(int32_t device, size_t bytes, const void* wanted, const PointerInfo& info, Reservation** out)
      REQUIRES(mutex_);
  void ReleaseLocked(Reservation* reservation) REQUIRES(mutex_);
  Reservation* Containing(uintptr_t address) REQUIRES(mutex_);
  Status FindMapping(const char* what, const void* address, Reservation** out_reservation, Mapping** out_mapping)
      REQUIRES(mutex_);
  Status CheckMap(uintptr_t address, size_t bytes, size_t offset, const Physical& physical, const Reservation& target);
  std::vector<const Mapping*> MappingsOf(const Physical& physical, int64_t* out_cost) REQUIRES(mutex_);
  Status MoveLocked(Physical* moving) REQUIRES(mutex_);
  static int Protection(MemoryAccess access);
  Status ApplyAccess(const Mapping& mapping, MemoryAccess device, MemoryAccess host);
  Status UndoKernelMapping(const Mapping& mapping);
  static MemoryAccess AccessFrom(const Mapping& mapping, MemorySide side, int32_t id);
  int64_t KernelCost(const Reservation& reservation, const Mapping& mapping) const;
  Status CheckBudget(int64_t cost) const REQUIRES(mutex_);
  // Host memory is also visible at the client's own address (D). In shared mode the alias is that address.
  static bool HasVisibleHalf(const Physical& physical);
  static PointerInfo Describe(const Mapping& mapping);
  Status NewHandle(std::shared_ptr<Physical> physical, void** out_handle) REQUIRES(mutex_);

  Mutex mutex_;  // guards what follows
  HandleTable<Handle, HandleKind::kPhysical> handles_ GUARDED_BY(mutex_);
  std::unordered_map<const Physical*, void*> handle_of_ GUARDED_BY(mutex_);  // the live handle, for Retain
  std::map<uintptr_t, std::unique_ptr<Reservation>> reservations_ GUARDED_BY(mutex_);
  RangeTable table_ GUARDED_BY(mutex_);
  int64_t kernel_mappings_ GUARDED_BY(mutex_) = 0;
  int64_t budget_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_VMM_H_
