// SPDX-License-Identifier: Apache-2.0
// The checker: a sink that holds every record against the rules. docs/check.md says what users see of it.
#ifndef MILLPOND_SRC_CHECK_CHECKER_H_
#define MILLPOND_SRC_CHECK_CHECKER_H_

#include <cstdint>

#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/base/status.h"
#include "src/check/allocator_rules.h"
#include "src/check/ledger.h"
#include "src/check/life_rules.h"
#include "src/check/memory_report.h"
#include "src/check/memory_rules.h"
#include "src/check/memory_span.h"
#include "src/check/wait_rules.h"
#include "src/trace/sink.h"

namespace millpond::check {

class Checker final : public trace::Sink {
 public:
  // What cannot be done of what is asked for; the checker works all the same.
  Status Open(const Options& options);

  uint32_t interests() const override;
  void OnApi(const trace::ApiCall& call) override;
  void OnEnqueued(const trace::TaskEnqueued& task) override;
  void OnSignal(const trace::Signal& signal) override;
  void OnHostFunction(const trace::HostFunction& function) override;
  void OnGraph(const trace::GraphShape& graph) override;
  void OnCaptured(const trace::NodeCaptured& node) override;
  void OnHostWait(const trace::HostWait& wait) override;
  void OnHostBlocks(const trace::HostBlocks& wait) override;
  void OnHostAccess(const trace::HostAccess& access) override;
  void OnMemory(const trace::MemoryChange& change) override;
  void OnMapping(const trace::MappingChange& change) override;
  void OnRegistration(const trace::AllocatorRegistration& registration) override;
  void OnAllocatorCall(const trace::AllocatorCall& call) override;
  void OnObject(const trace::ObjectLife& life) override;
  void OnProgram(const trace::ProgramStage& stage) override;
  void OnMisuse(const trace::Misuse& misuse) override;
  void OnSubBlock(const trace::SubBlock& block) override;
  void OnNextTask(const trace::NextTask& task) override;

  // For whoever asks while the process runs. A span of memory begins; counts, and with_memory the span, go to the file.
  void BeginSpan();
  void Tell(bool with_memory);
  // The process ends. How many errors were found.
  uint64_t Finish();

 private:
  uint32_t Here(uint32_t stack) REQUIRES(mutex_) { return ledger_.reporter.symbols().Here(stack); }
  // The record with the stack as the checker numbers it. What follows is said of its thread.
  template <class Record>
  Record Placed(Record record) REQUIRES(mutex_) {
    ledger_.order.OnThread(record.thread);
    record.stack = Here(record.stack);
    return record;
  }

  Mutex mutex_;  // guards what follows, except what is safe by itself
  Ledger ledger_;
  AllocatorRules allocators_{&ledger_};
  MemoryRules memory_{&ledger_, &allocators_};
  LifeRules lives_{&ledger_};
  WaitRules waits_{&ledger_};
  bool reports_ = false;
  MemoryReport report_{&ledger_};
  MemorySpan span_{&ledger_};
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_CHECKER_H_
