// SPDX-License-Identifier: Apache-2.0
#include "src/check/content_rules.h"

#include <algorithm>

#include "src/base/format.h"
#include "src/trace/emit.h"

namespace millpond::check {

namespace {

using trace::Access;
using trace::Mode;
using trace::TaskKind;

constexpr size_t kMaxSources = 4096;

uintptr_t Begin(const Access& access) { return reinterpret_cast<uintptr_t>(access.address); }
uintptr_t End(const Access& access) { return Begin(access) + access.extent(); }
bool Writes(const Access& access) { return access.mode != Mode::kRead; }
// In-place operators read and write by their signature, whether they look at what was there or not.
bool SurelyReads(const Access& access) {
  return access.mode == Mode::kRead && (access.flags & trace::kMayTouch) == 0 && access.bytes != 0;
}

// Such tasks touch no memory but words that order others.
bool OnlyOrders(TaskKind kind) {
  switch (kind) {
    case TaskKind::kEventRecord:
    case TaskKind::kEventWait:
    case TaskKind::kEventReset:
    case TaskKind::kValueWait:
    case TaskKind::kNotifyRecord:
    case TaskKind::kNotifyWait:
      return true;
    default:
      return false;
  }
}

// The host may write what a task behind it reads, and be right: it is a function of the host, or what it waits for may
// come from one, from another process, or from a thread that wrote first.
bool MayOrderTheHost(const trace::TaskEnqueued& task) {
  if (task.kind == TaskKind::kHostFunc || task.kind == TaskKind::kCallback || task.graph != 0) return true;
  return std::any_of(task.edges.begin(), task.edges.end(), [](const trace::Edge& edge) {
    return edge.kind == trace::Edge::Kind::kWait &&
           (edge.binds_when_run || (edge.link != trace::Link::kEvent && edge.link != trace::Link::kPoint));
  });
}

// The host may hear of what ran before it by a way that is not seen: a word that it looks at, another process.
bool MayTellTheHost(const trace::TaskEnqueued& task) {
  if (MayOrderTheHost(task) || task.kind == TaskKind::kValueWrite) return true;
  return std::any_of(task.edges.begin(), task.edges.end(), [](const trace::Edge& edge) {
    return edge.kind == trace::Edge::Kind::kRecord &&
           (edge.link == trace::Link::kSharedEvent || edge.link == trace::Link::kNotify);
  });
}

}  // namespace

void ContentRules::OnTask(const trace::TaskEnqueued& task, const Use& use, const Repeated* inside) {
  NoteUnsure(task, use.at);
  if (ledger_.reporter.Wants(Rule::MP507)) NoteSource(task, use);
  if (ledger_.reporter.Wants(Rule::MP511)) NoteTarget(task, use);
  if (!ledger_.reporter.Wants(Rule::MP503) || shared_) return;
  const bool replay = task.graph != 0;
  if ((task.accesses.empty() && !replay && !OnlyOrders(task.kind)) || (replay && inside == nullptr)) {
    written_.WriteAll();  // a task of which nothing is known
    return;
  }
  if (replay) {  // in which order its nodes read and write is not looked at
    Write(inside->plain);
    Write(inside->strided);
    Write(inside->may);
  }
  Read(task.accesses, use);
}

// Garbage that a copy takes to other device memory is garbage there too, and no mistake yet.
void ContentRules::Read(Accesses accesses, const Use& use) {
  const Access* unwritten = nullptr;
  for (const Access& access : accesses) {
    if (unwritten == nullptr && SurelyReads(access) && written_.IsUntouched(Begin(access), End(access))) {
      unwritten = &access;
    }
  }
  if (unwritten == nullptr) return Write(accesses);
  const bool moves = use.kind == TaskKind::kCopy &&
                     std::any_of(accesses.begin(), accesses.end(),
                                 [&](const Access& to) { return Writes(to) && written_.IsKnown(Begin(to)); });
  if (moves) return;
  TellUnwritten(*unwritten, ledger_.PartOf("later", use), &use);
  Write(accesses);
  Write({unwritten, 1});  // told once
}

void ContentRules::Write(Accesses accesses) {
  for (const Access& access : accesses) {
    if (Writes(access) && access.bytes != 0) written_.Write(Begin(access), End(access));
  }
}

void ContentRules::TellUnwritten(const Access& access, Part reader, const Use* use) {
  const Block* block = ledger_.blocks.Find(Begin(access));
  if (block == nullptr) return;
  Finding finding{.rule = Rule::MP503, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message =
      Format("%s reads %zu bytes at offset %zu of block %llu (%zu bytes at 0x%llx), which nobody wrote",
             use != nullptr ? ledger_.Where(*use).c_str() : reader.operation.c_str(), access.extent(),
             static_cast<size_t>(Begin(access) - block->begin), static_cast<unsigned long long>(block->number),
             block->bytes(), static_cast<unsigned long long>(block->begin));
  finding.parts = {std::move(reader), {"allocated", "the block was allocated here", "", block->allocated, 0}};
  finding.things.push_back(ledger_.ThingOf(*block, Begin(access), End(access)));
  if (use != nullptr) finding.things.push_back(ledger_.ThingOf(*use));
  finding.memory = ledger_.Around(Begin(access));
  ledger_.reporter.Report(finding);
}

void ContentRules::OnHostAccess(const trace::HostAccess& access) {
  NoteWrites(access.accesses, {-1, 0});
  if (!ledger_.reporter.Wants(Rule::MP503) || shared_) return;
  const bool moves = std::any_of(access.accesses.begin(), access.accesses.end(),
                                 [&](const Access& to) { return Writes(to) && written_.IsKnown(Begin(to)); });
  for (const Access& read : access.accesses) {
    if (!SurelyReads(read) || !written_.IsUntouched(Begin(read), End(read))) continue;
    if (moves) return;
    TellUnwritten(read, {"later", Format("%s is called here", access.name), access.name, access.stack, access.thread},
                  nullptr);
    written_.Write(Begin(read), End(read));
  }
  Write(access.accesses);
}

void ContentRules::OnMemory(const trace::MemoryChange& change) {
  const auto begin = reinterpret_cast<uintptr_t>(change.address);
  if (change.kind != trace::MemoryKind::kDevice || shared_) return;
  if (!change.allocated) {
    written_.End(begin);
  } else if (ledger_.reporter.symbols().EntryPoint(change.stack).starts_with("aclrtMalloc")) {
    written_.Begin(begin, begin + change.bytes);
  }
}

void ContentRules::OnApi(std::string_view call) {
  // torch_npu sets HCCL's options in every process.
  const bool collective = call.starts_with("Hccl") && !call.starts_with("HcclGet") && !call.starts_with("HcclSet");
  if (!collective && call.find("Export") == std::string_view::npos && call.find("Ipc") == std::string_view::npos) {
    return;
  }
  shared_ = true;
  written_.WriteAll();
}

// --- Pinned sources ---------------------------------------------------------------------------------------------

void ContentRules::NoteWrites(Accesses accesses, Epoch at) {
  for (const Access& access : accesses) {
    if (!Writes(access)) continue;
    const Block* block = PinnedAt(access);
    if (block == nullptr) continue;
    PinnedWrites& writes = pinned_writes_[block->number];
    ++writes.count;
    if (at.stream >= 0) writes.last = at;
  }
}

void ContentRules::NoteUnsure(const trace::TaskEnqueued& task, Epoch at) {
  std::erase_if(unsure_, [&](Epoch before) { return ledger_.order.HostHas(before); });
  if (!MayOrderTheHost(task)) return;
  unsure_.push_back(at);
  ++unsure_count_;
}

const Block* ContentRules::PinnedAt(const Access& access) const {
  const Block* block = ledger_.blocks.Find(Begin(access));
  return block != nullptr && block->kind == trace::MemoryKind::kPinned ? block : nullptr;
}

void ContentRules::NoteSource(const trace::TaskEnqueued& task, const Use& use) {
  NoteWrites(task.accesses, use.at);
  if (task.kind != TaskKind::kCopy || task.accesses.empty() || Writes(task.accesses.front())) return;
  const Block* block = PinnedAt(task.accesses.front());
  if (block == nullptr) return;
  if (sources_.size() >= kMaxSources) {
    std::erase_if(sources_, [&](const auto& entry) { return ledger_.order.HostHas(entry.second.use.at); });
    if (sources_.size() >= kMaxSources) return;
  }
  const PinnedWrites& writes = pinned_writes_[block->number];
  const bool settled = writes.last.stream < 0 || ledger_.order.HostHas(writes.last);
  sources_[{use.at.stream, use.at.count}] = {use, block->number, writes.count, unsure_count_,
                                             settled && unsure_.empty()};
}

void ContentRules::OnSource(const trace::Damage& damage) {
  auto found = sources_.extract({damage.stream, damage.count});
  if (found.empty()) return;
  const Source& source = found.mapped();
  const auto begin = reinterpret_cast<uintptr_t>(damage.address);
  const Block* block = ledger_.blocks.Find(begin);
  // Freed since, or written by somebody who may have an order: not what this rule is about, or not for sure.
  if (block == nullptr || block->number != source.block || !source.sure) return;
  if (source.unsure != unsure_count_ || pinned_writes_[source.block].count != source.writes) return;
  Finding finding{.rule = Rule::MP507, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message =
      Format("the %zu bytes of pinned memory at 0x%llx that %s copies were written between its launch and its run",
             damage.bytes, static_cast<unsigned long long>(begin), ledger_.Where(source.use).c_str());
  finding.parts = {ledger_.PartOf("earlier", source.use),
                   {"allocated", "the pinned memory was allocated here", "", block->allocated, 0}};
  finding.things = {ledger_.ThingOf(*block, begin, begin + damage.bytes), ledger_.ThingOf(source.use)};
  finding.lanes = ledger_.Picture(source.use, nullptr, "a write of the host");
  ledger_.reporter.Report(finding);
}

// --- Pinned targets ---------------------------------------------------------------------------------------------

// The device keeps the pages closed; it is said here from when on the host may know that the copy is done.
void ContentRules::NoteTarget(const trace::TaskEnqueued& task, const Use& use) {
  if (MayTellTheHost(task)) {
    trace::ReleaseTarget(nullptr);
    targets_.clear();
  }
  if (task.kind != TaskKind::kCopy || task.accesses.size() != 2 || !Writes(task.accesses.back())) return;
  const Access& target = task.accesses.back();
  if (PinnedAt(target) == nullptr) return;
  if (unsure_.empty() && targets_.size() < kMaxSources) {
    targets_.insert_or_assign(Begin(target), Target{use, End(target)});
  } else {
    trace::ReleaseTarget(target.address);
  }
}

void ContentRules::OnHostLearnt() {
  std::erase_if(targets_, [&](const auto& entry) {
    if (!ledger_.order.HostHas(entry.second.use.at)) return false;
    trace::ReleaseTarget(reinterpret_cast<void*>(entry.first));
    return true;
  });
}

void ContentRules::OnStreamGone(int32_t stream) {
  std::erase_if(targets_, [&](const auto& entry) {
    if (entry.second.use.at.stream != stream) return false;
    trace::ReleaseTarget(reinterpret_cast<void*>(entry.first));
    return true;
  });
}

void ContentRules::OnTargetTouched(const trace::Damage& damage) {
  const auto at = reinterpret_cast<uintptr_t>(damage.address);
  auto found = targets_.upper_bound(at);
  if (found == targets_.begin() || at >= std::prev(found)->second.end) return;
  --found;
  const auto [begin, target] = *found;
  targets_.erase(found);
  const Block* block = ledger_.blocks.Find(at);
  if (block == nullptr || ledger_.order.HostHas(target.use.at)) return;
  const bool writes = damage.kind == trace::Damage::Kind::kTargetWritten;
  Finding finding{.rule = Rule::MP511, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message = Format("the host %s pinned memory at 0x%llx, which %s fills (%zu bytes), and has not waited for it",
                           writes ? "writes" : "reads", static_cast<unsigned long long>(at),
                           ledger_.Where(target.use).c_str(), static_cast<size_t>(target.end - begin));
  finding.parts = {
      {"later", Format("the host %s it here", writes ? "writes" : "reads"), "", damage.stack, damage.thread},
      ledger_.PartOf("earlier", target.use),
      {"allocated", "the pinned memory was allocated here", "", block->allocated, 0}};
  finding.things = {ledger_.ThingOf(*block, begin, target.end), ledger_.ThingOf(target.use)};
  finding.lanes = ledger_.Picture(target.use, nullptr, writes ? "a write of the host" : "a read of the host");
  ledger_.reporter.Report(finding);
}

}  // namespace millpond::check
