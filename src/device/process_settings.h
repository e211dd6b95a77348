// SPDX-License-Identifier: Apache-2.0
// What clients set for the whole process, or for a thread, and ask back. Kept here because the doors hold no state;
// what a value may be is theirs to say. Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_PROCESS_SETTINGS_H_
#define MILLPOND_SRC_DEVICE_PROCESS_SETTINGS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "src/base/mutex.h"

namespace millpond {

class ProcessSettings {
 public:
  static ProcessSettings& Get();

  // Parameters by number, 0 to begin with.
  static constexpr size_t kParameters = 4;
  std::array<std::atomic<int64_t>, kParameters> parameters{};
  // How long an operator may run; 0: not set.
  std::atomic<uint64_t> execute_timeout_us{0};

  // One direction: whether `device` may reach `peer`.
  static constexpr int32_t kMaxDevices = 64;
  void SetPeer(int32_t device, int32_t peer, bool reachable);
  bool HasPeer(int32_t device, int32_t peer) const;

  // Limits that were set. What is not in a map has its initial value.
  struct Limits {
    Mutex mutex;                                                              // guards the maps
    std::map<int32_t, size_t> device GUARDED_BY(mutex);                       // by limit
    std::map<std::pair<int32_t, int32_t>, uint32_t> cores GUARDED_BY(mutex);  // by (device, type of core)
  };
  Limits limits;

 private:
  std::array<std::atomic<uint64_t>, kMaxDevices> peers_{};  // bit p of word d: device d may reach device p
};

// The stream whose limits the calling thread uses, as a handle: the stream may be gone by the time it is asked.
const void* LimitingStream();
void SetLimitingStream(const void* handle);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_PROCESS_SETTINGS_H_
