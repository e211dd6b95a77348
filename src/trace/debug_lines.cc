// SPDX-License-Identifier: Apache-2.0
#include "src/trace/debug_lines.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <sys/stat.h>

#include <climits>
#include <cstdlib>
#include <map>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"

namespace millpond::trace {

namespace {

// The part of libdw's interface that is used; its types are opaque to us.
struct Dwfl;
struct DwflModule;
struct DwflLine;
struct DwflCallbacks {
  void* find_elf;
  void* find_debuginfo;
  void* section_address;
  char** debuginfo_path;
};

class Libdw {
 public:
  // Null when the machine has no libdw.
  static const Libdw* Get() {
    static const Libdw* const only = [] {
      auto* const made = new Libdw;
      return made->Bind(dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) ? made : nullptr;
    }();
    return only;
  }

  void Find(const CodePlace& place, std::string* out_function, std::string* out_line) const {
    Dwfl* const session = begin_(&callbacks_);
    if (session == nullptr) return;
    DwflModule* const module = report_offline_(session, "", place.module.c_str(), -1);
    uint64_t start = 0;
    if (report_end_(session, nullptr, nullptr) == 0 && module != nullptr &&
        info_(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr) != nullptr) {
      if (const char* name = addrname_(module, start + place.offset)) *out_function = name;
      int number = 0;
      DwflLine* const line = getsrc_(module, start + place.offset);
      const char* const file = line != nullptr ? lineinfo_(line, nullptr, &number, nullptr, nullptr, nullptr) : nullptr;
      if (file != nullptr) *out_line = Format("%s:%d", file, number);
    }
    end_(session);
  }

 private:
  template <class Function>
  static bool Take(void* library, const char* name, Function* out) {
    *out = reinterpret_cast<Function>(dlsym(library, name));
    return *out != nullptr;
  }
  bool Bind(void* library) {
    return library != nullptr && Take(library, "dwfl_begin", &begin_) && Take(library, "dwfl_end", &end_) &&
           Take(library, "dwfl_report_offline", &report_offline_) && Take(library, "dwfl_report_end", &report_end_) &&
           Take(library, "dwfl_module_info", &info_) && Take(library, "dwfl_module_addrname", &addrname_) &&
           Take(library, "dwfl_module_getsrc", &getsrc_) && Take(library, "dwfl_lineinfo", &lineinfo_) &&
           Take(library, "dwfl_standard_find_debuginfo", &callbacks_.find_debuginfo) &&
           Take(library, "dwfl_offline_section_address", &callbacks_.section_address);
  }

  DwflCallbacks callbacks_{};
  Dwfl* (*begin_)(const DwflCallbacks*) = nullptr;
  void (*end_)(Dwfl*) = nullptr;
  DwflModule* (*report_offline_)(Dwfl*, const char*, const char*, int) = nullptr;
  int (*report_end_)(Dwfl*, void*, void*) = nullptr;
  const char* (*info_)(DwflModule*, void***, uint64_t*, uint64_t*, uint64_t*, uint64_t*, const char**,
                       const char**) = nullptr;
  const char* (*addrname_)(DwflModule*, uint64_t) = nullptr;
  DwflLine* (*getsrc_)(DwflModule*, uint64_t) = nullptr;
  const char* (*lineinfo_)(DwflLine*, uint64_t*, int*, int*, uint64_t*, uint64_t*) = nullptr;
};

std::string Demangled(const std::string& name) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && readable != nullptr ? readable : name;
  std::free(readable);
  return out;
}

bool IsFile(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

std::string Describe(const CodePlace& place) {
  std::string function = place.symbol, line;
  // What is not a file may keep a reader waiting for ever.
  if (const Libdw* libdw = Libdw::Get(); libdw != nullptr && IsFile(place.module)) libdw->Find(place, &function, &line);
  if (!function.empty()) function = Demangled(function);
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
