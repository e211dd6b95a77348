// SPDX-License-Identifier: Apache-2.0
// Who may touch a mapping (aclrtMemSetAccess, aclrtMemGetAccess). All devices reach memory through the one alias, so
// its protection is the widest any of them has; the exact rules are kept to be told again.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/mutex.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/vmm.h"

namespace millpond {
namespace {

bool SamePlace(const AccessRule& rule, MemorySide side, int32_t id) {
  if (side != MemorySide::kDevice) return rule.side != MemorySide::kDevice;
  return rule.side == MemorySide::kDevice && rule.id == id;
}

}  // namespace

int Vmm::Protection(MemoryAccess access) {
  switch (access) {
    case MemoryAccess::kNone:
      return PROT_NONE;
    case MemoryAccess::kRead:
      return PROT_READ;
    case MemoryAccess::kReadWrite:
      return PROT_READ | PROT_WRITE;
  }
  return PROT_NONE;
}

Status Vmm::ApplyAccess(const Mapping& mapping, MemoryAccess device, MemoryAccess host) {
  void* address = reinterpret_cast<void*>(mapping.base);
  MP_CHECK(mprotect(Reachable(address), mapping.bytes, Protection(device)) == 0, kOutOfMemory,
           "the kernel refused to change the access of %s at %p: %s", FormatBytes(mapping.bytes).c_str(), address,
           strerror(errno));
  if (!HasVisibleHalf(*mapping.physical)) return Ok();
  MP_CHECK(mprotect(address, mapping.bytes, Protection(host)) == 0, kOutOfMemory,
           "the kernel refused to change the host's access of %s at %p: %s", FormatBytes(mapping.bytes).c_str(),
           address, strerror(errno));
  return Ok();
}

MemoryAccess Vmm::AccessFrom(const Mapping& mapping, MemorySide side, int32_t id) {
  for (const AccessRule& rule : mapping.rules) {
    if (SamePlace(rule, side, id)) return rule.access;
  }
  // Mapping gives access to the owner alone. Host memory belongs to the host and to every device.
  if (!mapping.physical->on_device()) return mapping.granted;
  if (side != MemorySide::kDevice) return GetAddressLayout().shared ? mapping.granted : MemoryAccess::kNone;
  return mapping.physical->spec().id == id ? mapping.granted : MemoryAccess::kNone;
}

Status Vmm::SetAccess(void* address, size_t bytes, std::span<const AccessRule> rules) {
  MutexLock lock(mutex_);
  Reservation* reservation = nullptr;
  Mapping* mapping = nullptr;
  MP_RETURN_IF_ERROR(FindMapping("virPtr", address, &reservation, &mapping));
  MP_CHECK(bytes == mapping->bytes, kRuntimeArgument, "size is %zu but the mapping at %p has %zu bytes", bytes, address,
           mapping->bytes);
  const Physical& physical = *mapping->physical;
  Mapping changed = *mapping;
  for (const AccessRule& rule : rules) {
    const bool host = rule.side != MemorySide::kDevice;
    MP_CHECK(!host || !physical.on_device() || rule.access == MemoryAccess::kNone || GetAddressLayout().shared,
             kUnsupported,
             "the host cannot be given access to device memory at %p; copy it (aclrtMemcpy), or run with "
             "MILLPOND_DEVICE_MEMORY=shared",
             address);
    std::erase_if(changed.rules, [&](const AccessRule& old) { return SamePlace(old, rule.side, rule.id); });
    changed.rules.push_back(rule);
  }
  // For host memory, device 0 stands for all devices that no rule names.
  changed.device_access = AccessFrom(changed, MemorySide::kDevice, physical.on_device() ? physical.spec().id : 0);
  for (const AccessRule& rule : changed.rules) {
    if (rule.side == MemorySide::kDevice) changed.device_access = std::max(changed.device_access, rule.access);
  }
  changed.host_access = AccessFrom(changed, MemorySide::kHost, 0);

  const int64_t before = KernelCost(*reservation, *mapping);
  const int64_t after = KernelCost(*reservation, changed);
  MP_RETURN_IF_ERROR(CheckBudget(after - before));
  MP_RETURN_IF_ERROR(ApplyAccess(changed, changed.device_access, changed.host_access));
  kernel_mappings_ += after - before;
  *mapping = std::move(changed);
  table_.Change(mapping->record, Describe(*mapping));
  return Ok();
}

Status Vmm::GetAccess(const void* address, MemorySide side, int32_t id, MemoryAccess* out_access) {
  MutexLock lock(mutex_);
  Reservation* reservation = nullptr;
  Mapping* mapping = nullptr;
  MP_RETURN_IF_ERROR(FindMapping("virPtr", address, &reservation, &mapping));
  *out_access = AccessFrom(*mapping, side, id);
  return Ok();
}

}  // namespace millpond
