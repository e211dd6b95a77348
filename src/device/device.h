// SPDX-License-Identifier: Apache-2.0
// A virtual device and the contexts on it. Safe from any thread unless a comment says otherwise.
#ifndef MILLPOND_SRC_DEVICE_DEVICE_H_
#define MILLPOND_SRC_DEVICE_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "src/base/futex.h"
#include "src/base/handle_table.h"
#include "src/base/mutex.h"
#include "src/base/relaxed.h"
#include "src/base/status.h"
#include "src/device/profile.h"

namespace millpond {

class SharedQuota;
class Device;
class DeviceMemory;
class Runtime;
class Stream;

// A context owns a default stream and groups the streams made while it was current. Objects live in a HandleTable
// and are recycled; `Open` prepares one for use.
class Context {
 public:
  void Open(void* handle, Device* device, bool primary);

  void* handle() const { return handle_.load(std::memory_order_acquire); }
  Device* device() const { return device_; }
  bool primary() const { return primary_; }
  Stream* default_stream() const { return default_stream_; }
  // False once destroyed: a thread whose current context that was has none.
  bool live(const void* handle) const { return handle_.load(std::memory_order_acquire) == handle; }

  // Failure mode "stop" of any stream is the whole context's (page "aclrtSetStreamFailureMode").
  bool stop_on_failure() const { return stop_on_failure_.load(std::memory_order_relaxed); }
  void set_stop_on_failure() { stop_on_failure_.store(true, std::memory_order_relaxed); }
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  void set_failed() { failed_.store(true, std::memory_order_relaxed); }

  // aclrtCtxSetSysParamOpt's values; process-wide ones live in the shim layer's settings.
  Status SetSysParam(int32_t option, int64_t value);
  Status GetSysParam(int32_t option, int64_t* out_value);

 private:
  friend class Device;
  std::atomic<void*> handle_{nullptr};
  Relaxed<Device*> device_ = nullptr;
  Relaxed<bool> primary_ = false;
  Relaxed<Stream*> default_stream_ = nullptr;
  std::atomic<bool> stop_on_failure_{false};
  std::atomic<bool> failed_{false};  // a task failed in stop mode
  Mutex mutex_;
  std::map<int32_t, int64_t> sys_params_ GUARDED_BY(mutex_);
};

using ContextTable = HandleTable<Context, HandleKind::kContext>;
ContextTable& Contexts();

class Device {
 public:
  Device(int32_t id, int32_t physical_id, const Profile* profile);
  ~Device();

  // shared: of this process and others; null: the memory is this one's alone.
  Status OpenMemory(uint64_t quota_bytes, SharedQuota* shared);

  int32_t id() const { return id_; }                    // the client's id
  int32_t physical_id() const { return physical_id_; }  // before ASCEND_RT_VISIBLE_DEVICES
  const Profile& profile() const { return *profile_; }
  DeviceMemory& memory() { return *memory_; }

  // aclrtSetDevice / aclrtResetDevice: a count per process. The first retain makes the primary context; the last
  // release waits for its streams and destroys them. Release past zero is the caller's error.
  Status RetainPrimary(Context** out_context);
  Status ReleasePrimary(bool force);
  Context* primary() const { return primary_.load(std::memory_order_acquire); }

  Status CreateContext(Context** out_context);
  Status DestroyContext(Context* context);

  // Streams count against the profile's limit, default streams included: 207008 beyond it. An explicit context binds
  // one more for the device's own default while aclrtSetDevice has not made it (page "aclrtCreateContext").
  Status CreateStream(Context* context, uint32_t priority, uint32_t flags, bool is_default, Stream** out_stream);
  Status DestroyStream(Stream* stream, bool force);
  uint32_t streams_available() const;

  // Waits for every stream of the device; the first failure of any of them is returned.
  Status Synchronize(Deadline deadline);
  // Drops what is queued on every stream.
  Status AbortAll();
  std::vector<Stream*> StreamsOf(const Context* context) const;  // null: all

  // Told of each stream before it is destroyed and after it is made (aclrtRegStreamStateCallback, allocator registry).
  using StreamObserver = std::function<void(Stream*, bool created)>;
  static void AddStreamObserver(StreamObserver observer);
  // Told of each stream once its work has ended, when nothing can be launched on it any more.
  using StreamEndObserver = std::function<void(Stream*)>;
  static void AddStreamEndObserver(StreamEndObserver observer);
  // Told around the making and unmaking of a device's primary context. Values of aclrtDeviceState.
  enum class Stage { kSetPre, kSetPost, kResetPre, kResetPost };
  using DeviceObserver = std::function<void(Device*, Stage)>;
  static void AddDeviceObserver(DeviceObserver observer);

  // Whether its streams may touch memory of that device: its own, or a peer's that aclrtDeviceEnablePeerAccess opened
  // to it. Some series ask for no such call (the profile's peers_open).
  bool MayReach(int32_t other) const;

  std::atomic<uint32_t> live_events{0};
  std::atomic<uint32_t> live_notifies{0};
  // The floating-point mode of streams made from now on, as aclrtFloatOverflowMode has it.
  std::atomic<int32_t> saturation_mode;
  bool saturates() const { return saturation_mode.load(std::memory_order_relaxed) == 0; }
  // An operator on a stream that watches had a result that is not finite.
  std::atomic<bool> overflowed{false};

 private:
  Status OpenContext(bool primary, Context** out_context);
  Status CloseContext(Context* context);
  Status CloseStream(Stream* stream, bool force);
  void CloseStreamsOf(const Context* context);
  size_t StreamsInUse() const REQUIRES(mutex_);

  const int32_t id_;
  const int32_t physical_id_;
  const Profile* profile_;
  std::unique_ptr<DeviceMemory> memory_;
  Mutex lifecycle_mutex_;  // contexts come one at a time; guards primary_count_, never held while waiting
  uint32_t primary_count_ GUARDED_BY(lifecycle_mutex_) = 0;
  std::atomic<Context*> primary_{nullptr};
  mutable Mutex mutex_;  // guards what follows; never held while waiting
  std::vector<Stream*> streams_ GUARDED_BY(mutex_);
  uint32_t explicit_contexts_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_DEVICE_H_
