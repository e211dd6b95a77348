// SPDX-License-Identifier: Apache-2.0
// Memory over time by owner, the largest blocks, and what is live at the end, for the page of the run.
#ifndef MILLPOND_SRC_CHECK_MEMORY_REPORT_H_
#define MILLPOND_SRC_CHECK_MEMORY_REPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class MemoryReport {
 public:
  explicit MemoryReport(Ledger* ledger) : ledger_(*ledger) {}

  void OnMemory(const trace::MemoryChange& change);
  // The process ends.
  void Finish();

 private:
  struct Curve {
    uint64_t live = 0;
    uint64_t written = 0;  // the value the file has
    uint64_t peak = 0;
  };
  using Owner = std::pair<int32_t, std::string>;  // device and who
  struct Size {
    Owner owner;
    uint64_t count = 0;
  };

  // Which part of the program the stack belongs to.
  std::string OwnerOf(uint32_t stack);
  void WritePoint(const Owner& owner, Curve* curve);
  void NoteSize(const Owner& owner, size_t bytes, uint32_t stack);
  std::string BlockText(size_t bytes, const Owner& owner, uint32_t stack);

  Ledger& ledger_;
  std::map<Owner, Curve> curves_;
  std::map<std::pair<size_t, uint32_t>, Size> largest_;  // by size and stack
  std::map<uintptr_t, std::pair<Owner, size_t>> live_;   // by address
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_MEMORY_REPORT_H_
