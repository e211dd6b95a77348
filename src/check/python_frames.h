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

// Where an interpreter of one version keeps what is read here: offsets into its structures, in bytes.
struct PythonLayout {
  const char* version;       // "3.11."
  size_t frame_holder = 56;  // of a thread's state: what has the current frame
  bool holder_is_frame = false;
  size_t current = 0;                               // of the holder, unless that is the frame itself
  size_t code = 0, previous = 8, instruction = 56;  // of a frame
  bool instruction_is_index = false;                // into the bytecode, in units; else a pointer into the code object
  size_t owner = 0;                                 // of a frame: a byte that tells whether a function's; 0: all are
  size_t file = 112, name = 128, bytecode = 0;      // of a code object; `name` is the qualified one if there is one
  size_t characters = 40;                           // of a compact ASCII str
};

// For what Py_GetVersion answers; null for versions that nobody has looked into.
const PythonLayout* PythonLayoutOf(const char* version);

// Not safe from several threads.
class PythonFrames {
 public:
  // The number of the calling thread's Python stack, from 1; 0 when it runs no Python.
  uint32_t Current() {
    // Python may be loaded after us: looked for a few times, at calls that are further and further apart.
    if (layout_ == nullptr) {
      if (looked_) return 0;
      ++looks_;
      if ((looks_ & (looks_ - 1)) != 0) return 0;
    }
    return Read();
  }
  // Of a thread that torch computes gradients on, which runs no Python itself: the stack of the one thread that waits
  // for them, 0 when there is none or several. It stays where it is meanwhile, so it is looked for once.
  uint32_t OfBackward() {
    if (backward_at_ != reads_) {
      backward_at_ = reads_;
      backward_ = FindBackward();
    }
    return backward_;
  }
  // Innermost first.
  const std::vector<PythonFrame>& Of(uint32_t stack) const { return stacks_[stack]; }
  // Whether any thread was seen to run Python.
  bool has_run() const { return reads_ != 0; }
  // The version of an interpreter that is there and cannot be read, or "".
  const std::string& unread_version() const { return unread_version_; }

 private:
  struct Place {
    const char* code;
    int offset;      // in bytes of its bytecode
    uint64_t stamp;  // of what the code is, for its memory may serve another one later
    bool operator==(const Place&) const = default;
  };

  // Finds the interpreter once it is there.
  bool Find();
  uint32_t Read();
  // The stack that begins with the frame, of a thread that does not change it.
  uint32_t ReadFrom(const void* frame);
  uint32_t FindBackward();
  // For other threads, which may go on or be gone: null or false when it cannot be told.
  const void* InnermostOf(const void* thread) const;
  bool WaitsForBackward(const void* frame) const;
  PythonFrame Describe(const Place& place) const;
  uint64_t StampOf(const char* code, bool thorough) const;

  static constexpr size_t kMaxFrames = 24;
  static constexpr size_t kThorough = 3;  // the innermost, where code that comes and goes is met
  static constexpr size_t kThreads = 8;   // that may wait for gradients: the latest that ran Python

  bool looked_ = false;
  int looks_ = 0;
  std::string unread_version_;
  const PythonLayout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  const void* text_type_ = nullptr;
  void* (*this_thread_)() = nullptr;
  int (*line_of_)(void*, int) = nullptr;
  std::vector<const void*> threads_;  // their states, the latest last
  uint64_t reads_ = 0;                // that found frames
  uint64_t backward_at_ = 0;          // of reads_
  uint32_t backward_ = 0;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  std::vector<std::vector<Place>> places_{{}};
  std::vector<std::vector<PythonFrame>> stacks_{{}};
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_PYTHON_FRAMES_H_
