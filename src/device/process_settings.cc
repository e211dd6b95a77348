// SPDX-License-Identifier: Apache-2.0
#include "src/device/process_settings.h"

#include "src/base/thread_local.h"

namespace millpond {

namespace {

thread_local const void* t_limiting_stream MP_FAST_TLS = nullptr;

}  // namespace

ProcessSettings& ProcessSettings::Get() {
  static ProcessSettings& settings = *new ProcessSettings;  // leaked: used from static destructors too
  return settings;
}

void ProcessSettings::SetPeer(int32_t device, int32_t peer, bool reachable) {
  std::atomic<uint64_t>& peers = peers_[static_cast<size_t>(device)];
  const uint64_t bit = uint64_t{1} << peer;
  if (reachable) {
    peers.fetch_or(bit, std::memory_order_relaxed);
  } else {
    peers.fetch_and(~bit, std::memory_order_relaxed);
  }
}

bool ProcessSettings::HasPeer(int32_t device, int32_t peer) const {
  return (peers_[static_cast<size_t>(device)].load(std::memory_order_relaxed) >> peer & 1) != 0;
}

const void* LimitingStream() { return t_limiting_stream; }
void SetLimitingStream(const void* handle) { t_limiting_stream = handle; }

}  // namespace millpond
