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
#include <memory_resource>
#include <unordered_map>
#include <utility>
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
  uint32_t group = 0;  // of Shadow::TouchAgain, else 0
};

// Two uses of [begin, end) that nothing orders, at least one of them a write. `held`: unless a function of the client's
// that has not returned orders them (Order::Decide).
struct Conflict {
  Use earlier;
  bool earlier_writes = false;
  bool later_writes = false;
  bool held = false;
  uintptr_t begin = 0, end = 0;
};

// What a task touches that comes again and again, such as the replay of a captured graph.
struct Repeated {
  explicit Repeated(const std::vector<trace::Access>& all);

  template <class See>
  void ForEach(See see) const {
    for (const trace::Access& access : plain) see(access);
    for (const trace::Access& access : strided) see(access);
  }

  std::vector<trace::Access> plain;  // of one row, by address
  std::vector<trace::Access> strided;
  std::vector<trace::Access> may;  // that nobody is accused of; not among the others
  size_t longest = 0;              // of the plain ones
};

// Not safe from several threads.
class Shadow {
 public:
  explicit Shadow(Order* order) : order_(*order) {}
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  // `use` touches the range on its stream. Appends at most one conflict: the first by address that is not held, or one
  // that is.
  void Touch(const trace::Access& access, const Use& use, std::vector<Conflict>* out_conflicts);
  // The same for all of `ranges`, which are those of the group (not 0) at its earlier calls. When the stream is the
  // same too, only those are looked at that somebody else has touched since: a replay costs what changed, not what it
  // has.
  void TouchAgain(uint32_t group, const Repeated& ranges, const Use& use, std::vector<Conflict>* out_conflicts);
  // A range that one use alone has: where it stands, until something there changes.
  class Place {
    friend class Shadow;
    void* cell = nullptr;
    uint32_t use = kNobody;
    uint64_t version = 0;
  };
  // Right after a Touch by `use`, which writes and has no other range: whether it has the range for itself.
  bool HasAlone(const trace::Access& access, const Use& use, Place* out_place) const;
  // Whether it still has, so that the same range again by the same stream needs no Touch: it renews the use.
  bool StillHas(const Place& place, const trace::Access& access) const {
    if (place.version != version_ || !strided_.empty()) return false;
    const Cell& cell = *static_cast<const Cell*>(place.cell);
    return cell.writer == place.use && cell.end == EndOf(access) && cell.HasNoReaders();
  }
  // pre: StillHas.
  Use* UseAt(const Place& place) { return &uses_[place.use]; }
  // The group's ranges will be others.
  void ForgetGroup(uint32_t group) { groups_.erase(group); }
  // The host touches it now. Needs no place: everything enqueued later comes after. A task that may still wait for the
  // host is no conflict.
  void TouchByHost(const trace::Access& access, std::vector<Conflict>* out_conflicts);
  // The bytes have a new life.
  void Forget(uintptr_t begin, uintptr_t end);
  // Drops what the host knows to be done: nothing can conflict with it any more.
  void Sweep();

  size_t cells() const { return cells_.size(); }
  uint64_t forgotten() const { return forgotten_; }

 private:
  static constexpr size_t kReaders = 4;
  static constexpr size_t kMaxApart = 64;       // accesses that are kept in no cell
  static constexpr size_t kMaxVisited = 4096;   // cells one access of several rows is compared with
  static constexpr size_t kMaxCells = 1 << 18;  // past these the shadow is swept, and cleared if that does not help
  static constexpr size_t kMaxUses = 1 << 18;
  static constexpr size_t kMaxChanged = 64;  // ranges of a group; more are all of them
  static constexpr uint32_t kNobody = 0;
  static constexpr int32_t kSeveralStreams = -2;

  using Readers = std::array<uint32_t, kReaders>;
  struct Cell {
    uintptr_t end;
    uint32_t writer = kNobody;  // in uses_
    int32_t writer_stream = 0;  // of `writer`: most conflicts are none because the streams are the same
    Readers readers{};

    bool HasNoReaders() const { return (readers[0] | readers[1] | readers[2] | readers[3]) == kNobody; }
  };
  using Cells = std::pmr::map<uintptr_t, Cell>;  // by beginning; they do not overlap
  // An access of several rows, or a reader that its cell had no room for.
  struct Strided {
    trace::Access access;
    uint32_t use;
    uintptr_t begin, end;  // of the access: most are rejected by these
  };
  // All cells of a group name one use, which moves on with each call.
  struct Group {
    uint32_t use = kNobody;                                // kNobody: all ranges are to be looked at
    std::vector<std::pair<uintptr_t, uintptr_t>> changed;  // what others have touched since
  };

  void ShrinkIfFull();
  void TouchAs(const trace::Access& access, const Use& use, uint32_t number, std::vector<Conflict>* out_conflicts);
  void TouchPlain(const trace::Access& access, const Use& use, uint32_t number, std::vector<Conflict>* out_conflicts);
  void TouchChanged(const Group& group, const Repeated& ranges, const Use& use, std::vector<Conflict>* out_conflicts);
  // `use`, which a group may have, loses [begin, end) to a task of `group`, or must hear of it.
  void Changes(uint32_t use, uint32_t group, uintptr_t begin, uintptr_t end);
  void ChangesAll(const Cell& cell, uint32_t group, uintptr_t begin);
  // The first cell that ends behind the address.
  Cells::iterator FirstBehind(uintptr_t address);
  // Later null: the host. These return true for a conflict that is not held; one that is may be left in `out` too.
  bool Compare(const Cell& cell, bool writes, const Use* later, Conflict* out) const;
  bool CompareOne(uint32_t earlier, bool earlier_writes, bool writes, const Use* later, Conflict* out) const;
  static void PlaceAt(uintptr_t begin, uintptr_t end, bool found, Conflict* out);
  bool CompareCells(const trace::Access& access, const Use* later, Conflict* out);
  bool CompareStrided(const trace::Access& access, const Use* later, Conflict* out);
  void Store(uintptr_t begin, uintptr_t end, bool reads, bool writes, uint32_t use);
  void Put(Cells::iterator cell, bool reads, bool writes, uint32_t use);
  void StoreStrided(const trace::Access& access, uint32_t use);
  void KeepApart(const trace::Access& access, uint32_t use);
  Cells::iterator SplitAt(uintptr_t at);
  uint32_t Number(const Use& use);
  static uintptr_t EndOf(const trace::Access& access) {
    return reinterpret_cast<uintptr_t>(access.address) + access.bytes;
  }
  bool IsDone(uint32_t use) const { return use == kNobody || order_.EveryHostHas(uses_[use].at); }

  Order& order_;
  std::pmr::unsynchronized_pool_resource memory_;
  Cells cells_{&memory_};
  Cells::iterator hint_ = cells_.end();  // where the last access was; end() after every erasure
  std::unordered_map<uint32_t, Group> groups_;
  std::vector<Strided> strided_;
  int32_t strided_stream_ = kSeveralStreams;  // of all their uses, when that is one: it has no conflict with itself
  std::vector<Use> uses_{Use{}};              // 0 is nobody
  uint64_t forgotten_ = 0;
  uint64_t swept_at_ = 0;  // Order::host_news
  uint64_t version_ = 0;   // another one when cells went or uses got other numbers
};

// Do the rows share a byte? Exact.
bool Overlap(const trace::Access& one, const trace::Access& other);

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_SHADOW_H_
