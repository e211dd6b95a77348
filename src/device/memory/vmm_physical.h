// SPDX-License-Identifier: Apache-2.0
// Physical memory (aclrtMallocPhysical): a range of a file that can be mapped at any reserved address, several times,
// now and later, with its contents kept. Device memory is a range of the device's file, so that neighbours in the
// file mapped as neighbours become one mapping of the kernel's; it moves to a file of its own when it is exported. Host
// memory has a file of its own.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_VMM_PHYSICAL_H_
#define MILLPOND_SRC_DEVICE_MEMORY_VMM_PHYSICAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/own_file.h"

namespace millpond {

enum class MemorySide : uint8_t { kHost, kDevice, kHostNuma };

// What was asked for. `attribute` is the ABI's own number, kept only to be told again.
struct PhysicalSpec {
  MemorySide side = MemorySide::kDevice;
  int32_t id = 0;  // device, or NUMA node for kHostNuma
  size_t granule = 0;
  int32_t attribute = 0;
  uint64_t reserve = 0;
};

// Given back when the last owner (handle, mapping, lease of another process) lets go. Immutable but for its place (file
// and offset), which changes once, under the lock of the VMM, when it moves to a file of its own.
class Physical {
 public:
  // pre: bytes > 0. 207001 when the device's quota or the host has no more.
  static Status MakeOnDevice(DeviceMemory* memory, const PhysicalSpec& spec, size_t bytes,
                             std::shared_ptr<Physical>* out_physical);
  static Status MakeOnHost(const PhysicalSpec& spec, size_t bytes, std::shared_ptr<Physical>* out_physical);
  // What another process exported. `lease` keeps it alive over there.
  static std::shared_ptr<Physical> Adopt(const PhysicalSpec& spec, size_t bytes, SharedFd file, UniqueFd lease);
  ~Physical();

  const PhysicalSpec& spec() const { return spec_; }
  size_t bytes() const { return bytes_; }
  int file() const { return file_; }
  uint64_t offset() const { return offset_; }
  // Null while it is part of the device's file.
  const SharedFd& own_file() const { return own_file_; }
  // Its place is now all of `file`; a null one takes that back. The range of the device's file is still its own until
  // LeaveDeviceFile. pre: on a device, not imported.
  void SetOwnFile(SharedFd file);
  void LeaveDeviceFile() { memory_->FreeFileRange(device_offset_, bytes_); }
  bool imported() const { return imported_; }
  bool on_device() const { return spec_.side == MemorySide::kDevice; }
  uint64_t number() const { return number_; }  // counts up; for messages

  // For the trace: tells the sink that this memory came or goes.
  void Trace(bool allocated) const;

 private:
  Physical(const PhysicalSpec& spec, size_t bytes);

  const PhysicalSpec spec_;
  const size_t bytes_;
  const uint64_t number_;
  DeviceMemory* memory_ = nullptr;  // set: the range and the charge are given back at the end
  bool imported_ = false;
  int file_ = -1;
  uint64_t offset_ = 0;
  uint64_t device_offset_ = 0;  // where it is, or was, in the device's file
  SharedFd own_file_;
  UniqueFd lease_;
};

// True when the host has such a NUMA node; a host without NUMA has node 0.
bool HasNumaNode(int32_t node);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_VMM_PHYSICAL_H_
