// SPDX-License-Identifier: Apache-2.0
// What an operator call touches, by the client's addresses.
#ifndef MILLPOND_SRC_EXEC_OP_ACCESSES_H_
#define MILLPOND_SRC_EXEC_OP_ACCESSES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "src/base/tensor_view.h"
#include "src/ops/call.h"
#include "src/trace/records.h"

namespace millpond {

// A list that allocates only when it is long.
class Accesses {
 public:
  Accesses() = default;
  explicit Accesses(const OpCall& call) { Add(call); }

  void Add(const OpCall& call);
  // The view's bytes, exactly where they are rows of one pitch or a few such; else the range around them, marked
  // kMayTouch.
  void Add(const TensorView& view, trace::Mode mode);
  void Add(const trace::Access& access);

  std::span<const trace::Access> span() const {
    return more_.empty() ? std::span<const trace::Access>(few_, count_) : std::span<const trace::Access>(more_);
  }

 private:
  static constexpr size_t kFew = 8;
  trace::Access few_[kFew];
  size_t count_ = 0;
  std::vector<trace::Access> more_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_ACCESSES_H_
