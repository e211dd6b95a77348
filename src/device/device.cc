// SPDX-License-Identifier: Apache-2.0
#include "src/device/device.h"

#include <algorithm>

#include "src/device/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"
#include "src/trace/sink.h"

namespace millpond {

namespace {

std::atomic<int32_t> g_next_stream_id{0};

// Observers are added at start-up and never removed; the lists are copied under the lock and called without it.
template <class Observer>
struct Observers {
  std::mutex mutex;
  std::vector<Observer> list;

  void Add(Observer observer) {
    std::lock_guard lock(mutex);
    list.push_back(std::move(observer));
  }
  template <class... Args>
  void Tell(Args... args) {
    std::vector<Observer> copy;
    {
      std::lock_guard lock(mutex);
      copy = list;
    }
    for (const Observer& observer : copy) observer(args...);
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
    std::lock_guard lock(mutex_);
    sys_params_.clear();
  }
  handle_.store(handle, std::memory_order_release);
}

Status Context::SetSysParam(int32_t option, int64_t value) {
  std::lock_guard lock(mutex_);
  sys_params_[option] = value;
  return Ok();
}

Status Context::GetSysParam(int32_t option, int64_t* out_value) {
  std::lock_guard lock(mutex_);
  const auto found = sys_params_.find(option);
  MP_CHECK(found != sys_params_.end(), kSysParamNotSet,
           "system parameter %d has no value in this context; set it with aclrtCtxSetSysParamOpt first", option);
  *out_value = found->second;
  return Ok();
}

Device::Device(Runtime* runtime, int32_t id, int32_t physical_id, const Profile* profile)
    : runtime_(runtime), id_(id), physical_id_(physical_id), profile_(profile) {}

Device::~Device() = default;

Status Device::OpenMemory(uint64_t quota_bytes) {
  memory_ = MakeDeviceMemory(id_, quota_bytes);
  MP_CHECK(memory_ != nullptr, kOutOfMemory, "device %d: no memory file of %s could be made", id_,
           FormatBytes(quota_bytes).c_str());
  return Ok();
}

Status Device::RetainPrimary(Context** out_context) {
  if (primary() == nullptr) DeviceObservers().Tell(this, Stage::kSetPre);
  bool created = false;
  {
    std::lock_guard lock(lifecycle_mutex_);
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
    std::lock_guard lock(lifecycle_mutex_);
    MP_CHECK(primary_count_ > 0, kInvalidDevice,
             "device %d is not in use: it was reset as often as it was set, or aclrtResetDeviceForce has reset it",
             id_);
    primary_count_ = force ? 0 : primary_count_ - 1;
    if (primary_count_ > 0) return Ok();
  }
  DeviceObservers().Tell(this, Stage::kResetPre);
  Context* context = nullptr;
  {
    std::lock_guard lock(lifecycle_mutex_);
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
  if (Status status = CreateStream(context, 0, 0, true, &context->default_stream_); !status.ok()) {
    context->handle_ = nullptr;
    Contexts().Retire(handle);
    Contexts().Recycle(handle);
    return status;
  }
  *out_context = context;
  return Ok();
}

Status Device::CreateContext(Context** out_context) {
  std::lock_guard lock(lifecycle_mutex_);
  {
    std::lock_guard count_lock(mutex_);
    ++explicit_contexts_;
  }
  Status status = OpenContext(false, out_context);
  if (!status.ok()) {
    std::lock_guard count_lock(mutex_);
    --explicit_contexts_;
  }
  return status;
}

Status Device::DestroyContext(Context* context) {
  MP_REQUIRE(!context->primary(), "the default context of device %d cannot be destroyed; aclrtResetDevice releases it",
             id_);
  MP_CHECK(!InTask(), kInternal, "a task may not destroy a context");
  MP_RETURN_IF_ERROR(CloseContext(context));
  std::lock_guard count_lock(mutex_);
  --explicit_contexts_;
  return Ok();
}

Status Device::CloseContext(Context* context) {
  void* handle = context->handle();
  MP_CHECK(handle != nullptr && Contexts().Retire(handle), kInvalidHandle,
           "the context was destroyed by another thread");
  for (Stream* stream : StreamsOf(context)) CloseStream(stream, false).Ignore();  // a lost race: it is gone already
  context->handle_.store(nullptr, std::memory_order_release);
  // What another thread made meanwhile; from here on CreateStream refuses.
  for (Stream* stream : StreamsOf(context)) CloseStream(stream, false).Ignore();
  Contexts().Recycle(handle);
  return Ok();
}

Status Device::CreateStream(Context* context, uint32_t priority, uint32_t flags, bool is_default, Stream** out_stream) {
  Stream* stream = nullptr;
  {
    std::lock_guard lock(mutex_);
    MP_CHECK(context->handle() != nullptr, kNoContext, "the context was destroyed by another thread");
    const size_t used = is_default && context->primary() ? streams_.size() : StreamsInUse();
    MP_CHECK(used < profile_->max_streams, kNoStream,
             "device %d (%s) has its %u streams in use, default streams included; destroy some first", id_,
             profile_->name.c_str(), profile_->max_streams);
    void* handle = nullptr;
    stream = Streams().Create(&handle);
    MP_CHECK(stream != nullptr, kNoStream, "the process has too many streams; destroy some first");
    stream->Open(handle, this, context, g_next_stream_id.fetch_add(1, std::memory_order_relaxed), priority, flags,
                 is_default);
    streams_.push_back(stream);
  }
  if (trace::Sink* sink = trace::Active()) {
    sink->OnStream(
        {.created = true, .device = id_, .stream = stream->id(), .priority = priority, .time_ns = trace::NowNs()});
  }
  StreamObservers().Tell(stream, true);
  *out_stream = stream;
  return Ok();
}

Status Device::DestroyStream(Stream* stream, bool force) {
  MP_REQUIRE(!stream->is_default(), "stream %d is a context's default stream; it goes with its context", stream->id());
  MP_CHECK(!InTask(), kInternal, "a task may not destroy a stream");
  MP_CHECK(stream->capture() == nullptr, kStreamCaptured, "stream %d is being captured; end the capture first",
           stream->id());
  return CloseStream(stream, force);
}

size_t Device::StreamsInUse() const {
  return streams_.size() + (explicit_contexts_ > 0 && primary() == nullptr ? 1 : 0);
}

Status Device::CloseStream(Stream* stream, bool force) {
  void* handle = stream->handle();
  StreamObservers().Tell(stream, false);
  MP_CHECK(Streams().Retire(handle), kInvalidHandle, "stream %d was destroyed by another thread", stream->id());
  {
    std::lock_guard lock(mutex_);
    std::erase(streams_, stream);
  }
  if (force) {
    stream->Abort(Ok()).Ignore();  // its failure has no reader any more
  } else {
    stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout).Ignore();
  }
  StreamEndObservers().Tell(stream);
  if (trace::Sink* sink = trace::Active()) {
    sink->OnStream({.created = false, .device = id_, .stream = stream->id(), .priority = 0, .time_ns = trace::NowNs()});
  }
  stream->FreeSpares();
  Streams().Recycle(handle);
  return Ok();
}

uint32_t Device::streams_available() const {
  std::lock_guard lock(mutex_);
  return profile_->max_streams - std::min(profile_->max_streams, static_cast<uint32_t>(StreamsInUse()));
}

std::vector<Stream*> Device::StreamsOf(const Context* context) const {
  std::lock_guard lock(mutex_);
  if (context == nullptr) return streams_;
  std::vector<Stream*> out;
  std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(out),
               [&](const Stream* stream) { return stream->context() == context; });
  return out;
}

Status Device::Synchronize(Deadline deadline) {
  Status first;
  for (Stream* stream : StreamsOf(nullptr)) {
    Status status = stream->Synchronize(deadline, Code::kStreamSyncTimeout);
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
