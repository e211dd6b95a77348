// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/vmm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/device/memory/address_space.h"
#include "src/trace/emit.h"

namespace millpond {
namespace {

constexpr int64_t kDefaultMapLimit = 65530;

int64_t ReadMapLimit() {
  std::unique_ptr<FILE, int (*)(FILE*)> file(fopen("/proc/sys/vm/max_map_count", "re"), &fclose);
  long long limit = 0;
  if (file == nullptr || fscanf(file.get(), "%lld", &limit) != 1 || limit <= 0) return kDefaultMapLimit;
  return limit;
}

void* Address(uintptr_t value) { return reinterpret_cast<void*>(value); }

void KeepOutOfDumpsAndForks(void* address, size_t bytes) {
  // Neither can fail on a range that was just mapped whole, except for want of mappings, and then nothing is lost.
  static_cast<void>(madvise(address, bytes, MADV_DONTDUMP));
  static_cast<void>(madvise(address, bytes, MADV_DONTFORK));
}

Status MapVisible(uintptr_t address, size_t bytes, int file, uint64_t offset) {
  void* at =
      mmap(Address(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, static_cast<off_t>(offset));
  MP_CHECK(at != MAP_FAILED, kOutOfMemory, "the kernel refused to map %s of host memory at %p: %s",
           FormatBytes(bytes).c_str(), Address(address), strerror(errno));
  KeepOutOfDumpsAndForks(at, bytes);
  return Ok();
}

Status UnmapVisible(uintptr_t address, size_t bytes) {
  void* at = mmap(Address(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  MP_CHECK(at != MAP_FAILED, kOutOfMemory, "the kernel refused to unmap %s of host memory at %p: %s",
           FormatBytes(bytes).c_str(), Address(address), strerror(errno));
  KeepOutOfDumpsAndForks(at, bytes);
  return Ok();
}

}  // namespace

Vmm& Vmm::Get() {
  static Vmm* const vmm = new Vmm;  // leaked: frees from static destructors must find it
  return *vmm;
}

Vmm::Vmm() {
  const int64_t limit = ReadMapLimit();
  // The rest of the process needs mappings too, and undoing one may for a moment take two more.
  budget_ = std::max(limit / 2, limit - 8192);
}

size_t Vmm::kernel_mappings() {
  MutexLock lock(mutex_);
  return static_cast<size_t>(kernel_mappings_);
}

void Vmm::SetMappingBudgetForTest(size_t budget) {
  MutexLock lock(mutex_);
  budget_ = static_cast<int64_t>(budget);
}

Status Vmm::TakeKernelMappings(int64_t count) {
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(CheckBudget(count));
  kernel_mappings_ += count;
  return Ok();
}

void Vmm::GiveKernelMappings(int64_t count) {
  MutexLock lock(mutex_);
  kernel_mappings_ -= count;
}

// --- Reservations ---

Status Vmm::ReserveLocked(int32_t device, size_t bytes, const void* wanted, const PointerInfo& info,
                          Reservation** out) {
  MP_RETURN_IF_ERROR(table_.Prepare());
  const AddressLayout& layout = GetAddressLayout();
  MP_CHECK(bytes <= layout.virtual_bytes, kOutOfMemory,
           "%s of addresses asked for, and the virtual address range has %s in all; reserve less",
           FormatBytes(bytes).c_str(), FormatBytes(layout.virtual_bytes).c_str());
  MP_RETURN_IF_ERROR(CheckBudget(1));
  auto made = std::make_unique<Reservation>();
  Reservation* reservation = made.get();
  reservation->bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  reservation->device = device;
  void* address = nullptr;
  MP_RETURN_IF_ERROR(ReserveVirtual(device, reservation->bytes, wanted, &address));
  if (wanted != nullptr && address != wanted) {
    ReleaseVirtual(address, reservation->bytes);
    return {Code::kRuntimeArgument,
            Format("cannot reserve %s at %p: reserved already or outside [%p, %p), the addresses there are here; pass "
                   "a null expectPtr to have an address chosen",
                   FormatBytes(bytes).c_str(), wanted, Address(layout.virtual_begin),
                   Address(layout.virtual_begin + layout.virtual_bytes))};
  }
  reservation->base = reinterpret_cast<uintptr_t>(address);
  PointerInfo filled = info;
  filled.device = device;
  if (filled.base == nullptr) {
    filled.base = address;
    filled.bytes = reservation->bytes;
  }
  try {
    reservation->record = table_.NewRecord(filled);
    reservations_.emplace(reservation->base, std::move(made));
  } catch (const std::bad_alloc&) {
    if (reservation->record != nullptr) table_.Retire(reservation->record);
    ReleaseVirtual(address, reservation->bytes);
    throw;
  }
  table_.Assign(reservation->base, reservation->bytes, reservation->record);
  kernel_mappings_ += 1;
  *out = reservation;
  return Ok();
}

void Vmm::ReleaseLocked(Reservation* reservation) {
  table_.Assign(reservation->base, reservation->bytes, nullptr);
  table_.Retire(reservation->record);
  ReleaseVirtual(Address(reservation->base), reservation->bytes);
  kernel_mappings_ -= 1;
  reservations_.erase(reservation->base);
}

Status Vmm::Reserve(int32_t device, size_t bytes, const void* wanted, void** out_address) {
  MutexLock lock(mutex_);
  Reservation* reservation = nullptr;
  PointerInfo info;
  info.kind = PointerKind::kReserved;
  MP_RETURN_IF_ERROR(ReserveLocked(device, bytes, wanted, info, &reservation));
  *out_address = Address(reservation->base);
  trace::TellMapping(trace::MappingChange::Kind::kReserved, device, *out_address, reservation->bytes);
  return Ok();
}

Status Vmm::Release(void* address) {
  MutexLock lock(mutex_);
  Reservation* reservation = Containing(reinterpret_cast<uintptr_t>(address));
  MP_CHECK(reservation != nullptr, kRuntimeArgument,
           "%p is not inside any reservation of this process; pass what aclrtReserveMemAddress gave, once", address);
  MP_CHECK(!reservation->foreign, kRuntimeArgument,
           "%p was imported by key, not reserved; close it with aclrtIpcMemClose", address);
  MP_CHECK(Address(reservation->base) == address, kRuntimeArgument,
           "%p lies %s into the reservation at %p; release the reservation by its first address", address,
           FormatBytes(reinterpret_cast<uintptr_t>(address) - reservation->base).c_str(), Address(reservation->base));
  MP_CHECK_RULE(reservation->mappings.empty(), kRuntimeArgument, "MP701", address,
                "the reservation at %p still has %zu mappings, the first at %p; unmap them first (aclrtUnmapMem)",
                address, reservation->mappings.size(), Address(reservation->mappings.begin()->first));
  trace::TellMapping(trace::MappingChange::Kind::kReleased, reservation->device, address, reservation->bytes);
  ReleaseLocked(reservation);
  return Ok();
}

Vmm::Reservation* Vmm::Containing(uintptr_t address) {
  auto next = reservations_.upper_bound(address);
  if (next == reservations_.begin()) return nullptr;
  Reservation* reservation = std::prev(next)->second.get();
  return address - reservation->base < reservation->bytes ? reservation : nullptr;
}

// --- Physical memory ---

Status Vmm::NewHandle(std::shared_ptr<Physical> physical, void** out_handle) {
  void* handle = nullptr;
  Handle* slot = handles_.Create(&handle);
  MP_CHECK(slot != nullptr, kOutOfMemory, "there are %u physical memory handles already; free some (aclrtFreePhysical)",
           handles_.live());
  try {
    handle_of_.emplace(physical.get(), handle);
  } catch (const std::bad_alloc&) {
    if (handles_.Retire(handle)) handles_.Recycle(handle);
    throw;
  }
  slot->physical = std::move(physical);
  slot->references = 1;
  *out_handle = handle;
  return Ok();
}

Status Vmm::AddPhysical(std::shared_ptr<Physical> physical, void** out_handle) {
  MutexLock lock(mutex_);
  return NewHandle(std::move(physical), out_handle);
}

Status Vmm::CreatePhysical(DeviceMemory* memory, const PhysicalSpec& spec, size_t bytes, void** out_handle) {
  MP_CHECK(bytes % spec.granule == 0, kRuntimeArgument,
           "size %zu is not a multiple of the granularity %zu; ask aclrtMemGetAllocationGranularity and round up",
           bytes, spec.granule);
  std::shared_ptr<Physical> physical;
  if (spec.side == MemorySide::kDevice) {
    MP_RETURN_IF_ERROR(Physical::MakeOnDevice(memory, spec, bytes, &physical));
  } else {
    MP_RETURN_IF_ERROR(Physical::MakeOnHost(spec, bytes, &physical));
  }
  return AddPhysical(std::move(physical), out_handle);
}

Status Vmm::FindPhysical(const void* handle, std::shared_ptr<Physical>* out_physical) {
  MutexLock lock(mutex_);
  Handle* slot = handles_.Find(handle);
  MP_CHECK(slot != nullptr, kInvalidHandle,
           "%p is not a live physical memory handle; pass what aclrtMallocPhysical gave, before aclrtFreePhysical",
           handle);
  *out_physical = slot->physical;
  return Ok();
}

Status Vmm::FreePhysical(void* handle, std::shared_ptr<Physical>* out_last) {
  MutexLock lock(mutex_);
  Handle* slot = handles_.Find(handle);
  MP_CHECK(slot != nullptr, kInvalidHandle,
           "%p is not a live physical memory handle; freed twice, or never made by aclrtMallocPhysical", handle);
  if (--slot->references > 0) return Ok();
  *out_last = std::move(slot->physical);
  handle_of_.erase(out_last->get());
  if (handles_.Retire(handle)) handles_.Recycle(handle);
  if (out_last->use_count() > 1) {
    trace::TellMisuse("MP703", "aclrtFreePhysical", handle, [&] {
      return Format("physical memory of %zu bytes is freed and still mapped or shared: it stays in use until that ends",
                    (*out_last)->bytes());
    });
  }
  return Ok();
}

// --- Mappings ---

bool Vmm::HasVisibleHalf(const Physical& physical) { return !physical.on_device() && !GetAddressLayout().shared; }

PointerInfo Vmm::Describe(const Mapping& mapping) {
  PointerInfo info;
  info.base = Address(mapping.base);
  info.bytes = mapping.bytes;
  info.block = mapping.physical->number();
  if (mapping.physical->on_device()) {
    info.device = mapping.physical->spec().id;
    // What nobody may touch is, to a copy, as good as unmapped.
    info.kind = mapping.device_access == MemoryAccess::kNone ? PointerKind::kReserved : PointerKind::kMapped;
  } else {
    info.kind = mapping.host_access == MemoryAccess::kNone ? PointerKind::kReserved : PointerKind::kPinned;
  }
  return info;
}

// How many kernel mappings `mapping` adds to its reservation, whether or not it is in it yet: it splits the
// inaccessible gap around it, and melts into a neighbour that continues it in the same file.
int64_t Vmm::KernelCost(const Reservation& reservation, const Mapping& mapping) const {
  const auto merges = [](const Mapping& a, const Mapping& b) {
    return a.physical->file() == b.physical->file() && a.physical->offset() + a.bytes == b.physical->offset() &&
           a.device_access == b.device_access && a.host_access == b.host_access;
  };
  const auto& mappings = reservation.mappings;
  const uintptr_t end = mapping.base + mapping.bytes;
  int64_t cost = 0;
  const auto at = mappings.lower_bound(mapping.base);
  if (at == mappings.begin()) {
    cost += mapping.base > reservation.base;
  } else {
    const Mapping& before = std::prev(at)->second;
    cost += before.base + before.bytes < mapping.base ? 1 : -static_cast<int64_t>(merges(before, mapping));
  }
  const auto after = mappings.lower_bound(end);
  if (after == mappings.end()) {
    cost += end < reservation.base + reservation.bytes;
  } else {
    cost += end < after->second.base ? 1 : -static_cast<int64_t>(merges(mapping, after->second));
  }
  return HasVisibleHalf(*mapping.physical) ? 2 * cost : cost;
}

Status Vmm::CheckBudget(int64_t cost) const {
  MP_CHECK(cost <= 0 || kernel_mappings_ + cost <= budget_, kOutOfMemory,
           "%lld kernel mappings are in use and %lld are allowed; map larger pieces, map neighbours in the order they "
           "were made, or raise vm.max_map_count",
           static_cast<long long>(kernel_mappings_), static_cast<long long>(budget_));
  return Ok();
}

Status Vmm::CheckMap(uintptr_t address, size_t bytes, size_t offset, const Physical& physical,
                     const Reservation& target) {
  MP_CHECK(!target.foreign, kRuntimeArgument, "%p was imported by key; map only inside your own reservations",
           Address(address));
  MP_CHECK(offset == 0, kRuntimeArgument, "offset is %zu; only 0 is supported", offset);
  MP_CHECK(bytes == physical.bytes(), kRuntimeArgument,
           "size is %zu but the physical memory has %zu bytes; map all of it", bytes, physical.bytes());
  MP_CHECK(address % kHugePageBytes == 0, kRuntimeArgument, "%p is not a multiple of %s past the reservation's start",
           Address(address), FormatBytes(kHugePageBytes).c_str());
  const size_t room = target.base + target.bytes - address;
  MP_CHECK(bytes <= room, kRuntimeArgument, "%s at %p run %s past the end of the reservation at %p (%s)",
           FormatBytes(bytes).c_str(), Address(address), FormatBytes(bytes - room).c_str(), Address(target.base),
           FormatBytes(target.bytes).c_str());
  const auto next = target.mappings.lower_bound(address);
  const Mapping* clash = nullptr;
  if (next != target.mappings.end() && next->first < address + bytes) clash = &next->second;
  if (next != target.mappings.begin()) {
    const Mapping& before = std::prev(next)->second;
    if (before.base + before.bytes > address) clash = &before;
  }
  MP_CHECK(clash == nullptr, kRuntimeArgument, "[%p, %p) overlaps the mapping [%p, %p); unmap that first",
           Address(address), Address(address + bytes), Address(clash->base), Address(clash->base + clash->bytes));
  for (const auto& [base, mapping] : target.mappings) {
    // One look is enough: the rules below hold among the mappings already there.
    MP_CHECK(mapping.physical->imported() == physical.imported(), kRuntimeArgument,
             "the reservation at %p holds %s memory and cannot also take %s memory; use two reservations",
             Address(target.base), mapping.physical->imported() ? "imported" : "own",
             physical.imported() ? "imported" : "own");
    MP_CHECK(
        !mapping.physical->on_device() || !physical.on_device() || mapping.physical->spec().id == physical.spec().id,
        kRuntimeArgument, "the reservation at %p holds memory of device %d and cannot also take memory of device %d",
        Address(target.base), mapping.physical->spec().id, physical.spec().id);
    break;
  }
  return Ok();
}

Status Vmm::Map(void* address, size_t bytes, size_t offset, void* handle, bool accessible) {
  const uintptr_t base = reinterpret_cast<uintptr_t>(address);
  std::shared_ptr<Physical> physical;
  MP_RETURN_IF_ERROR(FindPhysical(handle, &physical));
  MutexLock lock(mutex_);
  Reservation* reservation = Containing(base);
  MP_CHECK(reservation != nullptr, kRuntimeArgument,
           "%p is not inside any reservation of this process; reserve it first (aclrtReserveMemAddress)", address);
  MP_RETURN_IF_ERROR(CheckMap(base, bytes, offset, *physical, *reservation));

  Mapping mapping;
  mapping.base = base;
  mapping.bytes = bytes;
  mapping.physical = physical;
  mapping.granted = accessible ? MemoryAccess::kReadWrite : MemoryAccess::kNone;
  mapping.device_access = mapping.host_access = mapping.granted;
  const int64_t cost = KernelCost(*reservation, mapping);
  MP_RETURN_IF_ERROR(CheckBudget(cost));
  auto [place, inserted] = reservation->mappings.try_emplace(base, mapping);
  MP_ASSERT(inserted);
  Mapping& made = place->second;
  try {
    made.record = table_.NewRecord(Describe(made));
  } catch (const std::bad_alloc&) {
    reservation->mappings.erase(place);
    throw;
  }

  Status status = MapAlias(address, bytes, physical->file(), physical->offset());
  if (status.ok() && HasVisibleHalf(*physical)) {
    status = MapVisible(base, bytes, physical->file(), physical->offset());
  }
  if (status.ok() && !accessible) status = ApplyAccess(made, MemoryAccess::kNone, MemoryAccess::kNone);
  if (!status.ok()) {
    // Harmless where nothing was mapped; a refusal here leaves an alias nobody can reach.
    UndoKernelMapping(made).Ignore();
    table_.Retire(made.record);
    reservation->mappings.erase(place);
    return status;
  }
  kernel_mappings_ += cost;
  table_.Change(made.record, Describe(made));
  table_.Assign(base, bytes, made.record);
  trace::TellMapping(trace::MappingChange::Kind::kMapped, reservation->device, address, bytes, physical->number());
  return Ok();
}

Status Vmm::UndoKernelMapping(const Mapping& mapping) {
  MP_RETURN_IF_ERROR(UnmapAlias(Address(mapping.base), mapping.bytes));
  if (HasVisibleHalf(*mapping.physical)) MP_RETURN_IF_ERROR(UnmapVisible(mapping.base, mapping.bytes));
  return Ok();
}

Status Vmm::FindMapping(const char* what, const void* address, Reservation** out_reservation, Mapping** out_mapping) {
  const uintptr_t base = reinterpret_cast<uintptr_t>(address);
  Reservation* reservation = Containing(base);
  MP_CHECK(reservation != nullptr, kRuntimeArgument, "%s %p is not inside any reservation of this process", what,
           address);
  const auto found = reservation->mappings.find(base);
  if (found == reservation->mappings.end()) {
    const auto next = reservation->mappings.upper_bound(base);
    if (next != reservation->mappings.begin()) {
      const Mapping& before = std::prev(next)->second;
      MP_CHECK(base >= before.base + before.bytes, kRuntimeArgument,
               "%s %p lies %s into the mapping at %p; pass the address it was mapped at", what, address,
               FormatBytes(base - before.base).c_str(), Address(before.base));
    }
    return {Code::kRuntimeArgument, Format("%s %p: nothing is mapped there (reservation at %p, %zu mappings)", what,
                                           address, Address(reservation->base), reservation->mappings.size())};
  }
  *out_reservation = reservation;
  *out_mapping = &found->second;
  return Ok();
}

Status Vmm::Unmap(void* address) {
  std::shared_ptr<Physical> last;  // dropped after the lock: giving memory back to the host takes its time
  MutexLock lock(mutex_);
  Reservation* reservation = nullptr;
  Mapping* mapping = nullptr;
  MP_RETURN_IF_ERROR(FindMapping("virPtr", address, &reservation, &mapping));
  // The table first: an address must never look mapped when it no longer is.
  table_.Assign(mapping->base, mapping->bytes, reservation->record);
  if (Status status = UndoKernelMapping(*mapping); !status.ok()) {
    table_.Assign(mapping->base, mapping->bytes, mapping->record);
    return status;
  }
  trace::TellMapping(trace::MappingChange::Kind::kUnmapped, reservation->device, address, mapping->bytes,
                     mapping->physical->number());
  kernel_mappings_ -= KernelCost(*reservation, *mapping);
  table_.Retire(mapping->record);
  last = std::move(mapping->physical);
  reservation->mappings.erase(mapping->base);
  return Ok();
}

Status Vmm::Retain(const void* address, void** out_handle) {
  MutexLock lock(mutex_);
  Reservation* reservation = nullptr;
  Mapping* mapping = nullptr;
  MP_RETURN_IF_ERROR(FindMapping("virPtr", address, &reservation, &mapping));
  const auto live = handle_of_.find(mapping->physical.get());
  if (live == handle_of_.end()) return NewHandle(mapping->physical, out_handle);
  handles_.Find(live->second)->references += 1;
  *out_handle = live->second;
  return Ok();
}

// --- Blocks of other processes ---

Status Vmm::MapForeign(int32_t device, int file, uint64_t offset, size_t bytes, void** out_address) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t skip = offset % page;
  const size_t mapped = (skip + bytes + page - 1) / page * page;
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(CheckBudget(2));
  PointerInfo info;
  info.kind = PointerKind::kReserved;
  Reservation* reservation = nullptr;
  MP_RETURN_IF_ERROR(ReserveLocked(device, mapped, nullptr, info, &reservation));
  reservation->foreign = true;
  if (Status status = MapAlias(Address(reservation->base), mapped, file, offset - skip); !status.ok()) {
    ReleaseLocked(reservation);
    return status;
  }
  kernel_mappings_ += 1;
  info.kind = PointerKind::kMapped;
  info.device = device;
  info.base = Address(reservation->base + skip);
  info.bytes = bytes;
  table_.Change(reservation->record, info);
  *out_address = Address(reservation->base + skip);
  trace::TellMapping(trace::MappingChange::Kind::kMapped, device, *out_address, bytes);
  return Ok();
}

Status Vmm::UnmapForeign(void* address) {
  MutexLock lock(mutex_);
  Reservation* reservation = Containing(reinterpret_cast<uintptr_t>(address));
  MP_CHECK(reservation != nullptr && reservation->foreign, kInternal, "%p is not an imported block", address);
  MP_RETURN_IF_ERROR(UnmapAlias(Address(reservation->base), reservation->bytes));
  trace::TellMapping(trace::MappingChange::Kind::kUnmapped, reservation->device, address, reservation->bytes);
  kernel_mappings_ -= 1;
  ReleaseLocked(reservation);
  return Ok();
}

}  // namespace millpond
