// SPDX-License-Identifier: Apache-2.0
// The part of elfutils' libdw that is used, opened by name where the machine has it, so that nothing depends on it. All
// of it is inline: the checker is a library of its own.
#ifndef MILLPOND_SRC_TRACE_LIBDW_H_
#define MILLPOND_SRC_TRACE_LIBDW_H_

#include <cxxabi.h>
#include <dlfcn.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace millpond::trace {

// "Step(int)" for "_Z4Stepi"; what is no such name stays as it is.
inline std::string Demangled(const char* name) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && readable != nullptr ? readable : name;
  std::free(readable);
  return out;
}

// libdw's types, opaque to us.
struct Dwfl;
struct DwflModule;
struct DwflLine;
struct DwarfFiles;
struct DwarfDie {
  void* address;
  void* unit;
  void* abbreviation;
  long padding;  // NOLINT: libdw's own type
};
struct DwarfAttribute {
  unsigned int code, form;
  unsigned char* value;
  void* unit;
};
struct DwflCallbacks {
  void* find_elf;
  void* find_debuginfo;
  void* section_address;
  char** debuginfo_path;
};

class Libdw {
 public:
  // Null when the machine has no libdw. It stays: its data are used until the end.
  static const Libdw* Get() {
    static const Libdw* const only = [] {
      auto* const made = new Libdw;
      return made->Bind(dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL)) ? made : nullptr;
    }();
    return only;
  }

  // What is known of an address; what is not, stays as it was. The function's name is as the file has it.
  struct Place {
    const char* function = nullptr;
    const char* file = nullptr;
    int line = 0;
  };
  Place Describe(DwflModule* module, uint64_t address) const {
    Place place;
    place.function = addrname_(module, address);
    DwflLine* const line = getsrc_(module, address);
    if (line != nullptr) place.file = lineinfo_(line, nullptr, &place.line, nullptr, nullptr, nullptr);
    return place;
  }

  // The same with the calls that the compiler has put in place: the innermost first, the function that has the address
  // last. Without that a line of a header stands for the line of the program that used it.
  std::vector<Place> Unfold(DwflModule* module, uint64_t address) const {
    std::vector<Place> places{Describe(module, address)};
    uint64_t bias = 0;
    DwarfDie* const unit = addrdie_(module, address, &bias);
    DwarfDie* innermost = nullptr;
    if (unit == nullptr || getscopes_(unit, address - bias, &innermost) <= 0) return places;
    DwarfDie* scopes = nullptr;
    const int count = getscopes_die_(innermost, &scopes);
    for (int i = 0; i < count && tag_(&scopes[i]) != kSubprogram; ++i) {
      if (tag_(&scopes[i]) != kInlinedSubroutine) continue;
      Place caller = CallOf(unit, &scopes[i]);
      caller.function = places.back().function;
      places.back().function = NameOf(&scopes[i]);
      places.push_back(caller);
    }
    std::free(scopes);
    std::free(innermost);
    return places;
  }

  // This process as it is now; null on failure.
  Dwfl* BeginProcess(pid_t pid) const {
    Dwfl* const session = begin(&process_);
    if (session == nullptr || (linux_proc_report_(session, pid) == 0 && report_end_(session, nullptr, nullptr) == 0)) {
      return session;
    }
    end(session);
    return nullptr;
  }
  // One file, and where it begins among the session's addresses; no module when it cannot be read.
  Dwfl* BeginFile(const char* path, DwflModule** out_module, uint64_t* out_start) const {
    *out_module = nullptr;
    Dwfl* const session = begin(&offline_);
    if (session == nullptr) return nullptr;
    DwflModule* const module = report_offline_(session, "", path, -1);
    if (report_end_(session, nullptr, nullptr) == 0 && module != nullptr &&
        info_(module, nullptr, out_start, nullptr, nullptr, nullptr, nullptr, nullptr) != nullptr) {
      *out_module = module;
    }
    return session;
  }

  Dwfl* (*begin)(const DwflCallbacks*) = nullptr;
  void (*end)(Dwfl*) = nullptr;
  DwflModule* (*module_at)(Dwfl*, uint64_t) = nullptr;

 private:
  // Numbers of the DWARF standard.
  static constexpr int kInlinedSubroutine = 0x1d, kSubprogram = 0x2e;
  static constexpr unsigned kCallFile = 0x58, kCallLine = 0x59, kLinkageName = 0x6e, kOldLinkageName = 0x2007;

  const char* NameOf(DwarfDie* function) const {
    for (const unsigned kind : {kLinkageName, kOldLinkageName}) {
      DwarfAttribute attribute;
      if (attr_integrate_(function, kind, &attribute) != nullptr) return formstring_(&attribute);
    }
    return diename_(function);
  }
  // Where the call stood that was put in place.
  Place CallOf(DwarfDie* unit, DwarfDie* inlined) const {
    Place place;
    DwarfFiles* files = nullptr;
    size_t count = 0;
    uint64_t file = 0, line = 0;
    DwarfAttribute attribute;
    if (formudata_(attr_(inlined, kCallLine, &attribute), &line) == 0) place.line = static_cast<int>(line);
    if (formudata_(attr_(inlined, kCallFile, &attribute), &file) == 0 && getsrcfiles_(unit, &files, &count) == 0) {
      place.file = filesrc_(files, file, nullptr, nullptr);
    }
    return place;
  }

  template <class Function>
  static bool Take(void* library, const char* name, Function* out) {
    *out = reinterpret_cast<Function>(dlsym(library, name));
    return *out != nullptr;
  }
  bool Bind(void* library) {
    if (library == nullptr || !Take(library, "dwfl_standard_find_debuginfo", &offline_.find_debuginfo)) return false;
    process_.find_debuginfo = offline_.find_debuginfo;
    return Take(library, "dwfl_begin", &begin) && Take(library, "dwfl_end", &end) &&
           Take(library, "dwfl_addrmodule", &module_at) && Take(library, "dwfl_report_end", &report_end_) &&
           Take(library, "dwfl_report_offline", &report_offline_) &&
           Take(library, "dwfl_linux_proc_report", &linux_proc_report_) && Take(library, "dwfl_module_info", &info_) &&
           Take(library, "dwfl_module_addrname", &addrname_) && Take(library, "dwfl_module_getsrc", &getsrc_) &&
           Take(library, "dwfl_lineinfo", &lineinfo_) &&
           Take(library, "dwfl_offline_section_address", &offline_.section_address) &&
           Take(library, "dwfl_linux_proc_find_elf", &process_.find_elf) && BindDies(library);
  }
  bool BindDies(void* library) {
    return Take(library, "dwfl_module_addrdie", &addrdie_) && Take(library, "dwarf_getscopes", &getscopes_) &&
           Take(library, "dwarf_getscopes_die", &getscopes_die_) && Take(library, "dwarf_tag", &tag_) &&
           Take(library, "dwarf_attr", &attr_) && Take(library, "dwarf_attr_integrate", &attr_integrate_) &&
           Take(library, "dwarf_formudata", &formudata_) && Take(library, "dwarf_formstring", &formstring_) &&
           Take(library, "dwarf_diename", &diename_) && Take(library, "dwarf_getsrcfiles", &getsrcfiles_) &&
           Take(library, "dwarf_filesrc", &filesrc_);
  }

  DwflCallbacks offline_{}, process_{};
  DwflModule* (*report_offline_)(Dwfl*, const char*, const char*, int) = nullptr;
  int (*linux_proc_report_)(Dwfl*, pid_t) = nullptr;
  int (*report_end_)(Dwfl*, void*, void*) = nullptr;
  const char* (*info_)(DwflModule*, void***, uint64_t*, uint64_t*, uint64_t*, uint64_t*, const char**,
                       const char**) = nullptr;
  const char* (*addrname_)(DwflModule*, uint64_t) = nullptr;
  DwflLine* (*getsrc_)(DwflModule*, uint64_t) = nullptr;
  const char* (*lineinfo_)(DwflLine*, uint64_t*, int*, int*, uint64_t*, uint64_t*) = nullptr;
  DwarfDie* (*addrdie_)(DwflModule*, uint64_t, uint64_t*) = nullptr;
  int (*getscopes_)(DwarfDie*, uint64_t, DwarfDie**) = nullptr;
  int (*getscopes_die_)(DwarfDie*, DwarfDie**) = nullptr;
  int (*tag_)(DwarfDie*) = nullptr;
  DwarfAttribute* (*attr_)(DwarfDie*, unsigned, DwarfAttribute*) = nullptr;
  DwarfAttribute* (*attr_integrate_)(DwarfDie*, unsigned, DwarfAttribute*) = nullptr;
  int (*formudata_)(DwarfAttribute*, uint64_t*) = nullptr;
  const char* (*formstring_)(DwarfAttribute*) = nullptr;
  const char* (*diename_)(DwarfDie*) = nullptr;
  int (*getsrcfiles_)(DwarfDie*, DwarfFiles**, size_t*) = nullptr;
  const char* (*filesrc_)(DwarfFiles*, size_t, const uint64_t**, const uint64_t**) = nullptr;
};

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_LIBDW_H_
