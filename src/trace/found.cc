// SPDX-License-Identifier: Apache-2.0
#include "src/trace/found.h"

#include "src/base/mutex.h"

namespace millpond::trace {

namespace {

struct Client {
  Mutex mutex;  // guards the rest; not held while the client's function runs
  Listener listener GUARDED_BY(mutex) = nullptr;
  void* function GUARDED_BY(mutex) = nullptr;
  void* argument GUARDED_BY(mutex) = nullptr;
};

Client& TheClient() {
  static auto& client = *new Client;  // leaked: findings come until the very end
  return client;
}

}  // namespace

void ListenToFindings(Listener listener, void* function, void* argument) {
  Client& client = TheClient();
  MutexLock lock(client.mutex);
  client.listener = function != nullptr ? listener : nullptr;
  client.function = function;
  client.argument = argument;
}

void TellFound(const Found& found) {
  Client& client = TheClient();
  Listener listener = nullptr;
  void* function = nullptr;
  void* argument = nullptr;
  {
    MutexLock lock(client.mutex);
    listener = client.listener;
    function = client.function;
    argument = client.argument;
  }
  if (listener != nullptr) listener(found, function, argument);
}

}  // namespace millpond::trace
