// SPDX-License-Identifier: Apache-2.0
// Physical memory that leaves the device's file for one of its own, mapped or not.
#include "src/base/mutex.h"
#include "src/device/memory/own_file.h"
#include "src/device/memory/vmm.h"

namespace millpond {

std::vector<const Vmm::Mapping*> Vmm::MappingsOf(const Physical& physical, int64_t* out_cost) {
  std::vector<const Mapping*> found;
  *out_cost = 0;
  for (const auto& [base, reservation] : reservations_) {
    for (const auto& [address, mapping] : reservation->mappings) {
      if (mapping.physical.get() != &physical) continue;
      found.push_back(&mapping);
      *out_cost += KernelCost(*reservation, mapping);
    }
  }
  return found;
}

Status Vmm::MoveToOwnFile(const void* handle) {
  std::shared_ptr<Physical> moved;
  MP_RETURN_IF_ERROR(FindPhysical(handle, &moved));
  {
    MutexLock lock(mutex_);
    if (moved->own_file() != nullptr) return Ok();
    MP_RETURN_IF_ERROR(MoveLocked(moved.get()));
  }
  moved->LeaveDeviceFile();  // after the lock: giving memory back to the host takes its time
  return Ok();
}

Status Vmm::MoveLocked(Physical* moving) {
  Physical& physical = *moving;
  SharedFd file;
  MP_RETURN_IF_ERROR(MakeOwnFile("millpond-physical", physical.bytes(), &file));
  const int from = physical.file();
  const uint64_t offset = physical.offset();
  int64_t before = 0, after = 0;
  std::vector<MappedPlace> places;
  for (const Mapping* mapping : MappingsOf(physical, &before)) {
    places.push_back({reinterpret_cast<void*>(mapping->base), Protection(mapping->device_access)});
  }
  // No neighbour continues it any more, so its mappings stand alone.
  physical.SetOwnFile(file);
  MappingsOf(physical, &after);
  Status status = CheckBudget(after - before);
  if (status.ok()) status = MovePages(places, physical.bytes(), from, offset, file->get());
  if (!status.ok()) {
    physical.SetOwnFile(nullptr);
    return status;
  }
  kernel_mappings_ += after - before;
  return Ok();
}

}  // namespace millpond
