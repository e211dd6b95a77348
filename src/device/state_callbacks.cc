// SPDX-License-Identifier: Apache-2.0
// All are leaked: tasks may fail and streams may be destroyed while the process exits.
#include "src/device/state_callbacks.h"

#include <algorithm>

#include "src/base/mutex.h"
#include "src/device/stream/stream.h"

namespace millpond {

NamedCallbacks<int32_t, Device::Stage>& DeviceStateCallbacks() {
  static auto& callbacks = *[] {
    auto* made = new NamedCallbacks<int32_t, Device::Stage>;
    Device::AddDeviceObserver([made](Device* device, Device::Stage stage) { made->Tell(device->id(), stage); });
    return made;
  }();
  return callbacks;
}

NamedCallbacks<void*, bool>& StreamStateCallbacks() {
  static auto& callbacks = *[] {
    auto* made = new NamedCallbacks<void*, bool>;
    Device::AddStreamObserver([made](Stream* stream, bool created) { made->Tell(stream->handle(), created); });
    return made;
  }();
  return callbacks;
}

NamedCallbacks<int32_t, bool, uint32_t>& TaskAbortCallbacks() {
  static auto& callbacks = *new NamedCallbacks<int32_t, bool, uint32_t>;
  return callbacks;
}

ExceptionCallbacks& ExceptionCallbacks::Get() {
  static auto& callbacks = *new ExceptionCallbacks;
  return callbacks;
}

Status ExceptionCallbacks::SetSlot(Function function) {
  MutexLock lock(mutex_);
  if (function) MP_RETURN_IF_ERROR(Listen());
  slot_ = std::move(function);
  return Ok();
}

Status ExceptionCallbacks::Add(const void* key, Function function) {
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(Listen());
  const bool known = std::any_of(list_.begin(), list_.end(), [&](const auto& entry) { return entry.first == key; });
  if (!known) list_.emplace_back(key, std::move(function));
  return Ok();
}

bool ExceptionCallbacks::Remove(const void* key) {
  MutexLock lock(mutex_);
  return std::erase_if(list_, [&](const auto& entry) { return entry.first == key; }) != 0;
}

// Once and for all: with nobody registered there is nothing to dispatch.
Status ExceptionCallbacks::Listen() {
  if (listening_) return Ok();
  MP_RETURN_IF_ERROR(SetExceptionListener([this](const TaskException& exception) { Dispatch(exception); }));
  listening_ = true;
  return Ok();
}

void ExceptionCallbacks::Dispatch(const TaskException& exception) {
  std::vector<Function> targets;
  {
    MutexLock lock(mutex_);
    for (const auto& entry : list_) targets.push_back(entry.second);
    if (slot_) targets.push_back(slot_);
  }
  for (const Function& target : targets) target(exception);
}

}  // namespace millpond
