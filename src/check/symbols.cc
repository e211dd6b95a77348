// SPDX-License-Identifier: Apache-2.0
#include "src/check/symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "src/trace/stack_depot.h"

namespace millpond::check {

namespace {

// The part of libdw's interface that is used; its types are opaque to us.
struct Dwfl;
struct DwflModule;
struct DwflLine;
struct DwflCallbacks {
  int (*find_elf)(DwflModule*, void**, const char*, uint64_t, char**, void**);
  int (*find_debuginfo)(DwflModule*, void**, const char*, uint64_t, const char*, const char*, uint32_t, char**);
  int (*section_address)(DwflModule*, void**, const char*, uint64_t, const char*, uint32_t, const void*, uint64_t*);
  char** debuginfo_path;
};

std::string Demangled(const char* name) {
  int status = 0;
  char* const readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && readable != nullptr ? readable : name;
  std::free(readable);
  return out;
}

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view Folder(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

// Packages between the user's line and us.
bool IsPythonFramework(std::string_view file) {
  return file.find("/torch/") != std::string_view::npos || file.find("/torch_npu/") != std::string_view::npos ||
         file.find("/torchair/") != std::string_view::npos || file.ends_with("/millpond/_torch.py") ||
         file.starts_with("<");
}

bool IsFramework(std::string_view module) {
  static constexpr std::string_view kBeginnings[] = {"libtorch", "libc10",    "libpython", "python3",  "_C.",
                                                     "acl.",     "libstdc++", "libgcc_s",  "_ctypes.", "libffi"};
  if (module == "python") return true;  // an environment's own name for it
  for (const std::string_view beginning : kBeginnings) {
    if (module.starts_with(beginning)) return true;
  }
  return false;
}

}  // namespace

class Symbols::Dwarf {
 public:
  // Null when the machine has no libdw.
  static std::unique_ptr<Dwarf> Open() {
    auto dwarf = std::make_unique<Dwarf>();
    void* const library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);  // stays: its data are used until the end
    return library != nullptr && dwarf->Bind(library) ? std::move(dwarf) : nullptr;
  }

  // Function, file and line of an address inside the instruction.
  void Describe(uintptr_t address, Frame* frame) {
    DwflModule* module = dwfl_ != nullptr ? addrmodule_(dwfl_, address) : nullptr;
    if (module == nullptr) {
      // Something was loaded since.
      if (dwfl_ != nullptr) end_(dwfl_);
      dwfl_ = begin_(&callbacks_);
      if (dwfl_ == nullptr || linux_proc_report_(dwfl_, getpid()) != 0 || report_end_(dwfl_, nullptr, nullptr) != 0) {
        return;
      }
      module = addrmodule_(dwfl_, address);
    }
    if (module == nullptr) return;
    if (const char* name = addrname_(module, address)) frame->function = Demangled(name);
    DwflLine* const line = getsrc_(module, address);
    if (line == nullptr) return;
    int number = 0;
    if (const char* file = lineinfo_(line, nullptr, &number, nullptr, nullptr, nullptr)) {
      frame->file = file;
      frame->line = number;
    }
  }

 private:
  template <class Function>
  bool Take(void* library, const char* name, Function** out) {
    *out = reinterpret_cast<Function*>(dlsym(library, name));
    return *out != nullptr;
  }
  bool Bind(void* library) {
    callbacks_ = {};
    return Take(library, "dwfl_begin", &begin_) && Take(library, "dwfl_end", &end_) &&
           Take(library, "dwfl_linux_proc_report", &linux_proc_report_) &&
           Take(library, "dwfl_report_end", &report_end_) && Take(library, "dwfl_addrmodule", &addrmodule_) &&
           Take(library, "dwfl_module_addrname", &addrname_) && Take(library, "dwfl_module_getsrc", &getsrc_) &&
           Take(library, "dwfl_lineinfo", &lineinfo_) &&
           Take(library, "dwfl_linux_proc_find_elf", &callbacks_.find_elf) &&
           Take(library, "dwfl_standard_find_debuginfo", &callbacks_.find_debuginfo);
  }

  DwflCallbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  Dwfl* (*begin_)(const DwflCallbacks*) = nullptr;
  void (*end_)(Dwfl*) = nullptr;
  int (*linux_proc_report_)(Dwfl*, pid_t) = nullptr;
  int (*report_end_)(Dwfl*, void*, void*) = nullptr;
  DwflModule* (*addrmodule_)(Dwfl*, uint64_t) = nullptr;
  const char* (*addrname_)(DwflModule*, uint64_t) = nullptr;
  DwflLine* (*getsrc_)(DwflModule*, uint64_t) = nullptr;
  const char* (*lineinfo_)(DwflLine*, uint64_t*, int*, int*, uint64_t*, uint64_t*) = nullptr;
};

Symbols::Symbols() : dwarf_(Dwarf::Open()) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&trace::InternStack), &info) != 0 && info.dli_fname != nullptr) {
    our_folder_ = Folder(info.dli_fname);
  }
}
Symbols::~Symbols() = default;

const Frame& Symbols::Of(void* return_address) {
  const auto [place, made] = frames_.try_emplace(return_address);
  Frame& frame = place->second;
  if (!made) return frame;
  // The call is the instruction before the one it returns to.
  const uintptr_t address = reinterpret_cast<uintptr_t>(return_address) - 1;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_fname != nullptr) {
    frame.module = FileName(info.dli_fname);
    frame.offset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
    frame.ours = !our_folder_.empty() && Folder(info.dli_fname) == our_folder_ && frame.module.starts_with("lib");
    frame.framework = IsFramework(frame.module);
    if (info.dli_sname != nullptr) frame.function = Demangled(info.dli_sname);
  }
  if (dwarf_ != nullptr) dwarf_->Describe(address, &frame);
  return frame;
}

uint32_t Symbols::Joined(uint32_t trace_stack, uint32_t python) {
  const auto [place, made] =
      numbers_.try_emplace(uint64_t{trace_stack} << 32 | python, static_cast<uint32_t>(joined_.size()));
  if (made) joined_.emplace_back(trace_stack, python);
  return place->second | kJoined;
}

const std::vector<Frame>& Symbols::PythonFramesOf(uint32_t python_stack) {
  const auto [place, made] = python_frames_.try_emplace(python_stack);
  if (!made || python_stack == 0) return place->second;
  for (const PythonFrame& from : python_.Of(python_stack)) {
    Frame frame;
    frame.function = from.function;
    frame.file = from.file;
    frame.line = from.line;
    frame.python = true;
    frame.framework = IsPythonFramework(from.file);
    place->second.push_back(std::move(frame));
  }
  return place->second;
}

std::vector<const Frame*> Symbols::FramesOf(uint32_t stack) {
  std::vector<const Frame*> frames;
  for (const Frame& frame : PythonFramesOf(PythonStack(stack))) frames.push_back(&frame);
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(TraceStack(stack), addresses);
  for (size_t i = 0; i < count; ++i) frames.push_back(&Of(addresses[i]));
  return frames;
}

std::string Symbols::EntryPoint(uint32_t stack) {
  const auto [place, made] = entry_points_.try_emplace(TraceStack(stack));
  if (!made) return place->second;
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(TraceStack(stack), addresses);
  std::string last = "a call";
  for (size_t i = 0; i < count; ++i) {
    Dl_info info;
    const uintptr_t address = reinterpret_cast<uintptr_t>(addresses[i]) - 1;
    if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) break;
    if (Folder(info.dli_fname) != our_folder_) break;
    if (info.dli_sname != nullptr) last = Demangled(info.dli_sname);
  }
  return place->second = last.substr(0, last.find('('));
}

bool Symbols::PassesThrough(uint32_t stack, std::string_view module) {
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(TraceStack(stack), addresses);
  for (size_t i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(addresses[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (FileName(info.dli_fname).starts_with(module)) return true;
  }
  return false;
}

uintptr_t Symbols::CallSite(uint32_t stack) {
  const auto [place, made] = call_sites_.try_emplace(stack, 0);
  if (!made) return place->second;
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(TraceStack(stack), addresses);
  uintptr_t outside = 0;
  // The user's line of Python stands for the stack, unless a library of the user's is nearer.
  for (const Frame& frame : PythonFramesOf(PythonStack(stack))) {
    if (frame.framework) continue;
    outside = std::hash<std::string>()(frame.file + ":" + std::to_string(frame.line));
    break;
  }
  for (size_t i = 0; i < count; ++i) {
    const Frame& frame = Of(addresses[i]);
    if (frame.ours) continue;
    const auto address = reinterpret_cast<uintptr_t>(addresses[i]);
    if (outside == 0) outside = address;
    if (frame.framework) continue;
    return place->second = address;
  }
  return place->second = outside;
}

}  // namespace millpond::check
