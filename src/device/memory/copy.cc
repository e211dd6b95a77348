// SPDX-License-Identifier: Apache-2.0
// Why plain memmove: on shared pages it is as fast as on anonymous ones once they are huge (bench/memory), glibc
// already switches to non-temporal stores where that pays, and one core saturates the memory bandwidth of the machines
// measured. memmove rather than memcpy because overlapping device ranges must not become silent corruption.
#include <algorithm>
#include <cstring>

#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace {

// Host memory may be anything that a client named. Where somebody asks for faults afterwards, one becomes a failure.
template <class Touch>
void Run(bool on_device, const Touch& touch) {
  if (on_device || !internal::FaultsAreTaken()) {
    touch();
    return;
  }
  internal::HostFault fault;
  if (__builtin_expect(!internal::TouchHost(touch, &fault), false)) internal::LeaveHostFault(fault);
}

bool OnDevice(const void* dst, const void* src) { return IsDeviceAddress(dst) && IsDeviceAddress(src); }

void MoveRows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height) {
  auto* to = static_cast<std::byte*>(Reachable(dst));
  auto* from = static_cast<const std::byte*>(Reachable(src));
  if (width == dst_pitch && width == src_pitch) {
    std::memmove(to, from, width * height);
    return;
  }
  for (size_t row = 0; row < height; ++row) std::memmove(to + row * dst_pitch, from + row * src_pitch, width);
}

}  // namespace

void CopyBytes(void* dst, const void* src, size_t bytes) {
  Run(OnDevice(dst, src), [=] { std::memmove(Reachable(dst), Reachable(src), bytes); });
}

void FillBytes(void* dst, int value, size_t bytes) {
  Run(IsDeviceAddress(dst), [=] { std::memset(Reachable(dst), value, bytes); });
}

void FillWords(void* dst, uint32_t value, size_t count) {
  Run(IsDeviceAddress(dst), [=] { std::fill_n(static_cast<uint32_t*>(Reachable(dst)), count, value); });
}

void CopyRows(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height) {
  Run(OnDevice(dst, src), [=] { MoveRows(dst, dst_pitch, src, src_pitch, width, height); });
}

}  // namespace millpond
