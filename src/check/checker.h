// SPDX-License-Identifier: Apache-2.0
// The checker: a sink that holds every record against the rules. docs/check.md says what users see of it.
#ifndef MILLPOND_SRC_CHECK_CHECKER_H_
#define MILLPOND_SRC_CHECK_CHECKER_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/base/spinlock.h"
#include "src/base/status.h"
#include "src/check/allocator_rules.h"
#include "src/check/content_rules.h"
#include "src/check/damage_rules.h"
#include "src/check/ledger.h"
#include "src/check/life_rules.h"
#include "src/check/memory_report.h"
#include "src/check/memory_rules.h"
#include "src/check/memory_span.h"
#include "src/check/torch_rules.h"
#include "src/check/wait_rules.h"
#include "src/trace/sink.h"

namespace millpond::check {

class Checker final : public trace::Sink {
 public:
  // An error for a setting that cannot be read; nothing is to be checked then.
  Status Open(const Options& options);

  // Without the lock: which rules are looked for is settled before the first record.
  uint32_t interests() const override NO_THREAD_SAFETY_ANALYSIS;
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
  void OnDamage(const trace::Damage& damage) override;

  // torch_npu's door (torch_door.h). Stacks are the trace's.
  void OnPluggableAllocated(PluggableCall call);
  void OnPluggableThrew(PluggableCall call);
  // `free`, which frees, is called in between, without a lock.
  template <class Free>
  void OnPluggableFreed(PluggableCall call, Free free) {
    std::optional<Piece> piece;
    {
      MutexLock lock(mutex_);
      call.stack = Here(call.stack);
      piece = torch_.OnFreeBegins(call);
    }
    free();
    if (!piece) return;
    MutexLock lock(mutex_);
    torch_.OnFreeEnds(*piece, call.stack, call.thread);
  }
  void OnSwapRefused(uint32_t stack, uint32_t thread);
  void OnFreeRefused(const void* address, uint32_t stack, uint32_t thread);
  void OnRecordLost(const void* address, const void* stream, uint32_t stack);
  void OnPiece(const trace::PoolPiece& piece) override;
  void OnNextTask(const trace::NextTask& task) override;

  // As trace::ProgramLine.
  const char* ProgramLine();
  // For whoever asks while the process runs. A span of memory begins; counts, and with_memory the span, go to the file.
  void BeginSpan();
  void Tell(bool with_memory);
  // The process ends. How many errors were found.
  uint64_t Finish();
  // In a child that was just forked. False when the parent had a device: the runtime refuses the child.
  bool BecomeProcess();

 private:
  // Without the lock, at every call: an atomic of the rules' own.
  bool LivesWatch() const NO_THREAD_SAFETY_ANALYSIS { return lives_.Watches(); }
  // Calls are told as long as a rule has use for them.
  void HearWhatIsNeeded() REQUIRES(mutex_);
  uint32_t Here(uint32_t stack) REQUIRES(mutex_) { return ledger_.reporter.symbols().Here(stack); }
  // The record with the stack as the checker numbers it. What follows is said of its thread.
  template <class Record>
  Record Placed(Record record) REQUIRES(mutex_) {
    ledger_.order.OnThread(record.thread);
    record.stack = Here(record.stack);
    return record;
  }

  // Not a Mutex: every task takes it on the launching thread, where its calls count. Held for long only where something
  // is found; who waits then yields.
  SpinLock mutex_;
  Ledger ledger_ GUARDED_BY(mutex_);
  AllocatorRules allocators_ GUARDED_BY(mutex_){&ledger_};
  MemoryRules memory_ GUARDED_BY(mutex_){&ledger_, &allocators_};
  DamageRules damages_ GUARDED_BY(mutex_){&ledger_};
  ContentRules contents_ GUARDED_BY(mutex_){&ledger_};
  LifeRules lives_ GUARDED_BY(mutex_){&ledger_};
  TorchRules torch_ GUARDED_BY(mutex_){&ledger_};
  WaitRules waits_ GUARDED_BY(mutex_){&ledger_};
  std::atomic<bool> has_device_{false};
  bool reports_ = false;  // both are set before the first record
  bool asks_contents_ = false;
  std::atomic<bool> hears_calls_{false};
  std::optional<trace::CallsHeard> calls_heard_ GUARDED_BY(mutex_);
  MemoryReport report_ GUARDED_BY(mutex_){&ledger_};
  MemorySpan span_ GUARDED_BY(mutex_){&ledger_};
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_CHECKER_H_
