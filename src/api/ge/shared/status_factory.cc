// SPDX-License-Identifier: Apache-2.0
// One factory per calling module: the map inside is compiled into the caller, with the caller's std::string.
#include <dlfcn.h>

#include <map>
#include <string>
#include <utility>

#include "include/ge/ge_api_error_codes.h"
#include "src/base/mutex.h"

namespace ge {

StatusFactory* StatusFactory::Instance() {
  // The name beside the address: another module may be loaded where a former one was. An unknown caller is a module
  // too.
  Dl_info info{};
  const bool known = dladdr(__builtin_return_address(0), &info) != 0;
  static auto& mutex = *new millpond::Mutex;  // both leaked: modules register texts as they are loaded
  static auto& factories = *new std::map<std::pair<const void*, std::string>, StatusFactory*>;
  millpond::MutexLock lock(mutex);
  StatusFactory*& factory =
      factories[{known ? info.dli_fbase : nullptr, known && info.dli_fname != nullptr ? info.dli_fname : ""}];
  if (factory == nullptr) factory = new StatusFactory;
  return factory;
}

}  // namespace ge
