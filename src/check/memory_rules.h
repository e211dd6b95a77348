// SPDX-License-Identifier: Apache-2.0
// Memory that goes while somebody may still use it, and two operations on the same bytes that nothing orders.
#ifndef MILLPOND_SRC_CHECK_MEMORY_RULES_H_
#define MILLPOND_SRC_CHECK_MEMORY_RULES_H_

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/check/allocator_rules.h"
#include "src/check/held_conflicts.h"
#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class MemoryRules {
 public:
  MemoryRules(Ledger* ledger, AllocatorRules* allocators) : ledger_(*ledger), allocators_(*allocators) {}

  // As OnTask, when the task is the same as one before it in all that matters: much quicker. False: nothing was done.
  bool OnTaskAgain(const trace::TaskEnqueued& task, uint32_t stack) {
    if (task.accesses.size() != 1 || !task.edges.empty() || task.graph != 0) return false;
    const trace::Access& access = task.accesses.front();
    const Again& again = AgainOf(access, task.stream);
    if (again.access.address != access.address || again.access.bytes != access.bytes || again.stream != task.stream ||
        again.kind != task.kind || again.access.mode != access.mode || access.rows != 1 || access.flags != 0 ||
        !IsPlain() || again.blocks_version != ledger_.blocks.version() ||
        !ledger_.shadow.StillHas(again.place, access)) {
      return false;
    }
    const uint32_t name = ledger_.Note(task);
    ledger_.order.Told({task.stream, task.count});
    // Made twice: to copy what was written just now, in other pieces, would wait for the store.
    *ledger_.shadow.UseAt(again.place) = ledger_.UseOf(task, stack, name);
    again.block->users[again.user] = ledger_.UseOf(task, stack, name);
    return true;
  }
  // `stack` as the checker numbers it; `more`: what the client has told of the task (millpond/check.h).
  Use OnTask(const trace::TaskEnqueued& task, uint32_t stack, std::span<const trace::Access> more);
  // The host knows more than before: functions of the client's may have returned.
  void OnHostLearnt();
  void OnHostAccess(const trace::HostAccess& access);
  void OnMemory(const trace::MemoryChange& change);
  void OnMapping(const trace::MappingChange& change);
  void OnGraph(const trace::GraphShape& graph);
  void OnCaptured(const trace::NodeCaptured& node);
  void OnGraphGone(uint32_t graph);
  void OnPiece(const trace::PoolPiece& piece);

  // What a replay touches, each range once; null when the graph is not known.
  const Repeated* RangesOf(uint32_t graph) const {
    const auto found = graphs_.find(graph);
    return found != graphs_.end() ? &found->second.ranges : nullptr;
  }

 private:
  // A conflict between two owners of the same bytes; `before` null: it is none.
  struct Reuse {
    Rule rule = {};
    const Piece* before = nullptr;
  };
  struct Summary {
    Repeated ranges;
    std::vector<Block*> blocks;  // that the ranges are in, of this version
    uint64_t blocks_version = 0;
    bool calls_client = false;
  };

  // A range that tasks of a stream write again and again, with nobody in between: most of what a loop does.
  struct Again {
    trace::Access access{};
    int32_t stream = -1;
    trace::TaskKind kind = trace::TaskKind::kOther;
    size_t user = 0;  // in the block's
    Block* block = nullptr;
    uint64_t blocks_version = 0;
    Shadow::Place place;
  };

  Again& AgainOf(const trace::Access& access, int32_t stream) {
    const auto address = reinterpret_cast<uintptr_t>(access.address);
    return again_[(address >> 3 ^ address >> 12 ^ static_cast<uint32_t>(stream)) % again_.size()];
  }
  // What only bounds, pluggable allocators, clients' allocators and clocks of threads ask for is not in the short way.
  bool IsPlain() const {
    return !ledger_.pieces.has_pluggable() && !ledger_.pieces.has_programs() && !allocators_.HasHandedOut() &&
           !ledger_.order.by_threads();
  }
  void Remember(const trace::Access& access, const Use& use);
  void Touch(std::span<const trace::Access> accesses, const Use& use);
  void TouchByReplay(uint32_t graph, Summary* summary, const Use& use);
  bool IsClients(const Block* block);
  void CheckGoing(const Block& block, uint32_t stack, uint32_t thread, bool unmapped);
  // The bytes of a freed block or of a mapping that ended.
  template <class Change>
  void ForgetBlock(const Change& change, bool unmapped);
  void CheckStale(const trace::Access& access, const Use& use);
  void CheckInside(const trace::GraphShape& graph);
  void TellInside(const trace::GraphShape& graph, const Conflict& conflict, const Use& later);
  // Does an operation leave the piece of a block that it begins in? `where` says whose it is.
  void CheckBounds(const trace::Access& access, const std::string& where, const Part& part);
  void TellGone(const trace::Access& access, const Piece& gone, const std::string& where, const Part& part);
  void Tell(const Conflict& conflict, const Use& later);
  void TellOrHold(const std::vector<Conflict>& conflicts, const Use& later);
  Reuse ReuseOf(const Conflict& conflict, const Use& later);
  void TellReuse(const Conflict& conflict, const Use& later, const Reuse& reuse);
  void DescribeMemory(const Conflict& conflict, Finding* finding);
  bool IsSessionRun(const Use& use);
  Rule RuleOfGoing(const Block& block, const Use& user, uint32_t stack, bool unmapped);

  Ledger& ledger_;
  AllocatorRules& allocators_;
  std::array<Again, 64> again_;
  HeldConflicts held_{&ledger_.order};
  std::unordered_map<uint32_t, Summary> graphs_;
  std::unordered_map<uint32_t, std::vector<trace::NodeCaptured>> captured_;  // nodes by number, of graphs
  // Device allocations by call site, to notice programs that allocate all the time.
  std::unordered_map<uintptr_t, uint64_t> allocations_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_MEMORY_RULES_H_
