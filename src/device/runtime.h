// SPDX-License-Identifier: Apache-2.0
// The process's virtual NPUs. One Runtime, made at the first call that needs it and never destroyed, so that
// frees and destroys from static destructors are harmless.
#ifndef MILLPOND_SRC_DEVICE_RUNTIME_H_
#define MILLPOND_SRC_DEVICE_RUNTIME_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/device/profile.h"

namespace millpond {

class SharedQuota;
class Context;
class Device;
class Stream;
class DeviceMemory;

class Runtime {
 public:
  // The runtime, creating it on first use. Fails (every time) when the settings are wrong: unknown profile, bad
  // sizes, no memory to reserve. Also fails in a forked child of a process that had created it.
  static Status Get(Runtime** out_runtime);
  // The runtime if it exists and this is not a forked child, else null. Never creates.
  static Runtime* Existing();

  const Profile& profile() const { return profile_; }
  // Devices visible to the client: ASCEND_RT_VISIBLE_DEVICES applied. Ids of the API are indices into this.
  int32_t device_count() const { return static_cast<int32_t>(devices_.size()); }
  // 107001 with the valid range when out of it.
  Status FindDevice(int64_t id, Device** out_device);
  Device* device(int32_t id) { return devices_[static_cast<size_t>(id)].get(); }

 private:
  Runtime() = default;
  Status Initialize();
  static Status Create(Runtime** out_runtime);

  Profile profile_;
  std::unique_ptr<SharedQuota> shared_;  // null: the devices are this process's alone
  std::vector<std::unique_ptr<Device>> devices_;
};

// What the calling thread has chosen. A thread starts with no context: aclrtGetDevice then answers 107002.
Context* CurrentContext();
void SetCurrentContextForThread(Context* context);
// CurrentContext, or the 107002 every API that needs one answers.
Status RequireContext(Context** out_context);
Status RequireDevice(Device** out_device);
// A visible device of the runtime, which is made where there is none yet.
Status FindDevice(int64_t id, Device** out_device);
// aclInit's default device: a thread that has chosen no context then uses that device's primary one. -1: none.
void SetDefaultDevice(int32_t id);

namespace internal {
extern std::atomic<bool> g_forked;
}
// True after fork() in a child whose parent had a Runtime. Such a child may only be refused.
inline bool InForkedChild() { return internal::g_forked.load(std::memory_order_relaxed); }

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_RUNTIME_H_
