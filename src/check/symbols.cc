// SPDX-License-Identifier: Apache-2.0
#include "src/check/symbols.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "src/base/format.h"
#include "src/trace/libdw.h"
#include "src/trace/stack_depot.h"

namespace millpond::check {

namespace {

using trace::Demangled;

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view Folder(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

// Packages between the user's line and us.
bool IsPythonFramework(std::string_view file) {
  return file.find("/torch/") != std::string_view::npos || file.find("/torch_npu/") != std::string_view::npos ||
         file.find("/torchair/") != std::string_view::npos || file.ends_with("/millpond/_torch.py") ||
         file.starts_with("<");
}

bool IsFramework(std::string_view module) {
  static constexpr std::string_view kBeginnings[] = {"libtorch",  "libc10",   "libpython", "python3", "_C.",  "acl.",
                                                     "libstdc++", "libgcc_s", "_ctypes.",  "libffi",  "libc."};
  if (module == "python") return true;  // an environment's own name for it
  for (const std::string_view beginning : kBeginnings) {
    if (module.starts_with(beginning)) return true;
  }
  return false;
}

// Is any of what was put in place at an address the user's own?
bool HasUsers(const std::vector<Frame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const Frame& frame) { return !frame.ours && !frame.framework; });
}

}  // namespace

// This process, as libdw knows it.
class Symbols::Dwarf {
 public:
  // Null when the machine has no libdw.
  static std::unique_ptr<Dwarf> Open() {
    const trace::Libdw* const libdw = trace::Libdw::Get();
    return libdw != nullptr ? std::make_unique<Dwarf>(*libdw) : nullptr;
  }
  explicit Dwarf(const trace::Libdw& libdw) : libdw_(libdw) {}

  // Function, file and line of an address inside the instruction; one frame more for each call that was put in place,
  // the innermost first.
  void Describe(uintptr_t address, std::vector<Frame>* frames) {
    trace::DwflModule* module = dwfl_ != nullptr ? libdw_.module_at(dwfl_, address) : nullptr;
    if (module == nullptr) {
      // Something was loaded since.
      if (dwfl_ != nullptr) libdw_.end(dwfl_);
      dwfl_ = libdw_.BeginProcess(getpid());
      if (dwfl_ != nullptr) module = libdw_.module_at(dwfl_, address);
    }
    if (module == nullptr) return;
    const std::vector<trace::Libdw::Place> places = libdw_.Unfold(module, address);
    frames->resize(places.size(), frames->front());
    for (size_t i = 0; i < places.size(); ++i) {
      Frame& frame = (*frames)[i];
      if (places[i].function != nullptr) frame.function = Demangled(places[i].function);
      if (places[i].file == nullptr) continue;
      frame.file = places[i].file;
      frame.line = places[i].line;
    }
  }

 private:
  const trace::Libdw& libdw_;
  trace::Dwfl* dwfl_ = nullptr;
};

Symbols::Symbols() : dwarf_(Dwarf::Open()) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&trace::InternStack), &info) != 0 && info.dli_fname != nullptr) {
    our_folder_ = Folder(info.dli_fname);
    our_headers_ = std::string(Folder(std::string_view(our_folder_).substr(0, our_folder_.size() - 1))) + "include/";
  }
}
Symbols::~Symbols() = default;

const std::vector<Frame>& Symbols::Of(void* return_address) {
  const auto [place, made] = frames_.try_emplace(return_address, 1);
  std::vector<Frame>& frames = place->second;
  if (!made) return frames;
  Frame& frame = frames.front();
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
  if (dwarf_ != nullptr) dwarf_->Describe(address, &frames);
  for (Frame& each : frames) {
    each.header = IsHeader(each.file);
    each.framework = each.framework || each.header;
  }
  return frames;
}

bool Symbols::IsHeader(std::string_view file) const {
  return file.find("/include/c++/") != std::string_view::npos ||
         (our_headers_.size() > 1 && file.starts_with(our_headers_));
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

const char* Symbols::PythonLine(uint32_t stack) {
  const uint32_t python = PythonStack(stack);
  const auto [place, made] = python_lines_.try_emplace(python);
  if (made) {
    const std::vector<Frame>& frames = PythonFramesOf(python);
    const auto line = std::find_if(frames.begin(), frames.end(), [](const Frame& frame) { return !frame.framework; });
    if (line != frames.end()) {
      place->second = Format("%s:%d in %s", line->file.c_str(), line->line, line->function.c_str());
    }
  }
  return place->second.empty() ? nullptr : place->second.c_str();
}

std::vector<const Frame*> Symbols::FramesOf(uint32_t stack) {
  std::vector<const Frame*> frames;
  for (const Frame& frame : PythonFramesOf(PythonStack(stack))) frames.push_back(&frame);
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(TraceStack(stack), addresses);
  for (size_t i = 0; i < count; ++i) {
    for (const Frame& frame : Of(addresses[i])) frames.push_back(&frame);
  }
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

bool Symbols::PassesThrough(uint32_t stack, std::string_view module, std::string_view function) {
  const uint32_t known = TraceStack(stack);
  const auto place = passes_.find(std::tuple(known, module, function));
  if (place != passes_.end()) return place->second;
  const bool passes = FindsOnStack(known, module, function);
  passes_.emplace(std::tuple(known, std::string(module), std::string(function)), passes);
  return passes;
}

bool Symbols::FindsOnStack(uint32_t trace_stack, std::string_view module, std::string_view function) const {
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(trace_stack, addresses);
  for (size_t i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(addresses[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (!FileName(info.dli_fname).starts_with(module)) continue;
    if (function.empty() || (info.dli_sname != nullptr && function == info.dli_sname)) return true;
  }
  return false;
}

bool Symbols::IsBackward(uint32_t trace_stack) {
  const auto [place, made] = backward_.try_emplace(trace_stack, false);
  if (!made) return place->second;
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = trace::StackFrames(trace_stack, addresses);
  for (size_t i = 0; i < count && !place->second; ++i) {
    Dl_info info;
    const bool known = dladdr(addresses[i], &info) != 0 && info.dli_sname != nullptr;
    place->second = known && std::string_view(info.dli_sname).starts_with("_ZN5torch8autograd6Engine");
  }
  return place->second;
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
    const std::vector<Frame>& frames = Of(addresses[i]);
    if (frames.front().ours) continue;
    const auto address = reinterpret_cast<uintptr_t>(addresses[i]);
    if (outside == 0) outside = address;
    if (HasUsers(frames)) return place->second = address;
  }
  return place->second = outside;
}

uint64_t Symbols::CallPath(uint32_t stack) {
  const auto [place, made] = call_paths_.try_emplace(stack, 0);
  if (!made) return place->second;
  uint64_t path = CallSite(stack);
  int left = kPathFrames;
  const auto add = [&](uint64_t site) {
    path = path * 0x100000001B3 ^ site;
    return --left > 0;
  };
  bool goes_on = true;
  for (const Frame& frame : PythonFramesOf(PythonStack(stack))) {
    if (frame.framework) continue;
    goes_on = add(std::hash<std::string>()(frame.file + ":" + std::to_string(frame.line)));
    if (!goes_on) break;
  }
  std::array<void*, trace::kMaxStackFrames> addresses;
  const size_t count = left == kPathFrames ? trace::StackFrames(TraceStack(stack), addresses) : 0;
  for (size_t i = 0; i < count && goes_on; ++i) {
    if (HasUsers(Of(addresses[i]))) goes_on = add(reinterpret_cast<uintptr_t>(addresses[i]));
  }
  return place->second = path;
}

}  // namespace millpond::check
