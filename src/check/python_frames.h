// SPDX-License-Identifier: Apache-2.0
// Where a Python program is: the frames of the calling thread, without the GIL. A thread that is inside a C function
// does not change its own frames, so they can be read as they lie; the layouts are those of the versions that the
// source names, and what looks different is left alone.
#ifndef MILLPOND_SRC_CHECK_PYTHON_FRAMES_H_
#define MILLPOND_SRC_CHECK_PYTHON_FRAMES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace millpond::check {

struct PythonFrame {
  std::string function, file;
  int line = 0;
};

// Not safe from several threads.
class PythonFrames {
 public:
  // The number of the calling thread's Python stack, from 1; 0 when it runs no Python.
  uint32_t Current();
  // Innermost first.
  const std::vector<PythonFrame>& Of(uint32_t stack) const { return stacks_[stack]; }

 private:
  // Offsets into the interpreter's structures.
  struct Layout {
    size_t frame_holder;                 // of a thread's state: pointer to the holder of its current frame
    size_t current;                      // of the holder
    size_t code, previous, instruction;  // of a frame
    size_t file, name, bytecode;         // of a code object
  };
  struct Place {
    const char* code;
    int offset;  // in bytes of its bytecode
    bool operator==(const Place&) const = default;
  };

  // Finds the interpreter once it is there.
  bool Ready();
  static const Layout* LayoutOf(const char* version);
  PythonFrame Describe(const Place& place) const;

  static constexpr size_t kMaxFrames = 24;

  bool looked_ = false;
  int looks_ = 0;
  const Layout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  const void* text_type_ = nullptr;
  void* (*this_thread_)() = nullptr;
  int (*line_of_)(void*, int) = nullptr;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::vector<std::vector<Place>> places_{{}};
  std::vector<std::vector<PythonFrame>> stacks_{{}};
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_PYTHON_FRAMES_H_
