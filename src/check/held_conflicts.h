// SPDX-License-Identifier: Apache-2.0
// Conflicts that a function of the client's may order: a stream that calls one goes on when it returns, and it may wait
// for what the host learns meanwhile. When it has returned it is known whether the later task could come first.
#ifndef MILLPOND_SRC_CHECK_HELD_CONFLICTS_H_
#define MILLPOND_SRC_CHECK_HELD_CONFLICTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/check/order.h"
#include "src/check/shadow.h"

namespace millpond::check {

// Not safe from several threads.
class HeldConflicts {
 public:
  explicit HeldConflicts(Order* order) : order_(*order) {}

  struct Held {
    Conflict conflict;
    Use later;
    Order::Doubt doubt;
  };

  // pre: `later` is being enqueued. One of a pair of places is enough.
  void Keep(const Conflict& conflict, const Use& later);
  bool empty() const { return held_.empty(); }
  // Takes out what is decided, and gives what nothing orders.
  std::vector<Held> TakeDecided();
  // The bytes have another owner, of whom nothing may be said.
  void Forget(uintptr_t begin, uintptr_t end);

 private:
  static constexpr size_t kMaxHeld = 256;

  Order& order_;
  std::vector<Held> held_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_HELD_CONFLICTS_H_
