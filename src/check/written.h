// SPDX-License-Identifier: Apache-2.0
// Which bytes of the blocks that a program allocates were ever written, to notice what reads them before (MP503).
// Coarse on purpose: what is merged to stay small counts as written, so a read can be missed and none is accused
// wrongly.
#ifndef MILLPOND_SRC_CHECK_WRITTEN_H_
#define MILLPOND_SRC_CHECK_WRITTEN_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace millpond::check {

// Not safe from several threads.
class Written {
 public:
  // A fresh block, nothing of it written.
  void Begin(uintptr_t begin, uintptr_t end) { blocks_[begin] = {end, {}}; }
  void End(uintptr_t begin) { blocks_.erase(begin); }
  void Write(uintptr_t begin, uintptr_t end);
  // Somebody unseen may have written everywhere.
  void WriteAll() { blocks_.clear(); }
  bool IsKnown(uintptr_t address) const { return Find(address) != nullptr; }
  // The range lies in a block that is known, and no byte of it was written.
  bool IsUntouched(uintptr_t begin, uintptr_t end) const;

 private:
  static constexpr size_t kMaxRanges = 64;

  using Ranges = std::map<uintptr_t, uintptr_t>;  // begin, end; apart from each other
  struct Block {
    uintptr_t end;
    Ranges written;
  };
  // Null where no known block has the address.
  const Block* Find(uintptr_t address) const;

  std::map<uintptr_t, Block> blocks_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_WRITTEN_H_
