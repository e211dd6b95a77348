// SPDX-License-Identifier: Apache-2.0
#include "src/trace/debug_lines.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/trace/libdw.h"

namespace millpond::trace {

namespace {

bool IsFile(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

void Find(const Libdw& libdw, const CodePlace& place, std::string* out_function, std::string* out_line) {
  DwflModule* module = nullptr;
  uint64_t start = 0;
  Dwfl* const session = libdw.BeginFile(place.module.c_str(), &module, &start);
  if (session == nullptr) return;
  if (module != nullptr) {
    const Libdw::Place found = libdw.Describe(module, start + place.offset);
    if (found.function != nullptr) *out_function = found.function;
    if (found.file != nullptr) *out_line = Format("%s:%d", found.file, found.line);
  }
  libdw.end(session);
}

std::string Describe(const CodePlace& place) {
  std::string function = place.symbol, line;
  // What is not a file may keep a reader waiting for ever.
  if (const Libdw* libdw = Libdw::Get(); libdw != nullptr && IsFile(place.module)) {
    Find(*libdw, place, &function, &line);
  }
  if (!function.empty()) function = Demangled(function.c_str());
  if (!line.empty()) return function.empty() ? line : line + " in " + function;
  const std::string at = Format("%s+0x%llx", place.module.substr(place.module.rfind('/') + 1).c_str(),
                                static_cast<unsigned long long>(place.offset));
  return function.empty() ? at : function + " in " + at;
}

struct Described {
  Mutex mutex;
  std::map<std::pair<std::string, uint64_t>, std::string> by_place GUARDED_BY(mutex);
};

}  // namespace

CodePlace PlaceOfCall(const void* return_address) {
  CodePlace place;
  // The call is the instruction before the one it returns to.
  const auto address = reinterpret_cast<uintptr_t>(return_address) - 1;
  place.offset = address;
  Dl_info info;
  if (return_address == nullptr || dladdr(reinterpret_cast<void*>(address), &info) == 0) return place;
  if (info.dli_sname != nullptr) place.symbol = info.dli_sname;
  if (info.dli_fname == nullptr) return place;
  place.module = info.dli_fname;
  place.offset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (place.module.starts_with('/')) return place;
  // Another process may stand in another folder. A name without a folder is the program's own, found by PATH.
  char path[PATH_MAX];
  const bool program = place.module.find('/') == std::string::npos;
  if (realpath(program ? "/proc/self/exe" : place.module.c_str(), path) != nullptr) place.module = path;
  return place;
}

std::string DescribePlace(const CodePlace& place) {
  if (place.module.empty()) return Format("0x%llx", static_cast<unsigned long long>(place.offset));
  static auto& described = *new Described;  // leaked: process groups end in static destructors
  const std::pair key(place.module, place.offset);
  {
    MutexLock lock(described.mutex);
    if (const auto found = described.by_place.find(key); found != described.by_place.end()) return found->second;
  }
  std::string text = Describe(place);
  MutexLock lock(described.mutex);
  return described.by_place.emplace(key, std::move(text)).first->second;
}

}  // namespace millpond::trace
