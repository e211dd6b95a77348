// SPDX-License-Identifier: Apache-2.0
// Pieces of blocks that pools gave out, whoever tells them: torch_npu's caching allocator tells its own, a pluggable
// allocator's are seen at my_malloc, a pool of the program's tells by millpond/check.h. The same bytes belong to one
// after the other. A pool may stand on another, so pieces that programs tell lie inside pieces. What a pool tells is
// taken at its word: a piece that begins where others have not ended takes their place.
#ifndef MILLPOND_SRC_CHECK_PIECES_H_
#define MILLPOND_SRC_CHECK_PIECES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/check/shadow.h"
#include "src/trace/records.h"

namespace millpond::check {

// record_stream was called for the piece, and its allocator heard nothing of it.
struct LostRecord {
  int32_t stream;
  uint32_t stack;
};

// Whose pool gave it out: torch_npu's, one that the client plugged into torch_npu, one of the program's own.
enum class Maker : uint8_t { kTorch, kPluggable, kProgram };

struct Piece {
  uintptr_t begin = 0, end = 0;
  Maker maker = Maker::kTorch;
  uint64_t number = 0;     // in the order in which pieces were given out, from 1
  uint64_t sequence = 0;   // of the last task told before it was given out
  int32_t owner = -1;      // the stream it was given out for, if that is known
  uint32_t allocated = 0;  // stack
  uint32_t freed = 0;      // stack, of former ones
  std::string name;        // as the program calls it
  std::vector<Use> users;  // of pluggable ones: the last of each stream
  std::vector<LostRecord> lost_records;

  size_t bytes() const { return end - begin; }
};

// Not safe from several threads.
class Pieces {
 public:
  void Add(Piece piece);
  // The innermost that begins there, of the program's pools or of torch_npu's, taken out with what lies in it, and
  // remembered.
  std::optional<Piece> Remove(uintptr_t begin, bool programs, uint32_t stack);
  // The innermost live piece that has the address, or null.
  Piece* Find(uintptr_t address);
  // The same of torch_npu's pools.
  Piece* FindTorchs(uintptr_t address);
  // The same of the program's.
  const Piece* FindPrograms(uintptr_t address);
  // The outermost of the program's that has the first byte of the range, when none has all of it; else null.
  const Piece* LeftBy(uintptr_t begin, uintptr_t end) const;
  // How many of the program's lie in the range, not counting those inside others.
  size_t ProgramsWithin(uintptr_t begin, uintptr_t end) const;
  // A live piece of torch_npu's pools that shares a byte with the range, or null.
  const Piece* Overlapping(uintptr_t begin, uintptr_t end) const;
  // The youngest of torch_npu's pools that had the address, went back, and was given out before the task of that
  // sequence; or null.
  const Piece* FindFormer(uintptr_t address, uint64_t sequence) const;
  // The memory below went: nothing is live there any more.
  void Forget(uintptr_t begin, uintptr_t end) {
    ForgetFrom(0, begin, end);
    ForgetGone(begin, end);
  }
  // Nobody may use the piece, which was taken out, until its bytes are given out again.
  void Leave(Piece piece);
  // The piece that was left and had the address, or null.
  const Piece* FindGone(uintptr_t address) const;
  void ForgetGone(uintptr_t begin, uintptr_t end);
  void Touch(const trace::Access& access, const Use& use);

  bool empty() const { return levels_[0].empty(); }
  // Pieces of the program's pools that bounds are known of, live or left.
  bool has_programs() const { return programs_ != 0; }
  bool has_pluggable() const { return pluggable_ != 0; }
  size_t size() const;

 private:
  static constexpr size_t kRemembered = 4096;
  static constexpr size_t kDepth = 4;
  using Level = std::map<uintptr_t, Piece>;  // by beginning; they do not overlap

  template <class Wanted>
  Piece* FindInnermost(uintptr_t address, Wanted wanted);
  void ForgetFrom(size_t depth, uintptr_t begin, uintptr_t end);
  void Count(const Piece& piece, bool comes);

  std::array<Level, kDepth> levels_;  // each entry lies in one of the level before
  std::deque<Piece> former_;          // of torch_npu's pools, the oldest first
  Level gone_;                        // those that were left
  uint64_t count_ = 0;
  size_t pluggable_ = 0, programs_ = 0;  // how many of the live ones are; of programs', with those that were left
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_PIECES_H_
