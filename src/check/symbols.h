// SPDX-License-Identifier: Apache-2.0
// Return addresses as a person reads them: function, file, line. libdw of elfutils is used where the machine has it
// (opened by name, so that nothing depends on it); without it the dynamic symbol table has to do.
#ifndef MILLPOND_SRC_CHECK_SYMBOLS_H_
#define MILLPOND_SRC_CHECK_SYMBOLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/check/python_frames.h"

namespace millpond::check {

struct Frame {
  std::string function;  // demangled; empty when unknown
  std::string file;      // empty when unknown
  int line = 0;
  std::string module;    // file name without folders
  uintptr_t offset = 0;  // in the module
  bool ours = false;     // one of Millpond's libraries
  bool python = false;
  bool framework = false;  // torch, Python and their like: between us and the user's line
  bool header = false;     // a framework's too: inline code of the C++ library's or of CANN's headers
};

// Not safe from several threads.
class Symbols {
 public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The calling thread's place as one number: its stack of return addresses, as the trace numbers it, and the frames of
  // Python if it runs any. All stacks below are such numbers.
  uint32_t Here(uint32_t trace_stack) {
    uint32_t python = python_.Current();
    if (python == 0 && python_.has_run() && IsBackward(trace_stack)) python = python_.OfBackward();
    return python == 0 ? trace_stack : Joined(trace_stack, python);
  }

  // The frames of a return address: one, and one more for each call that the compiler has put in place there, the
  // innermost first. Kept for ever: a program has few call sites.
  const std::vector<Frame>& Of(void* return_address);
  // All frames of a stack, innermost first: those of Python before those of the C functions under them.
  std::vector<const Frame*> FramesOf(uint32_t stack);
  // The return address that stands for the stack: the innermost that is neither ours nor a framework's, else the
  // innermost that is not ours. 0 for an unknown stack.
  uintptr_t CallSite(uint32_t stack);
  // The same with the callers that are neither ours nor a framework's, kPathFrames in all: programs have helpers that
  // make their calls for them.
  uint64_t CallPath(uint32_t stack);
  // The entry point that the program called: "aclrtFree". Looks at the dynamic symbols alone, so it is cheap.
  std::string EntryPoint(uint32_t stack);
  // Does the stack pass through a library whose file name begins like this?
  bool PassesThrough(uint32_t stack, std::string_view module, std::string_view function = {});
  // The user's line of a stack of Python, which lives as long as this; null when it has none.
  const char* PythonLine(uint32_t stack);
  // The version of a Python whose frames cannot be read, or "".
  const std::string& unread_python() const { return python_.unread_version(); }

 private:
  class Dwarf;
  std::unique_ptr<Dwarf> dwarf_;
  std::unordered_map<void*, std::vector<Frame>> frames_;
  static constexpr uint32_t kJoined = 0x80000000;  // the number is of joined_

  uint32_t TraceStack(uint32_t stack) const { return (stack & kJoined) != 0 ? joined_[stack & ~kJoined].first : stack; }
  uint32_t PythonStack(uint32_t stack) const { return (stack & kJoined) != 0 ? joined_[stack & ~kJoined].second : 0; }
  const std::vector<Frame>& PythonFramesOf(uint32_t python_stack);
  uint32_t Joined(uint32_t trace_stack, uint32_t python);
  bool IsHeader(std::string_view file) const;
  // Is it a thread of torch's that computes gradients?
  bool IsBackward(uint32_t trace_stack);
  bool FindsOnStack(uint32_t trace_stack, std::string_view module, std::string_view function) const;

  static constexpr int kPathFrames = 3;

  std::unordered_map<uint32_t, uintptr_t> call_sites_;
  std::unordered_map<uint32_t, uint64_t> call_paths_;
  std::unordered_map<uint32_t, std::string> entry_points_;
  std::unordered_map<uint32_t, bool> backward_;  // by the trace's stack
  // Of a trace's stack, a module and a function: asked at every task of some programs, and dladdr is slow.
  std::map<std::tuple<uint32_t, std::string, std::string>, bool, std::less<>> passes_;
  PythonFrames python_;
  std::vector<std::pair<uint32_t, uint32_t>> joined_;  // stacks of the trace and of Python
  std::unordered_map<uint64_t, uint32_t> numbers_;     // of joined_
  std::unordered_map<uint32_t, std::vector<Frame>> python_frames_;
  std::map<uint32_t, std::string> python_lines_;
  std::string our_folder_;
  std::string our_headers_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_SYMBOLS_H_
