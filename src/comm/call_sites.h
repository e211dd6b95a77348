// SPDX-License-Identifier: Apache-2.0
// Where in the program each rank was asked for what it does, so that a message can name the line on every rank. A rank
// notes each place once, when it is first called from there, in the memory that all of them share; an operation
// carries the place's number.
#ifndef MILLPOND_SRC_COMM_CALL_SITES_H_
#define MILLPOND_SRC_COMM_CALL_SITES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "src/base/mutex.h"
#include "src/comm/match.h"
#include "src/comm/world.h"
#include "src/trace/program_line.h"

namespace millpond::comm {

// Where a rank was asked for something. The texts live for ever.
struct CallPlace {
  const void* address = nullptr;  // that the call returns to
  const char* whole = nullptr;    // the operator that was called there; null when that is the operation itself
  const char* line = trace::ProgramLine();
  auto operator<=>(const CallPlace&) const = default;
};

// This rank's places and its last act. Safe from any thread.
class CallSites {
 public:
  static constexpr uint32_t kUnknown = 0;

  // The number of the place; kUnknown when nothing is known of it, or there are too many.
  uint32_t NumberOf(RankCell* cell, const CallPlace& place);

  // What this rank does now, for the others to read. The answer is for Over.
  uint64_t Begin(RankCell* cell, const Descriptor& what);
  void Over(RankCell* cell, uint64_t act, bool well = true);
  // A call that is no operation, and which none of the other ranks meets: told unless there is something under way.
  void NoteEmpty(RankCell* cell, Descriptor what);
  static constexpr uint64_t kNoOperation = UINT64_MAX;  // its number

 private:
  Mutex mutex_;
  std::map<CallPlace, uint32_t> numbers_ GUARDED_BY(mutex_);
  uint64_t acts_ GUARDED_BY(mutex_) = 0;
};

// What LastAct says. Whoever writes it is the only one that does.
struct Act {
  uint64_t number = 0, count = 0;
  uint32_t operation = 0, type = 0, reduction = 0, root = 0, site = 0, over = 0;
};
void WriteAct(LastAct* last, const Act& act);

// " at train.cc:41 in Step()", or nothing when the place is not known.
std::string TextOfSite(const World& world, uint32_t rank, uint32_t site);
// The operator of which the operations from there are a part; empty when they are none.
std::string WholeOfSite(const World& world, uint32_t rank, uint32_t site);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_CALL_SITES_H_
