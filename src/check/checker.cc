// SPDX-License-Identifier: Apache-2.0
#include "src/check/checker.h"

#include <string_view>
#include <vector>

#include "src/base/format.h"
#include "src/trace/emit.h"

namespace millpond::check {

namespace {

// How deep the calling thread is inside functions that streams called.
thread_local int t_inside_callback = 0;

}  // namespace

Status Checker::Open(const Options& options) {
  MutexLock lock(mutex_);
  reports_ = !options.report.empty() && options.report != "0";
  return ledger_.reporter.Open(options);
}

uint32_t Checker::interests() const {
  using namespace trace;  // NOLINT: a list of its enumerators
  return kTasks | kSignals | kGraphs | kHost | kApi | kMemory | kAllocators | kLives | kMisuses | kStacks;
}

void Checker::OnApi(const trace::ApiCall& call) {
  const std::string_view name = call.name;
  if (__builtin_expect(t_inside_callback > 0, false) && LifeRules::ForbiddenInCallback(name)) {
    MutexLock lock(mutex_);
    lives_.OnCallInCallback(call, Here(trace::CurrentStack()));
    return;
  }
  const bool ends = name == "aclFinalize";
  if (__builtin_expect(!lives_.Watches() && !ends, true)) return;
  MutexLock lock(mutex_);
  if (ends && call.result == 0) {
    allocators_.OnEnd();
    lives_.OnEnd();
    return;
  }
  lives_.OnApi(call, Here(trace::CurrentStack()));
}

void Checker::OnEnqueued(const trace::TaskEnqueued& task) {
  if ((task.flags & (trace::kInternal | trace::kInsideTask)) != 0) return;
  MutexLock lock(mutex_);
  memory_.OnTask(Placed(task));
}

void Checker::OnSignal(const trace::Signal& signal) {
  MutexLock lock(mutex_);
  ledger_.order.OnSignal(signal);
  // A word of host memory: the program may be looking at it, and nobody would know.
  if (signal.kind == trace::Signal::Kind::kRaised && signal.link == trace::Link::kValue && signal.stream >= 0) {
    const Block* block = ledger_.blocks.Find(signal.id);
    if (block == nullptr || block->kind != trace::MemoryKind::kDevice) {
      ledger_.order.HostKnows({signal.stream, signal.count});
    }
  }
}

void Checker::OnHostFunction(const trace::HostFunction& function) {
  t_inside_callback += function.begins ? 1 : -1;
  if (!function.begins || function.count == 0) return;
  MutexLock lock(mutex_);
  // What the stream did before is done; the function may tell any thread.
  ledger_.order.HostKnows({function.stream, function.count - 1});
}

void Checker::OnGraph(const trace::GraphShape& graph) {
  MutexLock lock(mutex_);
  memory_.OnGraph(graph);
}

void Checker::OnHostWait(const trace::HostWait& wait) {
  if (wait.kind == trace::WaitKind::kInternal) return;
  MutexLock lock(mutex_);
  if (wait.kind == trace::WaitKind::kDestroy) lives_.OnDestroyWait(wait);
  if (wait.stream >= 0) {
    ledger_.order.HostKnows({wait.stream, wait.count});
  } else {
    ledger_.order.HostKnowsRecord(wait.event, wait.generation);
  }
}

void Checker::OnHostAccess(const trace::HostAccess& access) {
  MutexLock lock(mutex_);
  memory_.OnHostAccess(Placed(access));
}

void Checker::OnMemory(const trace::MemoryChange& change) {
  MutexLock lock(mutex_);
  const trace::MemoryChange here = Placed(change);
  if (reports_) report_.OnMemory(here);
  span_.OnMemory(here);
  memory_.OnMemory(here);
}

void Checker::OnMapping(const trace::MappingChange& change) {
  MutexLock lock(mutex_);
  memory_.OnMapping(Placed(change));
}

void Checker::OnRegistration(const trace::AllocatorRegistration& registration) {
  MutexLock lock(mutex_);
  allocators_.OnRegistration(Placed(registration));
}

void Checker::OnAllocatorCall(const trace::AllocatorCall& call) {
  MutexLock lock(mutex_);
  allocators_.OnCall(Placed(call));
}

void Checker::OnObject(const trace::ObjectLife& life) {
  MutexLock lock(mutex_);
  const trace::ObjectLife here = Placed(life);
  if (life.kind != trace::ObjectKind::kOutput) lives_.OnObject(here);  // a run may make many
  allocators_.OnObject(here);
}

void Checker::OnProgram(const trace::ProgramStage& stage) {
  MutexLock lock(mutex_);
  allocators_.OnProgram(Placed(stage));
}

void Checker::OnMisuse(const trace::Misuse& misuse) {
  MutexLock lock(mutex_);
  const trace::Misuse here = Placed(misuse);
  if (!allocators_.OnMisuse(here)) lives_.OnMisuse(here);
}

void Checker::BeginSpan() {
  MutexLock lock(mutex_);
  span_.Begin();
}

void Checker::Tell(bool with_memory) {
  MutexLock lock(mutex_);
  ledger_.reporter.WriteCounts();
  if (with_memory) span_.Write();
}

uint64_t Checker::Finish() {
  MutexLock lock(mutex_);
  std::vector<std::string> notes;
  const auto note = [&](uint64_t count, const char* text) {
    if (count != 0) notes.push_back(Format("%llu %s", static_cast<unsigned long long>(count), text));
  };
  note(ledger_.shadow.forgotten(),
       "uses of memory were forgotten to stay within bounds: conflicts with them are not seen");
  note(ledger_.order.unseen_ends(), "waits were for something that cannot be seen, and count as waits for everything");
  note(ledger_.order.merged_versions(),
       "orders were merged to stay within bounds: conflicts with old tasks may not be seen");
  note(trace::LostRecords(), "records were lost for want of memory");
  if (reports_) report_.Finish();
  ledger_.reporter.Finish(notes);
  return ledger_.reporter.errors();
}

}  // namespace millpond::check
