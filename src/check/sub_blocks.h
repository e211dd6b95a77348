// SPDX-License-Identifier: Apache-2.0
// Parts of blocks that a client's pool has given out, as it tells by millpond/check.h. A pool may stand on another, so
// parts may lie inside parts. What a pool tells is taken at its word: a part that begins where others have not ended
// takes their place.
#ifndef MILLPOND_SRC_CHECK_SUB_BLOCKS_H_
#define MILLPOND_SRC_CHECK_SUB_BLOCKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace millpond::check {

struct SubBlock {
  uintptr_t begin = 0, end = 0;
  std::string name;
  int32_t stream = -1;
  uint64_t sequence = 0;  // the last task told before it began
  uint32_t stack = 0;

  size_t bytes() const { return end - begin; }
};

// Not safe from several threads.
class SubBlocks {
 public:
  void Begin(SubBlock block);
  // The innermost that begins there ends, with what lies in it.
  void End(uintptr_t begin);
  // Everything in the range is gone.
  void Forget(uintptr_t begin, uintptr_t end);

  bool empty() const { return levels_[0].empty(); }
  // The innermost that has the address, or null.
  const SubBlock* Find(uintptr_t address) const;
  // The outermost that has the first byte of the range, when none has all of it; else null.
  const SubBlock* LeftBy(uintptr_t begin, uintptr_t end) const;
  // How many of the outermost lie in the range.
  size_t Within(uintptr_t begin, uintptr_t end) const;

 private:
  static constexpr size_t kDepth = 4;
  using Level = std::map<uintptr_t, SubBlock>;  // by beginning; they do not overlap

  static const SubBlock* FindIn(const Level& level, uintptr_t address);
  void ForgetFrom(size_t depth, uintptr_t begin, uintptr_t end);

  std::array<Level, kDepth> levels_;  // each entry lies in one of the level before
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_SUB_BLOCKS_H_
