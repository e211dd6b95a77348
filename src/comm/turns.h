// SPDX-License-Identifier: Apache-2.0
// Operations of one communicator meet those of its other ranks in the order in which they were issued, whatever streams
// they are on. A turn is a place in that order, drawn when an operation is issued and given up when it is over, or when
// its task is dropped. An operation of a captured graph draws none: it begins when it is run, as soon as no other has
// the turn. Safe from any thread.
#ifndef MILLPOND_SRC_COMM_TURNS_H_
#define MILLPOND_SRC_COMM_TURNS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "src/base/mutex.h"

namespace millpond::comm {

class Turns {
 public:
  static constexpr uint64_t kReplay = 0;

  uint64_t Draw() {
    MutexLock lock(mutex_);
    waiting_.insert(++drawn_);
    return drawn_;
  }
  // True when `turn` is the next one and nobody is at it: the caller is, until End.
  bool TryBegin(uint64_t turn) {
    MutexLock lock(mutex_);
    if (busy_ || (turn != kReplay && *waiting_.begin() != turn)) return false;
    busy_ = true;
    return true;
  }
  void End(uint64_t turn, bool begun) {
    MutexLock lock(mutex_);
    if (turn != kReplay) waiting_.erase(turn);
    if (begun) busy_ = false;
  }

 private:
  Mutex mutex_;
  uint64_t drawn_ GUARDED_BY(mutex_) = 0;
  bool busy_ GUARDED_BY(mutex_) = false;
  std::set<uint64_t> waiting_ GUARDED_BY(mutex_);
};

// One operation's turn. pre: `turns` outlives it.
class Turn {
 public:
  Turn() = default;
  Turn(Turns* turns, uint64_t number) : turns_(turns), number_(number) {}
  Turn(Turn&& other) noexcept
      : turns_(std::exchange(other.turns_, nullptr)), number_(other.number_), begun_(other.begun_) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() { End(); }
  // Of an operation that is a part of something larger, which has the turn.
  static Turn OfWhole() {
    Turn turn;
    turn.begun_ = true;
    return turn;
  }

  bool TryBegin() { return begun_ || (begun_ = turns_->TryBegin(number_)); }
  bool begun() const { return begun_; }
  void End() {
    if (turns_ != nullptr) std::exchange(turns_, nullptr)->End(number_, begun_);
    begun_ = false;
  }

 private:
  Turns* turns_ = nullptr;
  uint64_t number_ = Turns::kReplay;
  bool begun_ = false;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_TURNS_H_
