// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/vmm_physical.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "src/trace/emit.h"

namespace millpond {
namespace {

std::atomic<uint64_t> g_next_number{1};
std::atomic<uint64_t> g_host_bytes{0};  // physical memory on the host, all of this process

// memfd memory is only taken from the host when touched, so an absurd size would succeed here and kill the process
// later: refuse what the host could never give.
Status CheckHostCanGive(size_t bytes) {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return Ok();
  const uint64_t total = static_cast<uint64_t>(info.totalram) * info.mem_unit;
  const uint64_t used = g_host_bytes.load(std::memory_order_relaxed);
  MP_CHECK(used <= total && bytes <= total - used, kOutOfMemory,
           "%s of host physical memory asked for, %s held already, and the host has %s in all; free some "
           "(aclrtFreePhysical)",
           FormatBytes(bytes).c_str(), FormatBytes(used).c_str(), FormatBytes(total).c_str());
  return Ok();
}

// The policy of shared memory belongs to the file, so one mapping, gone again before the first page exists, sets it for
// all later ones. Best effort: a kernel without NUMA has nothing to choose.
void PreferNode(int file, size_t bytes, int32_t node) {
#ifdef SYS_mbind
  if (node >= 64 || !HasNumaNode(1)) return;
  void* view = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  if (view == MAP_FAILED) return;
  constexpr int kPreferred = 1;  // MPOL_PREFERRED of the kernel's ABI
  const unsigned long mask = 1UL << node;
  syscall(SYS_mbind, view, bytes, kPreferred, &mask, sizeof(mask) * 8, 0UL);
  munmap(view, bytes);
#else
  static_cast<void>(file), static_cast<void>(bytes), static_cast<void>(node);
#endif
}

}  // namespace

bool HasNumaNode(int32_t node) {
  if (node == 0) return true;
  return node > 0 && access(Format("/sys/devices/system/node/node%d", node).c_str(), F_OK) == 0;
}

Physical::Physical(const PhysicalSpec& spec, size_t bytes)
    : spec_(spec), bytes_(bytes), number_(g_next_number.fetch_add(1, std::memory_order_relaxed)) {}

Physical::~Physical() {
  if (memory_ != nullptr) {
    if (own_file_ == nullptr) LeaveDeviceFile();
    memory_->Uncharge(bytes_);
    Trace(/*allocated=*/false);
  } else if (!imported_ && own_file_) {
    g_host_bytes.fetch_sub(bytes_, std::memory_order_relaxed);
    Trace(/*allocated=*/false);
  }
}

Status Physical::MakeOnDevice(DeviceMemory* memory, const PhysicalSpec& spec, size_t bytes,
                              std::shared_ptr<Physical>* out_physical) {
  std::shared_ptr<Physical> made(new Physical(spec, bytes));
  MP_RETURN_IF_ERROR(memory->Charge(bytes));
  ChargeHold charge(memory, bytes);
  uint64_t offset = 0;
  MP_RETURN_IF_ERROR(memory->AllocateFileRange(bytes, &offset));
  charge.Keep();
  made->memory_ = memory;  // from here on the destructor gives both back
  made->device_offset_ = offset;
  made->SetOwnFile(nullptr);
  made->Trace(/*allocated=*/true);
  *out_physical = std::move(made);
  return Ok();
}

Status Physical::MakeOnHost(const PhysicalSpec& spec, size_t bytes, std::shared_ptr<Physical>* out_physical) {
  MP_RETURN_IF_ERROR(CheckHostCanGive(bytes));
  std::shared_ptr<Physical> made(new Physical(spec, bytes));
  SharedFd file;
  MP_RETURN_IF_ERROR(MakeOwnFile("millpond-host", bytes, &file));
  if (spec.side == MemorySide::kHostNuma) PreferNode(file->get(), bytes, spec.id);
  made->SetOwnFile(std::move(file));
  g_host_bytes.fetch_add(bytes, std::memory_order_relaxed);
  made->Trace(/*allocated=*/true);
  *out_physical = std::move(made);
  return Ok();
}

void Physical::SetOwnFile(SharedFd file) {
  own_file_ = std::move(file);
  file_ = own_file_ != nullptr ? own_file_->get() : memory_->file();
  offset_ = own_file_ != nullptr ? 0 : device_offset_;
}

std::shared_ptr<Physical> Physical::Adopt(const PhysicalSpec& spec, size_t bytes, SharedFd file, UniqueFd lease) {
  std::shared_ptr<Physical> made(new Physical(spec, bytes));
  made->imported_ = true;
  made->SetOwnFile(std::move(file));
  made->lease_ = std::move(lease);
  return made;
}

void Physical::Trace(bool allocated) const {
  if (!trace::Wants(trace::kMemory)) return;
  // Physical memory has no address; its number stands in so that the two ends of its life can be paired.
  trace::TellMemory(allocated, trace::MemoryKind::kPhysical, on_device() ? spec_.id : -1,
                    reinterpret_cast<const void*>(number_), bytes_,
                    memory_ != nullptr ? memory_->total_bytes() - memory_->free_bytes()
                                       : g_host_bytes.load(std::memory_order_relaxed));
}

}  // namespace millpond
