// SPDX-License-Identifier: Apache-2.0
// Memory that goes while somebody may still use it, and two operations on the same bytes that nothing orders.
#ifndef MILLPOND_SRC_CHECK_MEMORY_RULES_H_
#define MILLPOND_SRC_CHECK_MEMORY_RULES_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "src/check/allocator_rules.h"
#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class MemoryRules {
 public:
  MemoryRules(Ledger* ledger, AllocatorRules* allocators) : ledger_(*ledger), allocators_(*allocators) {}

  // `stack` as the checker numbers it.
  void OnTask(const trace::TaskEnqueued& task, uint32_t stack);
  void OnHostAccess(const trace::HostAccess& access);
  void OnMemory(const trace::MemoryChange& change);
  void OnMapping(const trace::MappingChange& change);
  void OnGraph(const trace::GraphShape& graph);

 private:
  // What a replay touches, each range once.
  struct Summary {
    Repeated ranges;
    std::vector<Block*> blocks;  // that the ranges are in, of this version
    uint64_t blocks_version = 0;
  };

  void Touch(std::span<const trace::Access> accesses, const Use& use);
  void TouchByReplay(uint32_t graph, Summary* summary, const Use& use);
  bool IsClients(const Block* block);
  void CheckGoing(const Block& block, uint32_t stack, uint32_t thread, bool unmapped);
  void CheckInside(const trace::GraphShape& graph);
  void Tell(const Conflict& conflict, const Use& later);
  Rule RuleOfGoing(const Block& block, const Use& user, uint32_t stack, bool unmapped);

  Ledger& ledger_;
  AllocatorRules& allocators_;
  std::unordered_map<uint32_t, Summary> graphs_;
  // Device allocations by call site, to notice programs that allocate all the time.
  std::unordered_map<uintptr_t, uint64_t> allocations_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_MEMORY_RULES_H_
