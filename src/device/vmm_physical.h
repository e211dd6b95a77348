// SPDX-License-Identifier: Apache-2.0
// Physical memory (aclrtMallocPhysical): a range of a file that can be mapped at any reserved address, several times,
// now and later, with its contents kept. Device memory is a range of the device's file, so that neighbours in the
// file mapped as neighbours become one mapping of the kernel's; host memory has a file of its own.
#ifndef MILLPOND_SRC_DEVICE_VMM_PHYSICAL_H_
#define MILLPOND_SRC_DEVICE_VMM_PHYSICAL_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "src/base/status.h"
#include "src/device/memory.h"

namespace millpond {

// A file descriptor and the duty to close it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

enum class MemorySide : uint8_t { kHost, kDevice, kHostNuma };

// What was asked for. `attribute` is the ABI's own number, kept only to be told again.
struct PhysicalSpec {
  MemorySide side = MemorySide::kDevice;
  int32_t id = 0;  // device, or NUMA node for kHostNuma
  size_t granule = 0;
  int32_t attribute = 0;
  uint64_t reserve = 0;
};

// Immutable once made; given back when the last owner (handle, mapping, lease of another process) lets go.
class Physical {
 public:
  // pre: bytes > 0. 207001 when the device's quota or the host has no more.
  static Status MakeOnDevice(DeviceMemory* memory, const PhysicalSpec& spec, size_t bytes,
                             std::shared_ptr<Physical>* out_physical);
  static Status MakeOnHost(const PhysicalSpec& spec, size_t bytes, std::shared_ptr<Physical>* out_physical);
  // What another process exported. `lease` keeps it alive over there.
  static std::shared_ptr<Physical> Adopt(const PhysicalSpec& spec, size_t bytes, UniqueFd file, uint64_t offset,
                                         UniqueFd lease);
  ~Physical();

  const PhysicalSpec& spec() const { return spec_; }
  size_t bytes() const { return bytes_; }
  int file() const { return file_; }
  uint64_t offset() const { return offset_; }
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
  UniqueFd own_file_;
  UniqueFd lease_;
};

// True when the host has such a NUMA node; a host without NUMA has node 0.
bool HasNumaNode(int32_t node);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_VMM_PHYSICAL_H_
