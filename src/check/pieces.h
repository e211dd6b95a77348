// SPDX-License-Identifier: Apache-2.0
// Pieces of blocks that pools gave out: torch_npu's caching allocator tells its own, a pluggable allocator's are seen
// at my_malloc. A piece is what a tensor lives in; the same bytes belong to one after the other.
#ifndef MILLPOND_SRC_CHECK_PIECES_H_
#define MILLPOND_SRC_CHECK_PIECES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "src/check/shadow.h"
#include "src/trace/records.h"

namespace millpond::check {

// record_stream was called for the piece, and its allocator heard nothing of it.
struct LostRecord {
  int32_t stream;
  uint32_t stack;
};

struct Piece {
  uintptr_t begin = 0, end = 0;
  uint64_t number = 0;     // in the order in which pieces were given out, from 1
  uint64_t sequence = 0;   // of the last task told before it was given out
  int32_t owner = -1;      // the stream it was given out for, if that is known
  uint32_t allocated = 0;  // stack
  uint32_t freed = 0;      // stack, of former ones
  bool pluggable = false;  // of an allocator that the client plugged into torch_npu
  std::vector<Use> users;  // of pluggable ones: the last of each stream
  std::vector<LostRecord> lost_records;

  size_t bytes() const { return end - begin; }
};

// Not safe from several threads.
class Pieces {
 public:
  // Replaces what was said of the bytes before. The piece, until the next call.
  Piece& Add(Piece piece);
  // The piece that begins there, taken out and remembered.
  std::optional<Piece> Remove(uintptr_t begin, uint32_t stack);
  // The live piece that has the address, or null.
  Piece* Find(uintptr_t address);
  // A live piece that shares a byte with the range, or null.
  const Piece* Overlapping(uintptr_t begin, uintptr_t end) const;
  // The youngest that had the address, went back, and was given out before the task of that sequence; or null.
  const Piece* FindFormer(uintptr_t address, uint64_t sequence) const;
  // The memory below went: nothing is live there any more.
  void Forget(uintptr_t begin, uintptr_t end);
  void Touch(const trace::Access& access, const Use& use);

  bool empty() const { return live_.empty(); }
  const std::map<uintptr_t, Piece>& live() const { return live_; }

 private:
  static constexpr size_t kRemembered = 4096;

  std::map<uintptr_t, Piece> live_;  // by beginning; they do not overlap
  std::deque<Piece> former_;         // the oldest first
  uint64_t count_ = 0;
  size_t pluggable_ = 0;  // how many of the live ones are
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_PIECES_H_
