// SPDX-License-Identifier: Apache-2.0
// What one small file may cost. Functions that call functions, loops that are written out and names that are put before
// other names multiply: each alone is harmless, so all of them draw on one account for the whole model.
#ifndef MILLPOND_SRC_GRAPH_IR_BUDGET_H_
#define MILLPOND_SRC_GRAPH_IR_BUDGET_H_

#include <cstdint>

#include "src/base/status.h"

namespace millpond::ir {

class Budget {
 public:
  Budget(uint64_t bytes, uint64_t steps) : bytes_(bytes), steps_(steps) {}
  // For reading a file of this many bytes, in which everything is written out: an object takes some times its bytes.
  static Budget ForFile(uint64_t bytes) { return {(uint64_t{128} << 20) + kFileFactor * bytes, 1'000'000 + bytes}; }
  // pre: ForFile was told of them. They were a constant's: they describe nothing, and buy nothing.
  void NotDescribed(uint64_t bytes) {
    bytes_ -= kFileFactor * bytes;
    steps_ -= bytes;
  }
  // For a model whose description (everything but its constants) takes this many bytes. The floors suit what small
  // files ask for by loops; an honest description grows by far less than the factors.
  static Budget ForModel(uint64_t described) {
    return {(uint64_t{512} << 20) + 64 * described, 1'000'000 + 4 * described};
  }

  // pre: neither is near 2^63
  Status Spend(uint64_t bytes, uint64_t steps) {
    used_bytes_ += bytes;
    used_steps_ += steps;
    return __builtin_expect(used_bytes_ > bytes_ || used_steps_ > steps_, false) ? Refusal() : Ok();
  }

  uint64_t used_bytes() const { return used_bytes_; }
  uint64_t used_steps() const { return used_steps_; }

 private:
  static constexpr uint64_t kFileFactor = 16;

  Status Refusal() const;  // budget.cc

  uint64_t bytes_;
  uint64_t steps_;
  uint64_t used_bytes_ = 0;
  uint64_t used_steps_ = 0;
};

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_BUDGET_H_
