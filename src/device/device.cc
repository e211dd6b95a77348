// SPDX-License-Identifier: Apache-2.0
#include "src/device/device.h"

#include <sched.h>

#include <algorithm>
#include <list>
#include <new>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/device/process_settings.h"
#include "src/device/runtime.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/scheduler.h"
#include "src/device/stream/stream.h"
#include "src/device/stream/stream_use.h"
#include "src/device/telling.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

std::atomic<int32_t> g_next_stream_id{0};

// Observers are added at start-up and never removed; they are called without the lock. Telling allocates nothing:
// streams end here.
template <class Observer>
struct Observers {
  Mutex mutex;
  std::list<Observer> list GUARDED_BY(mutex);

  void Add(Observer observer) {
    MutexLock lock(mutex);
    list.push_back(std::move(observer));
  }
  template <class... Args>
  void Tell(Args... args) {
    for (const Observer* observer = First(); observer != nullptr; observer = After(observer)) (*observer)(args...);
  }

 private:
  const Observer* First() {
    MutexLock lock(mutex);
    return list.empty() ? nullptr : &list.front();
  }
  const Observer* After(const Observer* observer) {
    MutexLock lock(mutex);
    auto at = list.begin();
    while (&*at != observer) ++at;
    return ++at == list.end() ? nullptr : &*at;
  }
};

auto& StreamObservers() {
  static auto& observers = *new Observers<Device::StreamObserver>;
  return observers;
}
auto& StreamEndObservers() {
  static auto& observers = *new Observers<Device::StreamEndObserver>;
  return observers;
}
auto& DeviceObservers() {
  static auto& observers = *new Observers<Device::DeviceObserver>;
  return observers;
}

}  // namespace

ContextTable& Contexts() {
  static auto& table = *new ContextTable;
  return table;
}

void Device::AddStreamObserver(StreamObserver observer) { StreamObservers().Add(std::move(observer)); }
void Device::AddStreamEndObserver(StreamEndObserver observer) { StreamEndObservers().Add(std::move(observer)); }
void Device::AddDeviceObserver(DeviceObserver observer) { DeviceObservers().Add(std::move(observer)); }

void Context::Open(void* handle, Device* device, bool primary) {
  device_ = device;
  primary_ = primary;
  default_stream_ = nullptr;
  stop_on_failure_ = false;
  failed_ = false;
  {
    MutexLock lock(mutex_);
    sys_params_.clear();
  }
  handle_.store(handle, std::memory_order_release);
}

Status Context::SetSysParam(int32_t option, int64_t value) {
  MutexLock lock(mutex_);
  sys_params_[option] = value;
  return Ok();
}

Status Context::GetSysParam(int32_t option, int64_t* out_value) {
  MutexLock lock(mutex_);
  const auto found = sys_params_.find(option);
  MP_CHECK(found != sys_params_.end(), kSysParamNotSet,
           "system parameter %d has no value in this context; set it with aclrtCtxSetSysParamOpt first", option);
  *out_value = found->second;
  return Ok();
}

Device::Device(int32_t id, int32_t physical_id, const Profile* profile)
    :  // Series without infinities saturate, and have nothing else.
      saturation_mode(profile->Int("inf_nan", 0) == 1 ? 1 : 0),
      id_(id),
      physical_id_(physical_id),
      profile_(profile) {}

Device::~Device() = default;

Status Device::OpenMemory(uint64_t quota_bytes, SharedQuota* shared) {
  memory_ = MakeDeviceMemory(id_, quota_bytes, {shared, physical_id_});
  MP_CHECK(memory_ != nullptr, kOutOfMemory, "device %d: no memory file of %s could be made", id_,
           FormatBytes(quota_bytes).c_str());
  return Ok();
}

Status Device::RetainPrimary(Context** out_context) {
  if (primary() == nullptr) {
    const Telling telling(this);
    if (!telling.again()) DeviceObservers().Tell(this, Stage::kSetPre);
  }
  bool created = false;
  {
    MutexLock lock(lifecycle_mutex_);
    Context* context = primary();
    if (context == nullptr) {
      MP_RETURN_IF_ERROR(OpenContext(true, &context));
      primary_.store(context, std::memory_order_release);
      created = true;
    }
    ++primary_count_;
    *out_context = context;
  }
  if (created) DeviceObservers().Tell(this, Stage::kSetPost);
  return Ok();
}

Status Device::ReleasePrimary(bool force) {
  MP_CHECK(!InTask(), kInternal, "a task may not reset a device");
  {
    MutexLock lock(lifecycle_mutex_);
    MP_CHECK(primary_count_ > 0, kInvalidDevice,
             "device %d is not in use: it was reset as often as it was set, or aclrtResetDeviceForce has reset it",
             id_);
    const uint32_t left = force ? 0 : primary_count_ - 1;
    if (left == 0 && primary() != nullptr) MP_RETURN_IF_ERROR(CheckContextUnused(primary(), "reset with its device"));
    primary_count_ = left;
    if (left > 0) return Ok();
  }
  DeviceObservers().Tell(this, Stage::kResetPre);
  Context* context = nullptr;
  {
    MutexLock lock(lifecycle_mutex_);
    // Not zero: another thread has set the device again meanwhile.
    if (primary_count_ == 0) context = primary_.exchange(nullptr, std::memory_order_acq_rel);
  }
  // Unlocked: a host function that is being waited for may set the device.
  Status status = context != nullptr ? CloseContext(context) : Ok();
  DeviceObservers().Tell(this, Stage::kResetPost);
  return status;
}

Status Device::OpenContext(bool primary, Context** out_context) {
  void* handle = nullptr;
  Context* context = Contexts().Create(&handle);
  MP_CHECK(context != nullptr, kOverLimit, "the process has too many contexts; destroy some first");
  context->Open(handle, this, primary);
  const auto undo = [&] {
    context->handle_ = nullptr;
    Contexts().Retire(handle);
    Contexts().Recycle(handle);
  };
  try {
    Stream* stream = nullptr;
    if (Status status = CreateStream(context, 0, 0, true, &stream); !status.ok()) {
      undo();
      return status;
    }
    context->default_stream_ = stream;
  } catch (...) {
    undo();
    throw;
  }
  trace::TellObject(true, trace::ObjectKind::kContext, id_, handle, 0, primary ? 1 : 0);
  *out_context = context;
  return Ok();
}

bool Device::MayReach(int32_t other) const {
  return other == id_ || ProcessSettings::Get().HasPeer(id_, other) || profile_->Int("peers_open", 0) == 1;
}

Status Device::CreateContext(Context** out_context) {
  MutexLock lock(lifecycle_mutex_);
  const auto count = [this](int difference) {
    MutexLock count_lock(mutex_);
    explicit_contexts_ += static_cast<uint32_t>(difference);
  };
  count(1);
  try {
    Status status = OpenContext(false, out_context);
    if (!status.ok()) count(-1);
    return status;
  } catch (...) {
    count(-1);
    throw;
  }
}

Status Device::DestroyContext(Context* context) {
  MP_REQUIRE(!context->primary(), "the default context of device %d cannot be destroyed; aclrtResetDevice releases it",
             id_);
  MP_CHECK(!InTask(), kInternal, "a task may not destroy a context");
  MP_RETURN_IF_ERROR(CheckContextUnused(context, "destroyed with its context"));
  MP_RETURN_IF_ERROR(CloseContext(context));
  MutexLock count_lock(mutex_);
  --explicit_contexts_;
  return Ok();
}

Status Device::CloseContext(Context* context) {
  void* handle = context->handle();
  MP_CHECK(handle != nullptr && Contexts().Retire(handle), kInvalidHandle,
           "the context was destroyed by another thread");
  CloseStreamsOf(context);
  context->handle_.store(nullptr, std::memory_order_release);
  CloseStreamsOf(context);  // what another thread made meanwhile; from here on CreateStream refuses
  trace::TellObject(false, trace::ObjectKind::kContext, id_, handle, 0, context->primary() ? 1 : 0);
  Contexts().Recycle(handle);
  return Ok();
}

// One after the other, without a list of them: what ends must not need memory.
void Device::CloseStreamsOf(const Context* context) {
  for (;;) {
    Stream* stream = nullptr;
    {
      MutexLock lock(mutex_);
      const auto found =
          std::find_if(streams_.begin(), streams_.end(), [&](const Stream* s) { return s->context() == context; });
      if (found == streams_.end()) return;
      stream = *found;
    }
    // Another thread that destroys it is about to take it off the list.
    if (!CloseStream(stream, false).ok()) sched_yield();
  }
}

Status Device::CreateStream(Context* context, uint32_t priority, uint32_t flags, bool is_default, Stream** out_stream) {
  MP_RETURN_IF_ERROR(Scheduler::Get().Start());
  MP_RETURN_IF_ERROR(Poller::Get().Start());
  Stream* stream = nullptr;
  {
    MutexLock lock(mutex_);
    MP_CHECK(context->handle() != nullptr, kNoContext, "the context was destroyed by another thread");
    const size_t used = is_default && context->primary() ? streams_.size() : StreamsInUse();
    MP_CHECK_RULE(used < profile_->max_streams, kNoStream, "MP607", nullptr,
                  "device %d (%s) has its %u streams in use, default streams included; destroy some first", id_,
                  profile_->name.c_str(), profile_->max_streams);
    if (streams_.size() == streams_.capacity()) streams_.reserve(std::max<size_t>(16, 2 * streams_.size()));
    void* handle = nullptr;
    stream = Streams().Create(&handle);
    MP_CHECK(stream != nullptr, kNoStream, "the process has too many streams; destroy some first");
    try {
      stream->Open(handle, this, context, g_next_stream_id.fetch_add(1, std::memory_order_relaxed), priority, flags,
                   is_default);
    } catch (...) {
      Streams().Retire(handle);
      Streams().Recycle(handle);
      throw;
    }
    streams_.push_back(stream);
  }
  trace::TellObject(true, trace::ObjectKind::kStream, id_, stream->handle(), static_cast<uint64_t>(stream->id()),
                    priority);
  StreamObservers().Tell(stream, true);
  *out_stream = stream;
  return Ok();
}

Status Device::DestroyStream(Stream* stream, bool force) {
  MP_REQUIRE(!stream->is_default(), "stream %d is a context's default stream; it goes with its context", stream->id());
  MP_CHECK(!InTask(), kInternal, "a task may not destroy a stream");
  MP_CHECK(stream->capture() == nullptr, kStreamCaptured, "stream %d is being captured; end the capture first",
           stream->id());
  MP_RETURN_IF_ERROR(CheckStreamUnused(stream, "destroyed"));
  return CloseStream(stream, force);
}

size_t Device::StreamsInUse() const {
  return streams_.size() + (explicit_contexts_ > 0 && primary() == nullptr ? 1 : 0);
}

Status Device::CloseStream(Stream* stream, bool force) {
  void* handle = stream->handle();
  {
    const Telling telling(stream);
    MP_CHECK(!telling.again(), kRuntimeArgument,
             "stream %d is being destroyed already, and the callback that hears of it need not", stream->id());
    StreamObservers().Tell(stream, false);
  }
  MP_CHECK(Streams().Retire(handle), kInvalidHandle, "stream %d was destroyed by another thread", stream->id());
  {
    MutexLock lock(mutex_);
    std::erase(streams_, stream);
  }
  if (force) {
    stream->Abort(Ok()).Ignore();  // its failure has no reader any more
  } else {
    stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout, trace::WaitKind::kDestroy).Ignore();
  }
  StreamEndObservers().Tell(stream);
  trace::TellObject(false, trace::ObjectKind::kStream, id_, handle, static_cast<uint64_t>(stream->id()));
  stream->FreeSpares();
  Streams().Recycle(handle);
  return Ok();
}

uint32_t Device::streams_available() const {
  MutexLock lock(mutex_);
  return profile_->max_streams - std::min(profile_->max_streams, static_cast<uint32_t>(StreamsInUse()));
}

std::vector<Stream*> Device::StreamsOf(const Context* context) const {
  MutexLock lock(mutex_);
  if (context == nullptr) return streams_;
  std::vector<Stream*> out;
  std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(out),
               [&](const Stream* stream) { return stream->context() == context; });
  return out;
}

Status Device::Synchronize(Deadline deadline) {
  Status first;
  for (Stream* stream : StreamsOf(nullptr)) {
    Status status = stream->Synchronize(deadline, Code::kStreamSyncTimeout, trace::WaitKind::kDevice);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Device::AbortAll() {
  for (Stream* stream : StreamsOf(nullptr)) {
    MP_RETURN_IF_ERROR(stream->Abort(Status(Code::kDeviceAborted, Format("device %d's tasks were aborted", id_))));
  }
  return Ok();
}

}  // namespace millpond
