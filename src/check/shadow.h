// SPDX-License-Identifier: Apache-2.0
// Who touched each byte last: for every range the last writer and the readers since. An access is compared with them
// while it is enqueued; those that nothing orders before it are told, then it takes its place.
//
// What is forgotten to stay within bounds can only hide a conflict, never make one.
#ifndef MILLPOND_SRC_CHECK_SHADOW_H_
#define MILLPOND_SRC_CHECK_SHADOW_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "src/check/order.h"

namespace millpond::check {

// A task that touched memory, as a report shows it.
struct Use {
  Epoch at{-1, 0};
  uint64_t sequence = 0;  // in the order in which the checker heard of tasks, from 1
  uint32_t stack = 0;
  uint32_t name = 0;  // a number of the checker's own (Names)
  uint32_t thread = 0;
  trace::TaskKind kind = trace::TaskKind::kOther;
};

// Two uses of [begin, end) that nothing orders, at least one of them a write.
struct Conflict {
  Use earlier;
  bool earlier_writes;
  bool later_writes;
  uintptr_t begin, end;
};

// Not safe from several threads.
class Shadow {
 public:
  explicit Shadow(Order* order) : order_(*order) {}

  // `use` touches the range on its stream. Appends at most one conflict: the first by address.
  void Touch(const trace::Access& access, const Use& use, std::vector<Conflict>* out_conflicts);
  // The host touches it now. Needs no place: everything enqueued later comes after.
  void TouchByHost(const trace::Access& access, std::vector<Conflict>* out_conflicts);
  // The bytes have a new life.
  void Forget(uintptr_t begin, uintptr_t end);
  // Drops what the host knows to be done: nothing can conflict with it any more.
  void Sweep();

  size_t cells() const { return cells_.size(); }
  uint64_t forgotten() const { return forgotten_; }

 private:
  static constexpr size_t kReaders = 4;
  static constexpr size_t kMaxStrided = 64;     // accesses of several rows that are kept
  static constexpr size_t kMaxVisited = 4096;   // cells one access of several rows is compared with
  static constexpr size_t kMaxCells = 1 << 19;  // past these the shadow is swept, and cleared if that does not help
  static constexpr size_t kMaxUses = 1 << 19;
  static constexpr uint32_t kNobody = 0;

  struct Cell {
    uintptr_t end;
    uint32_t writer = kNobody;  // in uses_
    std::array<uint32_t, kReaders> readers{};
  };
  using Cells = std::map<uintptr_t, Cell>;  // by beginning; they do not overlap
  struct Strided {
    trace::Access access;
    uint32_t use;
  };

  void Shrink();
  // Later null: the host.
  bool Compare(const Cell& cell, bool writes, const Use* later, Conflict* out) const;
  bool CompareOne(uint32_t earlier, bool earlier_writes, bool writes, const Use* later, Conflict* out) const;
  bool CompareCells(const trace::Access& access, const Use* later, Conflict* out);
  bool CompareStrided(const trace::Access& access, const Use* later, Conflict* out);
  void Store(uintptr_t begin, uintptr_t end, bool reads, bool writes, uint32_t use);
  void Put(Cell* cell, bool reads, bool writes, uint32_t use);
  void StoreStrided(const trace::Access& access, uint32_t use);
  Cells::iterator SplitAt(uintptr_t at);
  uint32_t Number(const Use& use);
  bool IsDone(uint32_t use) const { return use == kNobody || order_.EveryHostHas(uses_[use].at); }

  Order& order_;
  Cells cells_;
  std::vector<Strided> strided_;
  std::vector<Use> uses_{Use{}};  // 0 is nobody
  uint64_t forgotten_ = 0;
};

// Do the rows share a byte? Exact.
bool Overlap(const trace::Access& one, const trace::Access& other);

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_SHADOW_H_
