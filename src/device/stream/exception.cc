// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/exception.h"

#include <cstddef>
#include <memory>
#include <new>

#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/base/user_callback.h"
#include "src/device/stream/host_executor.h"

namespace millpond {

namespace {

using Listener = std::function<void(const TaskException&)>;

struct Registry {
  Mutex mutex;
  std::shared_ptr<const Listener> listener GUARDED_BY(mutex);
};

// Never destroyed: tasks may still fail while the process exits. Not from the heap: one may fail for want of memory.
Registry& GetRegistry() {
  alignas(Registry) static std::byte home[sizeof(Registry)];
  static Registry& registry = *new (home) Registry;
  return registry;
}

}  // namespace

Status SetExceptionListener(Listener listener) {
  // Before it is needed: when a task fails there may be no thread to be had.
  if (listener) MP_RETURN_IF_ERROR(HostExecutor::ForExceptions().Start());
  auto next = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
  Registry& registry = GetRegistry();
  MutexLock lock(registry.mutex);
  registry.listener.swap(next);
  return Ok();
}

void TellException(const TaskException& exception) noexcept {
  {
    Registry& registry = GetRegistry();
    MutexLock lock(registry.mutex);
    if (registry.listener == nullptr) return;
  }
  struct Telling : HostExecutor::Work {
    void Run() override { NotifyException(exception); }
    TaskException exception;
  } telling;
  telling.exception = exception;
  HostExecutor::ForExceptions().RunAndWait(&telling);
}

void NotifyException(const TaskException& exception) {
  std::shared_ptr<const Listener> listener;
  {
    Registry& registry = GetRegistry();
    MutexLock lock(registry.mutex);
    listener = registry.listener;
  }
  if (listener == nullptr) return;
  const Status called = CallUser("an exception callback", [&] { (*listener)(exception); });
  if (!called.ok()) {
    log::Write(log::Level::kError, log::kRuntime,
               Format("task %u of stream %u: %s", exception.task, exception.stream, called.message().c_str()));
  }
}

}  // namespace millpond
