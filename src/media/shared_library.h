// SPDX-License-Identifier: Apache-2.0
// A library that is opened when it is first needed, and stays open.
#ifndef MILLPOND_SRC_MEDIA_SHARED_LIBRARY_H_
#define MILLPOND_SRC_MEDIA_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "src/base/status.h"

namespace millpond::media {

class SharedLibrary {
 public:
  // `package` is what Debian calls it.
  Status Open(const char* name, const char* package) {
    name_ = name;
    opened_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (opened_ != nullptr) return Ok();
    const char* reason = dlerror();
    return Unsupported(
        Format("%s is needed for this and cannot be opened (%s); install it (Debian: apt-get install %s)", name,
               reason != nullptr ? reason : "no reason given", package));
  }
  template <class Function>
  void Find(const char* name, Function* out_function) {
    void* found = dlsym(opened_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    std::memcpy(out_function, &found, sizeof(found));
  }
  // What was looked for was there.
  Status Complete() const {
    if (missing_.empty()) return Ok();
    return Unsupported(
        Format("%s has no function %s; install the release that Debian 12 has", name_.c_str(), missing_.c_str()));
  }

 private:
  std::string name_;
  std::string missing_;
  void* opened_ = nullptr;
};

}  // namespace millpond::media

#endif  // MILLPOND_SRC_MEDIA_SHARED_LIBRARY_H_
