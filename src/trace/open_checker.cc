// SPDX-License-Identifier: Apache-2.0
// The checker is a library of its own, which this one opens when the environment asks for it: before any call, so that
// it hears of the first one too.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "src/trace/sink.h"

namespace millpond::trace {

namespace {

bool IsOn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

[[gnu::constructor]] void OpenChecker() {
  if (!IsOn("MILLPOND_CHECK") && !IsOn("MILLPOND_REPORT")) return;
  Dl_info us;
  if (dladdr(reinterpret_cast<void*>(&NowNs), &us) == 0 || us.dli_fname == nullptr) return;
  std::string path = us.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + "libmillpond_check.so";
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const start =
      library != nullptr ? reinterpret_cast<void (*)()>(dlsym(library, "millpond_check_start")) : nullptr;
  if (start == nullptr) {
    std::fprintf(stderr, "millpond: the run is not checked: %s; install Millpond anew, or unset MILLPOND_CHECK\n",
                 dlerror());
    return;
  }
  start();
}

}  // namespace

}  // namespace millpond::trace
