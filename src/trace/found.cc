// SPDX-License-Identifier: Apache-2.0
#include "src/trace/found.h"

#include "src/base/mutex.h"

namespace millpond::trace {

namespace {

struct Listening {
  Mutex mutex;  // guards the rest; not held while the client's function runs
  Listener listener GUARDED_BY(mutex) = nullptr;
  void* function GUARDED_BY(mutex) = nullptr;
  void* argument GUARDED_BY(mutex) = nullptr;
};

Listening& TheListening() {
  static auto& listening = *new Listening;  // leaked: findings come until the very end
  return listening;
}

}  // namespace

void ListenToFindings(Listener listener, void* function, void* argument) {
  Listening& listening = TheListening();
  MutexLock lock(listening.mutex);
  listening.listener = function != nullptr ? listener : nullptr;
  listening.function = function;
  listening.argument = argument;
}

void TellFound(const Found& found) {
  Listening& listening = TheListening();
  Listener listener = nullptr;
  void* function = nullptr;
  void* argument = nullptr;
  {
    MutexLock lock(listening.mutex);
    listener = listening.listener;
    function = listening.function;
    argument = listening.argument;
  }
  if (listener != nullptr) listener(found, function, argument);
}

}  // namespace millpond::trace
