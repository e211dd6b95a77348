// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/execute.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/launch.h"
#include "src/graph/passes/kinds.h"
#include "src/kernels/runtime/team.h"

namespace millpond::program {
namespace {

constexpr size_t kMaxSpare = 8;  // runs in flight at once are few; more are made anew

bool Computes(const Step& step) {
  if (step.kind == Step::Kind::kMoves) return !step.moves.empty();
  return step.kind == Step::Kind::kKernel || step.kind == Step::Kind::kCopy || step.kind == Step::Kind::kUpload ||
         step.kind == Step::Kind::kUploadInput;
}

void* After(void* base, size_t bytes) { return static_cast<std::byte*>(base) + bytes; }

int32_t ReadCounter(const void* address) {
  int32_t value = 0;
  std::memcpy(&value, Reachable(address), sizeof value);
  return value;
}

}  // namespace

// The queued form. Gives its run back when it is dropped without having run, too.
class ProgramBody {
 public:
  ProgramBody(std::shared_ptr<const Executable> program, std::unique_ptr<Executable::Run> run)
      : program_(std::move(program)), run_(std::move(run)) {}
  ProgramBody(ProgramBody&&) noexcept = default;
  ProgramBody& operator=(ProgramBody&&) = delete;
  ~ProgramBody() {
    if (run_ != nullptr) program_->Return(std::move(run_));
  }
  TaskEnd operator()(TaskSlot&, Stream& stream, Status* out_status) {
    return program_->Execute(*run_, stream, out_status);
  }
  // See TaskOps.
  void Abandon(TaskSlot&, bool mine) {
    if (run_->groups == nullptr) return;
    run_->groups->FailDropped();
    if (!mine) return;
    run_->in_group.reset();
    run_->groups->End();
    run_->begun = false;
  }

 private:
  std::shared_ptr<const Executable> program_;
  std::unique_ptr<Executable::Run> run_;
};

// The same with kernels that compute with a team of threads.
struct TeamProgramBody : ProgramBody {
  static constexpr bool kNeedsTeam = true;
  using ProgramBody::ProgramBody;
};

Executable::Executable(Plan plan, std::shared_ptr<const void> keep)
    : plan_(std::move(plan)),
      keep_(std::move(keep)),
      needs_team_(std::any_of(plan_.steps.begin(), plan_.steps.end(), [](const Step& step) {
        return step.kind == Step::Kind::kKernel && step.call != nullptr && kernels::NeedsTeam(*step.call);
      })) {
  spare_.reserve(kMaxSpare);  // a run comes back from a destructor, where nothing may fail
}

void CopyStep(const Step& step, void* to, const void* from) {
  if (step.kind == Step::Kind::kUpload) {
    CopyBytes(to, step.upload.data, step.bytes);
  } else if (to != from) {  // an output may be the input that it is meant to be
    CopyBytes(to, from, step.bytes);
  }
}

std::unique_ptr<Executable::Run> Executable::Borrow() const {
  {
    MutexLock lock(mutex_);
    if (!spare_.empty()) {
      auto run = std::move(spare_.back());
      spare_.pop_back();
      return run;
    }
  }
  auto run = std::make_unique<Run>();
  run->addresses.resize(plan_.buffers.size());
  run->calls.reserve(plan_.steps.size());
  for (const Step& step : plan_.steps) {
    run->calls.push_back(step.call != nullptr ? CloneOpCall(*step.call) : OpCallPtr());
  }
  return run;
}

void Executable::Return(std::unique_ptr<Run> run) const {
  run->host.clear();
  run->in_group.reset();  // before the turns it refers to
  run->groups.reset();
  run->begun = false;
  MutexLock lock(mutex_);
  if (spare_.size() < kMaxSpare) spare_.push_back(std::move(run));
}

void Executable::Place(const Roots& roots, Run* run) const {
  if (run->patched && run->roots == roots) return;
  run->roots = roots;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const auto within = [&](void* base) { return static_cast<void*>(static_cast<std::byte*>(base) + buffer.offset); };
    switch (buffer.home) {
      case Home::kInput:
        run->addresses[i] = roots.inputs[buffer.place];
        break;
      case Home::kOutput:
        run->addresses[i] = roots.outputs[buffer.place];
        break;
      case Home::kConstant:
        run->addresses[i] = within(roots.constants);
        break;
      case Home::kVariable:
        run->addresses[i] = roots.variables[buffer.place];
        break;
      case Home::kFixed:
        run->addresses[i] = buffer.address;
        break;
      case Home::kFeature:
        run->addresses[i] = within(roots.feature);
        break;
    }
  }
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (run->calls[i] == nullptr) continue;
    const auto views = run->calls[i]->all_views();
    for (const Patch& patch : plan_.steps[i].patches) {
      views[patch.view].data = run->addresses[patch.buffer];
      const Buffer& buffer = plan_.buffers[patch.buffer];
      if (buffer.home != Home::kInput || roots.lengths[buffer.place] == 0) continue;
      views[patch.view].dims[0] = roots.lengths[buffer.place];
    }
  }
  run->patched = true;
}

Status Executable::Launch(const Roots& roots, std::vector<HostInput> host, Stream* stream,
                          const dump::Target* target) const {
  std::unique_ptr<Run> run = Borrow();
  Place(roots, run.get());
  run->fed.assign(roots.inputs.begin(), roots.inputs.end());
  run->host = std::move(host);
  for (const HostInput& input : run->host) {
    if (input.to == nullptr) run->fed[input.input] = input.bytes.data();
  }
  run->trace_base = 0;
  run->rules = FloatRules(*stream, target);
  Status joined = JoinGroups(run.get(), *stream);
  if (!joined.ok()) {
    Return(std::move(run));
    return joined;
  }
  std::vector<trace::Access> accesses;
  if (stream->capture() != nullptr || __builtin_expect(trace::Wants(trace::kTasks | trace::kUses), false)) {
    accesses = AllAccesses(*run);
  }
  if (__builtin_expect(trace::Wants(trace::kInsideTasks), false) && stream->capture() == nullptr) {
    Announce(run.get(), *stream);
  }
  const std::shared_ptr<GroupTurns> groups = run->groups;
  if (groups != nullptr) groups->Promise();
  Status launched;
  if (needs_team_) {
    TeamProgramBody body(shared_from_this(), std::move(run));
    launched = stream->Launch<TaskKind::kGraph>("GraphExecute", accesses, std::move(body));
  } else {
    ProgramBody body(shared_from_this(), std::move(run));
    launched = stream->Launch<TaskKind::kGraph>("GraphExecute", accesses, std::move(body));
  }
  if (groups != nullptr && !launched.ok()) groups->Refuse();
  return launched;
}

Status Executable::JoinGroups(Run* run, const Stream& stream) const {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.kind != Step::Kind::kKernel || !kernels::WorksInGroup(*step.kernel)) continue;
    if (run->groups == nullptr) run->groups = std::make_shared<GroupTurns>();
    Status joined = groups_checked_.load(std::memory_order_relaxed)
                        ? Ok()
                        : CheckInGroup(*step.kernel, *run->calls[i], stream.device()->id());
    if (joined.ok()) joined = run->groups->Join(*run->calls[i], stream);
    if (!joined.ok()) return Named(step, std::move(joined));
  }
  if (run->groups != nullptr) groups_checked_.store(true, std::memory_order_relaxed);
  return Ok();
}

// --- Running -------------------------------------------------------------------------------------------------------

TaskEnd Executable::Execute(Run& run, Stream& stream, Status* out_status) const {
  if (!run.begun) {
    run.begun = true;
    run.at = 0;
    for (const HostInput& input : run.host) {
      if (input.to != nullptr) CopyBytes(input.to, input.bytes.data(), input.bytes.size());
    }
  }
  const bool traced = run.trace_base != 0;
  while (run.at < plan_.steps.size() && out_status->ok()) {
    const size_t now = run.at;
    const Step& step = plan_.steps[now];
    if (__builtin_expect(traced, false) && run.in_group == nullptr) run.step_start = trace::StampNs();
    if (step.kind == Step::Kind::kKernel && __builtin_expect(kernels::WorksInGroup(*step.kernel), false)) {
      if (DoGroupStep(run, stream, out_status) == TaskEnd::kBlocked) return TaskEnd::kBlocked;
    } else {
      *out_status = DoStep(run, &run.at, stream);
    }
    if (__builtin_expect(traced, false)) TellRan(run, now, run.step_start, out_status->ok(), stream);
  }
  run.begun = false;
  if (run.groups != nullptr) {
    if (!out_status->ok()) run.groups->Fail(*out_status);
    run.groups->End();
  }
  return TaskEnd::kDone;
}

TaskEnd Executable::DoGroupStep(Run& run, Stream& stream, Status* out_status) const {
  const Step& step = plan_.steps[run.at];
  if (run.in_group == nullptr) run.in_group = std::make_unique<GroupRun>();
  const TaskEnd end = run.in_group->Run(*step.kernel, *run.calls[run.at], run.rules, *run.groups, stream, out_status);
  if (end == TaskEnd::kBlocked) return end;
  run.in_group.reset();
  ++run.at;
  TakeFaultInTask(out_status);
  if (!out_status->ok()) *out_status = Named(step, std::move(*out_status));
  return end;
}

Status Executable::DoStep(Run& run, size_t* at, const Stream& stream) const {
  const Step& step = plan_.steps[*at];
  const size_t now = (*at)++;
  switch (step.kind) {
    case Step::Kind::kKernel: {
      Status status = run.rules.Run(*step.kernel, *run.calls[now], NodeOf(step));
      TakeFaultInTask(&status);
      if (__builtin_expect(!status.ok(), false)) return Named(step, std::move(status));
      return Ok();
    }
    case Step::Kind::kMoves:
      for (const Move& move : step.moves) {
        CopyBytes(After(run.addresses[move.to], move.to_at), After(run.addresses[move.from], move.from_at), move.bytes);
      }
      return Ok();
    case Step::Kind::kCopy:
      CopyStep(step, run.addresses[step.to], run.addresses[step.from]);
      return Ok();
    case Step::Kind::kUpload:
      CopyStep(step, run.addresses[step.to], nullptr);
      return Ok();
    case Step::Kind::kUploadInput:
      CopyBytes(run.addresses[step.to], run.fed[step.place], step.bytes);
      return Ok();
    case Step::Kind::kSwitch: {
      const void* condition = step.bytes != 0 ? Reachable(run.addresses[step.from]) : nullptr;
      *at = step.targets[Choose(step.dtype, condition, step.bytes, step.is_index, step.targets.size())];
      return Ok();
    }
    case Step::Kind::kGoTo:
      if (step.targets[0] <= now && stream.dropping()) {
        return Named(step, Status(Code::kStreamAborted, "the stream was aborted while it went round"));
      }
      *at = step.targets[0];
      return Ok();
    case Step::Kind::kForTest: {
      const int32_t counter = ReadCounter(run.addresses[step.to]);
      const int32_t limit = ReadCounter(run.addresses[step.limit]);
      const int32_t delta = ReadCounter(run.addresses[step.delta]);
      if (delta == 0) return Named(step, Status(Code::kTaskFailed, "its delta is 0"));
      if (delta > 0 ? counter >= limit : counter <= limit) *at = step.targets[0];
      return Ok();
    }
    case Step::Kind::kForAdvance: {
      int64_t next = int64_t{ReadCounter(run.addresses[step.to])} + ReadCounter(run.addresses[step.delta]);
      if (next != static_cast<int32_t>(next)) return Named(step, Status(Code::kTaskFailed, "its counter overflows"));
      const auto narrow = static_cast<int32_t>(next);
      std::memcpy(Reachable(run.addresses[step.to]), &narrow, sizeof narrow);
      return Ok();
    }
  }
  return Ok();
}

Status Executable::Named(const Step& step, Status status) {
  if (step.node == nullptr) return status;
  return std::move(status).Prefixed(passes::Named(*step.node));
}

dump::Node Executable::NodeOf(const Step& step) {
  return step.node == nullptr ? dump::Node() : dump::Node{step.node->type, step.node->name};
}

// --- Evidence ------------------------------------------------------------------------------------------------------

std::vector<trace::Access> Executable::StepAccesses(const Run& run, size_t at) const {
  const Step& step = plan_.steps[at];
  if (step.kind == Step::Kind::kKernel) return AccessesOf(*run.calls[at]);
  std::vector<trace::Access> accesses;
  if (step.kind == Step::Kind::kMoves) {
    for (const Move& move : step.moves) {
      accesses.push_back({After(run.addresses[move.from], move.from_at), move.bytes, trace::Mode::kRead});
      accesses.push_back({After(run.addresses[move.to], move.to_at), move.bytes, trace::Mode::kWrite});
    }
    return accesses;
  }
  if (step.kind == Step::Kind::kCopy) {
    accesses.push_back({run.addresses[step.from], step.bytes, trace::Mode::kRead});
  } else if (step.kind == Step::Kind::kUploadInput && IsDeviceAddress(run.fed[step.place])) {
    accesses.push_back({run.fed[step.place], step.bytes, trace::Mode::kRead});
  }
  if (Computes(step)) accesses.push_back({run.addresses[step.to], step.bytes, trace::Mode::kWrite});
  return accesses;
}

std::vector<trace::Access> Executable::AllAccesses(const Run& run) const {
  std::vector<trace::Access> all;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const auto one = StepAccesses(run, i);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void Executable::Announce(Run* run, const Stream& stream) const {
  trace::FanOut* sink = trace::Listening(trace::kInsideTasks);
  if (sink == nullptr || plan_.steps.empty()) return;
  run->trace_base = NewTraceTasks(plan_.steps.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (!Computes(plan_.steps[i])) continue;
    const auto accesses = StepAccesses(*run, i);
    sink->OnEnqueued({.task = run->trace_base + i,
                      .device = stream.device()->id(),
                      .stream = stream.id(),
                      .count = 0,
                      .kind = plan_.steps[i].kind == Step::Kind::kKernel ? TaskKind::kCompute : TaskKind::kCopy,
                      .flags = trace::kInsideTask,
                      .lane = 0,
                      .graph = 0,
                      .nodes = run->trace_base,
                      .name = plan_.steps[i].name,
                      .thread = trace::ThreadNumber(),
                      .stack = 0,
                      .time_ns = trace::StampNs(),
                      .accesses = accesses,
                      .edges = {}});
  }
}

void Executable::TellRan(const Run& run, size_t at, uint64_t start, bool ok, const Stream& stream) const {
  trace::FanOut* sink = trace::Listening(trace::kInsideTasks);
  if (sink == nullptr || !Computes(plan_.steps[at])) return;
  sink->OnRan({.task = run.trace_base + at,
               .device = stream.device()->id(),
               .stream = stream.id(),
               .name = plan_.steps[at].name,
               .thread = trace::ThreadNumber(),
               .start_ns = start,
               .end_ns = trace::StampNs(),
               .ok = ok,
               .flags = trace::kInsideTask});
}

}  // namespace millpond::program
