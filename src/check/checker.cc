// SPDX-License-Identifier: Apache-2.0
#include "src/check/checker.h"

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/format.h"
#include "src/base/thread_local.h"
#include "src/check/torch_door.h"
#include "src/trace/emit.h"

namespace millpond::check {

namespace {

// How deep the calling thread is inside functions that streams called.
thread_local int t_inside_callback MP_FAST_TLS = 0;
// What the calling thread's next task touches beside what is known of it.
thread_local bool t_has_next_task MP_FAST_TLS = false;
thread_local std::vector<trace::Access> t_next_task;

}  // namespace

Status Checker::Open(const Options& options) {
  MutexLock lock(mutex_);
  reports_ = !options.report.empty() && options.report != "0";
  MP_RETURN_IF_ERROR(ledger_.reporter.Choose(options));
  const std::string& order = options.check_host_order;
  MP_REQUIRE(order == "time" || order == "threads", "MILLPOND_CHECK_HOST_ORDER is '%s'; known: time, threads",
             order.c_str());
  MP_REQUIRE(ShareOf(options.check_sample) != 0, "MILLPOND_CHECK_SAMPLE is '%s'; it is 1/N, such as 1/100",
             options.check_sample.c_str());
  MP_REQUIRE(options.check_status == "keep" || options.check_status == "66",
             "MILLPOND_CHECK_STATUS is '%s'; known: keep, 66", options.check_status.c_str());
  if (order == "threads") ledger_.order.ByThreads();
  ledger_.reporter.Open(options);
  asks_contents_ = contents_.asked();
  HearWhatIsNeeded();
  return Ok();
}

uint32_t Checker::interests() const {
  using namespace trace;  // NOLINT: a list of its enumerators
  uint32_t all = kSignals | kGraphs | kHost | kMemory | kAllocators | kLives | kMisuses | kStacks | kTold;
  // What reads unwritten memory is known when every task is.
  all |= ledger_.reporter.Wants(Rule::MP503) ? kTasks : kUses;
  all |= asks_contents_ ? kApi : kSomeCalls;
  if (ledger_.reporter.Wants(Rule::MP304) || ledger_.reporter.Wants(Rule::MP504)) all |= kGuards;
  if (ledger_.reporter.Wants(Rule::MP507)) all |= kSources;
  if (ledger_.reporter.Wants(Rule::MP511)) all |= kTargets;
  return all;
}

void Checker::OnApi(const trace::ApiCall& call) {
  const char* const name = call.name;
  torch_door::OnCall(call);
  if (__builtin_expect(asks_contents_, false)) {
    MutexLock lock(mutex_);
    contents_.OnApi(name);
  }
  const bool starts = std::strcmp(name, "aclInit") == 0;
  const bool ends = !starts && std::strcmp(name, "aclFinalize") == 0;
  const bool inside = t_inside_callback > 0 && LifeRules::ForbiddenInCallback(name);
  if (!starts && !ends && !inside && !LivesWatch() && !hears_calls_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  if (inside) return lives_.OnCallInCallback(call, Here(trace::CurrentStack()));
  if (starts) torch_.OnInit(Here(trace::CurrentStack()));
  if (ends && call.result == 0) {
    allocators_.OnEnd();
    lives_.OnEnd();
  } else if (lives_.Watches()) {
    lives_.OnApi(call, Here(trace::CurrentStack()));
  }
  HearWhatIsNeeded();
}

void Checker::HearWhatIsNeeded() {
  const bool needed = lives_.Watches() || !torch_door::IsSettled();
  if (needed == calls_heard_.has_value()) return;
  if (needed) {
    calls_heard_.emplace();
  } else {
    calls_heard_.reset();
  }
  hears_calls_.store(needed, std::memory_order_relaxed);
}

void Checker::OnEnqueued(const trace::TaskEnqueued& task) {
  if ((task.flags & (trace::kInternal | trace::kInsideTask)) != 0) return;
  const bool has_more = std::exchange(t_has_next_task, false);
  MutexLock lock(mutex_);
  ledger_.order.OnThread(task.thread);
  waits_.OnLaunch(task);
  const uint32_t stack = Here(task.stack);
  if (!has_more && !asks_contents_ && memory_.OnTaskAgain(task, stack)) return;
  std::vector<trace::Access> more;
  if (has_more) more.swap(t_next_task);
  const Use use = memory_.OnTask(task, stack, more);
  if (!task.edges.empty()) waits_.OnEdges(task, use);
  if (asks_contents_) contents_.OnTask(task, use, memory_.RangesOf(task.graph));
}

void Checker::OnSignal(const trace::Signal& signal) {
  MutexLock lock(mutex_);
  ledger_.order.OnThread(trace::ThreadNumber());
  ledger_.order.OnSignal(signal);
  waits_.OnSignal(signal);
  // A word of host memory: the program may be looking at it, and nobody would know.
  if (signal.kind == trace::Signal::Kind::kRaised && signal.link == trace::Link::kValue && signal.stream >= 0) {
    const Block* block = ledger_.blocks.Find(signal.id);
    if (block == nullptr || block->kind != trace::MemoryKind::kDevice) {
      ledger_.order.HostKnows({signal.stream, signal.count});
      if (asks_contents_) contents_.OnHostLearnt();
    }
  }
}

void Checker::OnHostFunction(const trace::HostFunction& function) {
  t_inside_callback += function.begins ? 1 : -1;
  trace::WishForCalls(function.begins);
  if (function.count == 0) return;
  MutexLock lock(mutex_);
  ledger_.order.OnThread(function.thread);
  if (!function.begins) {
    ledger_.order.Release({function.stream, function.count});
    memory_.OnHostLearnt();
    return;
  }
  // What the stream did before is done; the function may tell any thread.
  ledger_.order.HostKnows({function.stream, function.count - 1});
  if (asks_contents_) contents_.OnHostLearnt();
}

void Checker::OnGraph(const trace::GraphShape& graph) {
  MutexLock lock(mutex_);
  memory_.OnGraph(graph);
}

void Checker::OnCaptured(const trace::NodeCaptured& node) {
  MutexLock lock(mutex_);
  memory_.OnCaptured(Placed(node));
}

void Checker::OnHostBlocks(const trace::HostBlocks& wait) {
  MutexLock lock(mutex_);
  waits_.OnHostBlocks(Placed(wait));
}

void Checker::OnHostWait(const trace::HostWait& wait) {
  if (wait.kind == trace::WaitKind::kInternal) return;
  MutexLock lock(mutex_);
  ledger_.order.OnThread(wait.thread);
  if (wait.kind == trace::WaitKind::kDestroy) lives_.OnDestroyWait(wait);
  const uint64_t news = ledger_.order.host_news();
  if (wait.stream >= 0) {
    ledger_.order.HostKnows({wait.stream, wait.count});
    waits_.OnDone({wait.stream, wait.count});
  } else {
    ledger_.order.HostKnowsRecord(wait.event, wait.generation);
  }
  memory_.OnHostLearnt();
  if (asks_contents_) contents_.OnHostLearnt();
  // A program may ask all the time: only what taught it something is worth showing.
  if (ledger_.order.host_news() == news) return;
  const bool asked = wait.kind == trace::WaitKind::kQuery;
  ledger_.host_steps.Add({.sequence = ledger_.sequence,
                          .name = ledger_.names.NumberOf(asked ? "asked:" : "waits:"),
                          .stream = wait.stream});
}

void Checker::OnHostAccess(const trace::HostAccess& access) {
  MutexLock lock(mutex_);
  const trace::HostAccess placed = Placed(access);
  memory_.OnHostAccess(placed);
  if (asks_contents_) contents_.OnHostAccess(placed);
}

void Checker::OnMemory(const trace::MemoryChange& change) {
  MutexLock lock(mutex_);
  const trace::MemoryChange here = Placed(change);
  if (reports_) report_.OnMemory(here);
  span_.OnMemory(here);
  memory_.OnMemory(here);
  if (asks_contents_) contents_.OnMemory(here);
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

void Checker::OnPiece(const trace::PoolPiece& piece) {
  trace::PoolPiece told = piece;
  if (piece.teller == trace::PoolPiece::Teller::kRegions) {
    // Not under the lock: the answer may make calls that are records too.
    if (piece.begins) told.stream = torch_door::CurrentStream(piece.device);
    torch_door::PiecesAreTold();
  }
  MutexLock lock(mutex_);
  memory_.OnPiece(Placed(told));
}

void Checker::OnPluggableAllocated(PluggableCall call) {
  MutexLock lock(mutex_);
  call.stack = Here(call.stack);
  if (call.failed != nullptr) call.failed_stack = Here(call.failed_stack);
  torch_.OnAllocated(call);
}

void Checker::OnPluggableThrew(PluggableCall call) {
  MutexLock lock(mutex_);
  call.stack = Here(call.stack);
  torch_.OnThrown(call);
}

void Checker::OnSwapRefused(uint32_t stack, uint32_t thread) {
  MutexLock lock(mutex_);
  torch_.OnSwapRefused(Here(stack), thread);
}

void Checker::OnFreeRefused(const void* address, uint32_t stack, uint32_t thread) {
  MutexLock lock(mutex_);
  torch_.OnFreeRefused(address, Here(stack), thread);
}

void Checker::OnRecordLost(const void* address, const void* stream, uint32_t stack) {
  MutexLock lock(mutex_);
  torch_.OnRecordLost(address, stream, Here(stack));
}

const char* Checker::ProgramLine() {
  MutexLock lock(mutex_);
  return ledger_.reporter.symbols().PythonLine(Here(trace::CurrentStack()));
}

void Checker::OnObject(const trace::ObjectLife& life) {
  MutexLock lock(mutex_);
  const bool of_device = life.kind == trace::ObjectKind::kStream || life.kind == trace::ObjectKind::kContext;
  if (of_device && !has_device_.exchange(true, std::memory_order_relaxed)) ledger_.reporter.Begin();
  if (life.created && life.kind == trace::ObjectKind::kEvent) waits_.OnEventMade(life.handle);
  if (life.kind == trace::ObjectKind::kNotify) ledger_.order.ForgetNotify(life.handle);
  if (!life.created && life.kind == trace::ObjectKind::kStream) {
    waits_.OnStreamGone(static_cast<int32_t>(life.id));
    contents_.OnStreamGone(static_cast<int32_t>(life.id));
  }
  if (!life.created && life.kind == trace::ObjectKind::kCapturedGraph) {
    memory_.OnGraphGone(static_cast<uint32_t>(life.id));
  }
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

void Checker::OnDamage(const trace::Damage& damage) {
  MutexLock lock(mutex_);
  using Kind = trace::Damage::Kind;
  if (damage.kind == Kind::kSource) {
    contents_.OnSource(damage);
  } else if (damage.kind == Kind::kTargetRead || damage.kind == Kind::kTargetWritten) {
    contents_.OnTargetTouched(Placed(damage));
  } else {
    damages_.OnDamage(Placed(damage));
  }
}

void Checker::OnNextTask(const trace::NextTask& task) {
  t_next_task.assign(task.accesses.begin(), task.accesses.end());
  t_has_next_task = true;
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

bool Checker::BecomeProcess() {
  if (has_device_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(mutex_);
  ledger_.reporter.BecomeProcess();
  return true;
}

uint64_t Checker::Finish() {
  trace::SweepGuards();  // comes back by OnDamage
  trace::ReleaseTarget(nullptr);
  MutexLock lock(mutex_);
  if (!ledger_.reporter.has_begun()) return 0;  // a forked child that has no device
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
  if (const std::string& version = ledger_.reporter.symbols().unread_python(); !version.empty()) {
    notes.push_back("lines of Python " + version + " cannot be read: stacks have C functions alone");
  }
  lives_.OnExit();
  if (reports_) report_.Finish();
  ledger_.reporter.Finish(notes, ledger_.sequence);
  return ledger_.reporter.errors();
}

}  // namespace millpond::check
