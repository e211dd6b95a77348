// SPDX-License-Identifier: Apache-2.0
// Device memory of a part of the run, such as one test: the most that was live at once, and the blocks that were
// allocated in it and are still there.
#ifndef MILLPOND_SRC_CHECK_MEMORY_SPAN_H_
#define MILLPOND_SRC_CHECK_MEMORY_SPAN_H_

#include <cstdint>
#include <map>

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class MemorySpan {
 public:
  explicit MemorySpan(Ledger* ledger) : ledger_(*ledger) {}

  void OnMemory(const trace::MemoryChange& change);
  // From here on.
  void Begin();
  // A line with what there is to say since Begin, or since the process started.
  void Write();

 private:
  struct Bytes {
    uint64_t live = 0;
    uint64_t peak = 0;
  };

  Ledger& ledger_;
  std::map<int32_t, Bytes> devices_;
  uint64_t allocations_before_ = 0;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_MEMORY_SPAN_H_
