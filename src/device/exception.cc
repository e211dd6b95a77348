// SPDX-License-Identifier: Apache-2.0
#include "src/device/exception.h"

#include <exception>
#include <memory>
#include <mutex>

#include "src/base/log.h"

namespace millpond {

namespace {

using Listener = std::function<void(const TaskException&)>;

struct Registry {
  std::mutex mutex;
  std::shared_ptr<const Listener> listener;
};

Registry& GetRegistry() {
  static Registry& registry = *new Registry;  // leaked: tasks may still fail while the process exits
  return registry;
}

}  // namespace

void SetExceptionListener(Listener listener) {
  auto next = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
  Registry& registry = GetRegistry();
  std::lock_guard lock(registry.mutex);
  registry.listener.swap(next);
}

void NotifyException(const TaskException& exception) {
  std::shared_ptr<const Listener> listener;
  {
    Registry& registry = GetRegistry();
    std::lock_guard lock(registry.mutex);
    listener = registry.listener;
  }
  if (listener == nullptr) return;
  try {
    (*listener)(exception);
  } catch (const std::exception& error) {
    log::Write(log::Level::kError, log::kRuntime,
               Format("the exception callback for task %u of stream %u threw: %s", exception.task, exception.stream,
                      error.what()));
  } catch (...) {
    log::Write(log::Level::kError, log::kRuntime,
               Format("the exception callback for task %u of stream %u threw", exception.task, exception.stream));
  }
}

}  // namespace millpond
