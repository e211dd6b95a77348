// SPDX-License-Identifier: Apache-2.0
#include "src/check/memory_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/format.h"

namespace millpond::check {

namespace {

// Allocations of one call site that make it worth saying that a pool would be faster.
constexpr uint64_t kChurn = 10'000;

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Loaded graphs, models and replays run as tasks of this name, with what they touch.
bool IsGraphRun(const std::string& name) { return name == "GraphExecute"; }
bool IsCollective(const std::string& name) { return name.starts_with("Hccl"); }

// Memory goes by itself too: at the end of a model, inside a task, with a device. That is Millpond's business.
bool IsClientsFree(const std::string& call) {
  return call.starts_with("aclrtFree") || call.starts_with("aclrtUnmap") || call.starts_with("aclrtHostUnregister");
}

const char* Verb(bool writes) { return writes ? "writes" : "reads"; }

// Words that streams wait for and write are how they order each other, not what they race for.
bool IsSignal(trace::TaskKind kind) {
  return kind == trace::TaskKind::kValueWrite || kind == trace::TaskKind::kValueWait;
}

bool IsPinned(trace::MemoryKind kind) {
  return kind == trace::MemoryKind::kPinned || kind == trace::MemoryKind::kRegistered;
}

}  // namespace

Use MemoryRules::OnTask(const trace::TaskEnqueued& task, uint32_t stack, std::span<const trace::Access> more) {
  const uint32_t name = ledger_.Note(task);
  const Use use = ledger_.UseOf(task, stack, name);
  ledger_.order.Launched(use.at);
  using EdgeKind = trace::Edge::Kind;
  // A graph's nodes run in an order of their own.
  const auto is_level = [](const trace::Edge& edge) { return edge.link == trace::Link::kEvent && edge.binds_when_run; };
  for (const trace::Edge& edge : task.edges) {
    if (task.graph == 0) break;
    if (is_level(edge)) ledger_.order.ForgetLevel(edge.id);
    if (edge.link == trace::Link::kNotify) ledger_.order.DoubtNotify(edge.id);
  }
  for (const trace::Edge& edge : task.edges) {
    if (edge.kind != EdgeKind::kWait) continue;
    ledger_.order.Wait(edge, use.at);
    if (const auto point = ledger_.order.PointOf(edge)) ledger_.waits.Add({use.at, *point});
  }
  const auto graph = task.graph != 0 ? graphs_.find(task.graph) : graphs_.end();
  const bool waits_for_function = CallsClient(task.kind) && (task.flags & trace::kBlocksStream) != 0;
  if (waits_for_function || (graph != graphs_.end() && graph->second.calls_client)) ledger_.order.Hold(use.at);
  Touch(task.accesses, use);
  Touch(more, use);
  if (task.accesses.size() == 1 && more.empty()) Remember(task.accesses.front(), use);
  if (graph != graphs_.end()) TouchByReplay(task.graph, &graph->second, use);
  for (const trace::Edge& edge : task.edges) {
    if (edge.kind == EdgeKind::kRecord && !edge.binds_when_run) ledger_.order.Record(edge, use.at);
    if (task.graph == 0 && edge.link == trace::Link::kNotify) {
      if (edge.kind == EdgeKind::kRecord) ledger_.order.RecordNotify(edge, use.at);
      if (edge.kind == EdgeKind::kReset) ledger_.order.DoubtNotify(edge.id);
    }
    if (task.graph != 0 || !is_level(edge)) continue;
    if (edge.kind == EdgeKind::kRecord) ledger_.order.RecordLevel(edge, use.at);
    if (edge.kind == EdgeKind::kReset) ledger_.order.ForgetLevel(edge.id);
  }
  return use;
}

void MemoryRules::Remember(const trace::Access& access, const Use& use) {
  if (access.flags != 0 || access.bytes == 0 || IsSignal(use.kind) || !IsPlain()) return;
  Again& again = AgainOf(access, use.at.stream);
  Block* const block = ledger_.blocks.Find(Address(access.address));
  if (block == nullptr || block->end < Address(access.address) + access.bytes) return;
  const auto user = std::find_if(block->users.begin(), block->users.end(),
                                 [&](const Use& one) { return one.at.stream == use.at.stream; });
  if (user == block->users.end() || !ledger_.shadow.HasAlone(access, use, &again.place)) return;
  again = {.access = access,
           .stream = use.at.stream,
           .kind = use.kind,
           .user = static_cast<size_t>(user - block->users.begin()),
           .block = block,
           .blocks_version = ledger_.blocks.version(),
           .place = again.place};
}

void MemoryRules::Touch(std::span<const trace::Access> accesses, const Use& use) {
  std::vector<Conflict> conflicts;
  for (const trace::Access& access : accesses) {
    if ((access.flags & trace::kMayTouch) != 0 || access.bytes == 0) continue;
    if (ledger_.pieces.has_programs()) CheckBounds(access, ledger_.Where(use), ledger_.PartOf("later", use));
    ledger_.blocks.Touch(access, use);
    ledger_.pieces.Touch(access, use);
    allocators_.OnUse(access, use);
    if (!IsSignal(use.kind)) ledger_.shadow.Touch(access, use, &conflicts);
  }
  TellOrHold(conflicts, use);
}

void MemoryRules::TellOrHold(const std::vector<Conflict>& conflicts, const Use& later) {
  for (const Conflict& conflict : conflicts) {
    if (conflict.held) {
      held_.Keep(conflict, later);
    } else {
      Tell(conflict, later);
    }
  }
}

void MemoryRules::OnHostLearnt() {
  if (held_.empty()) return;
  for (const HeldConflicts::Held& held : held_.TakeDecided()) {
    // What a pool has given out since then is another story.
    const Piece* const piece = ledger_.pieces.Find(held.conflict.begin);
    const auto* const handed = allocators_.HandedSince(held.conflict.begin, held.later.sequence);
    if (handed == nullptr && (piece == nullptr || piece->sequence <= held.later.sequence))
      Tell(held.conflict, held.later);
  }
}

// Calls look at their ranges when they are made, and what an operator was given between its two phases may go at once
// where the allocator follows the order of the stream; a replay of a captured graph uses what it was given when it was
// captured, whether that is still there or not.
void MemoryRules::CheckStale(const trace::Access& access, const Use& use) {
  const uintptr_t begin = Address(access.address);
  Block* block = ledger_.blocks.FindStale(begin);
  if (block == nullptr || !IsClients(block)) return;
  // With its task queue torch frees blocks before the tasks on them are launched.
  if (ledger_.reporter.symbols().PassesThrough(use.stack, "libtorch_npu")) return;
  block->told = true;
  const std::string call = ledger_.reporter.symbols().EntryPoint(block->freed);
  ledger_.reporter.Report(
      {.rule = Rule::MP504,
       .message = Format("%s %s %zu bytes at 0x%llx, in block %llu (%zu bytes at 0x%llx), which was freed before",
                         ledger_.Where(use).c_str(), Verb(access.mode != trace::Mode::kRead), access.extent(),
                         static_cast<unsigned long long>(begin), static_cast<unsigned long long>(block->number),
                         block->bytes(), static_cast<unsigned long long>(block->begin)),
       .parts = {ledger_.PartOf("later", use),
                 {"freed", "the block was freed here", call, block->freed, 0},
                 {"allocated", "and allocated here", "", block->allocated, 0}},
       .things = {ledger_.ThingOf(*block, begin, begin + access.extent()), ledger_.ThingOf(use)},
       .lanes = {},
       .memory = ledger_.Around(begin)});
}

// Most replays come again on the same stream with nothing changed: they cost what has.
void MemoryRules::TouchByReplay(uint32_t graph, Summary* summary, const Use& use) {
  const Repeated& ranges = summary->ranges;
  if (summary->blocks_version != ledger_.blocks.version()) {
    summary->blocks_version = ledger_.blocks.version();
    std::set<Block*> blocks;
    ranges.ForEach([&](const trace::Access& access) { CheckStale(access, use); });
    for (const auto* accesses : {&ranges.plain, &ranges.strided}) {
      for (const trace::Access& access : *accesses)
        ledger_.blocks.ForEachIn(access, [&](Block* b) { blocks.insert(b); });
    }
    summary->blocks.assign(blocks.begin(), blocks.end());
  }
  for (Block* block : summary->blocks) Blocks::Touch(block, use);
  if (allocators_.HasHandedOut()) {
    for (const trace::Access& access : ranges.plain) allocators_.OnUse(access, use);
    for (const trace::Access& access : ranges.strided) allocators_.OnUse(access, use);
  }
  if (ledger_.pieces.has_programs()) {
    ranges.ForEach(
        [&](const trace::Access& access) { CheckBounds(access, ledger_.Where(use), ledger_.PartOf("later", use)); });
  }
  if (!ledger_.pieces.empty()) {
    ranges.ForEach([&](const trace::Access& access) { ledger_.pieces.Touch(access, use); });
  }
  std::vector<Conflict> conflicts;
  ledger_.shadow.TouchAgain(graph, ranges, use, &conflicts);
  TellOrHold(conflicts, use);
}

// Did the program allocate it itself?
bool MemoryRules::IsClients(const Block* block) {
  if (block == nullptr) return true;
  const std::string call = ledger_.reporter.symbols().EntryPoint(block->allocated);
  return call.starts_with("aclrtM") || call.starts_with("aclrtHost");
}

// Two owners of the same bytes, one after the other: who let the memory go too early?
MemoryRules::Reuse MemoryRules::ReuseOf(const Conflict& conflict, const Use& later) {
  const Piece* const now = ledger_.pieces.FindTorchs(conflict.begin);
  if (now == nullptr || now->sequence < conflict.earlier.sequence) return {};
  const Piece* const before = ledger_.pieces.FindFormer(conflict.begin, conflict.earlier.sequence);
  if (before == nullptr || before->owner < 0) return {};
  // The former owner's stream used it last: either the pool gave its memory to another stream, or the new tensor is
  // used on a stream that did not wait for its own.
  if (conflict.earlier.at.stream == before->owner) {
    return now->owner >= 0 && now->owner != before->owner ? Reuse{Rule::MP303, before} : Reuse{};
  }
  return later.at.stream == now->owner ? Reuse{Rule::MP405, before} : Reuse{};
}

void MemoryRules::TellReuse(const Conflict& conflict, const Use& later, const Reuse& reuse) {
  const Use& earlier = conflict.earlier;
  const Piece& before = *reuse.before;
  Finding finding{.rule = reuse.rule, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  const bool lost = reuse.rule == Rule::MP405;
  finding.message = Format(
      "%s: its memory went to %s, which %s the same bytes, and nothing orders that after %s",
      lost
          ? Format("a tensor of stream %d was used on stream %d and freed without record_stream or a wait",
                   before.owner, earlier.at.stream)
                .c_str()
          : Format("a block of stream %d was given to another stream before its tasks were done", before.owner).c_str(),
      ledger_.Where(later).c_str(), Verb(conflict.later_writes), ledger_.Where(earlier).c_str());
  if (lost) finding.parts = {{"freed", "the tensor was freed here", "", before.freed, 0}};
  finding.parts.push_back(ledger_.PartOf(lost ? "earlier" : "later", lost ? earlier : later));
  finding.parts.push_back(ledger_.PartOf(lost ? "later" : "earlier", lost ? later : earlier));
  if (!lost) finding.parts.push_back({"freed", "the block was freed here", "", before.freed, 0});
  finding.parts.push_back({"allocated", "its memory was given out here", "", before.allocated, 0});
  finding.things = {ledger_.ThingOf(before, conflict.begin, conflict.end), ledger_.ThingOf(later),
                    ledger_.ThingOf(earlier)};
  finding.lanes = ledger_.Picture(earlier, &later, "");
  finding.memory = ledger_.Around(conflict.begin);
  ledger_.reporter.Report(finding);
}

void MemoryRules::Tell(const Conflict& conflict, const Use& later) {
  if (const Reuse reuse = ReuseOf(conflict, later); reuse.before != nullptr) return TellReuse(conflict, later, reuse);
  Finding finding{.rule = Rule::MP611, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  const Use& earlier = conflict.earlier;
  const Block* block = ledger_.blocks.Find(conflict.begin);
  if (ledger_.NameOf(earlier) == "GraphConstants") {
    // A load that is a part of a run is ordered by the runtime; one that the program asks for is the program's to
    // order.
    if (ledger_.reporter.symbols().EntryPoint(earlier.stack).find("LoadGraph") == std::string::npos) return;
    finding.rule = Rule::MP311;
  } else if (IsGraphRun(ledger_.NameOf(earlier)) && IsGraphRun(ledger_.NameOf(later)) && !IsClients(block)) {
    return;  // what a graph or model keeps for its runs: the runtime orders them
  }
  const AllocatorRules::Handed* handed = allocators_.HandedSince(conflict.begin, earlier.sequence);
  const Piece* const piece = ledger_.pieces.FindPrograms(conflict.begin);
  const bool reused = piece != nullptr && piece->sequence >= earlier.sequence;
  if (handed != nullptr && allocators_.HasToldShared(handed->object, earlier, later)) return;
  if ((handed != nullptr || reused) && finding.rule == Rule::MP611) {
    finding.rule = Rule::MP303;
  } else if (conflict.later_writes && IsCollective(ledger_.NameOf(earlier))) {
    finding.rule = Rule::MP610;
  }
  finding.message = Format(
      "%s %s %zu bytes at 0x%llx that %s %s, and nothing orders the two", ledger_.Where(later).c_str(),
      Verb(conflict.later_writes), static_cast<size_t>(conflict.end - conflict.begin),
      static_cast<unsigned long long>(conflict.begin), ledger_.Where(earlier).c_str(), Verb(conflict.earlier_writes));
  if (handed != nullptr || reused) {
    finding.message += Format("; the %s gave the memory to the second before the first was done",
                              handed != nullptr ? "allocator" : "pool");
  }
  finding.parts = {ledger_.PartOf("later", later), ledger_.PartOf("earlier", earlier)};
  if (handed != nullptr) finding.parts.push_back({"allocated", "the allocator gave it out here", "", handed->stack, 0});
  DescribeMemory(conflict, &finding);
  finding.things.push_back(ledger_.ThingOf(later));
  finding.things.push_back(ledger_.ThingOf(earlier));
  finding.lanes = ledger_.Picture(earlier, &later, "");
  finding.memory = ledger_.Around(conflict.begin);
  ledger_.reporter.Report(finding);
}

// Where the two meet: the piece that a pool gave out of it, if that is known, and the block.
void MemoryRules::DescribeMemory(const Conflict& conflict, Finding* finding) {
  const Piece* const piece = ledger_.pieces.Find(conflict.begin);
  const Block* const block = ledger_.blocks.Find(conflict.begin);
  if (piece != nullptr) {
    finding->parts.push_back({"allocated", "its memory was given out here", "", piece->allocated, 0});
    finding->things.push_back(ledger_.ThingOf(*piece, conflict.begin, conflict.end));
  } else if (block != nullptr) {
    finding->parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
  }
  if (block != nullptr) finding->things.push_back(ledger_.ThingOf(*block, conflict.begin, conflict.end));
}

void MemoryRules::OnHostAccess(const trace::HostAccess& access) {
  std::vector<Conflict> conflicts;
  for (const trace::Access& range : access.accesses) {
    if (ledger_.pieces.has_programs()) {
      CheckBounds(range, access.name,
                  {"later", Format("%s is called here", access.name), access.name, access.stack, access.thread});
    }
    ledger_.shadow.TouchByHost(range, &conflicts);
  }
  for (const Conflict& conflict : conflicts) {
    const Use& earlier = conflict.earlier;
    Finding finding{.rule = conflict.earlier_writes && IsSessionRun(earlier) ? Rule::MP305 : Rule::MP510,
                    .message = {},
                    .parts = {},
                    .things = {},
                    .lanes = {},
                    .memory = {}};
    finding.message = Format("%s %s %zu bytes at 0x%llx that %s %s, and the host has not waited for it", access.name,
                             Verb(conflict.later_writes), static_cast<size_t>(conflict.end - conflict.begin),
                             static_cast<unsigned long long>(conflict.begin), ledger_.Where(earlier).c_str(),
                             Verb(conflict.earlier_writes));
    finding.parts = {{"later", Format("%s is called here", access.name), access.name, access.stack, access.thread},
                     ledger_.PartOf("earlier", earlier)};
    DescribeMemory(conflict, &finding);
    finding.things.push_back(ledger_.ThingOf(earlier));
    finding.lanes = ledger_.Picture(earlier, nullptr, access.name);
    finding.memory = ledger_.Around(conflict.begin);
    ledger_.reporter.Report(finding);
  }
  ledger_.host_steps.Add({.sequence = ledger_.sequence, .name = ledger_.names.NumberOf(access.name)});
}

// A run of a graph by GE's interface, whose pages have rules of their own; models and replays are acl's.
bool MemoryRules::IsSessionRun(const Use& use) {
  return IsGraphRun(ledger_.NameOf(use)) && !ledger_.reporter.symbols().EntryPoint(use.stack).starts_with("aclmdl");
}

Rule MemoryRules::RuleOfGoing(const Block& block, const Use& user, uint32_t stack, bool unmapped) {
  if (unmapped) return Rule::MP702;
  if (IsPinned(block.kind)) return Rule::MP506;
  if (ledger_.reporter.symbols().PassesThrough(stack, "libtorch_npu")) return Rule::MP403;
  if (allocators_.Holds(block)) return Rule::MP301;
  if (IsSessionRun(user)) return Rule::MP309;
  return Rule::MP304;
}

void MemoryRules::CheckGoing(const Block& block, uint32_t stack, uint32_t thread, bool unmapped) {
  const Use* user = Pending(block, ledger_.order);
  if (user == nullptr) return;
  const std::string call = ledger_.reporter.symbols().EntryPoint(stack);
  if (!IsClientsFree(call)) return;
  Finding finding{.rule = RuleOfGoing(block, *user, stack, unmapped),
                  .message = {},
                  .parts = {},
                  .things = {},
                  .lanes = {},
                  .memory = {}};
  size_t users = 0;
  for (const Use& other : block.users) users += ledger_.order.HostHas(other.at) ? 0 : 1;
  finding.message =
      Format("%s of block %llu (%zu bytes at 0x%llx) while %s may still use it%s", call.c_str(),
             static_cast<unsigned long long>(block.number), block.bytes(), static_cast<unsigned long long>(block.begin),
             ledger_.Where(*user).c_str(), users > 1 ? Format(", and %zu more", users - 1).c_str() : "");
  if (const size_t out = ledger_.pieces.ProgramsWithin(block.begin, block.end); out != 0) {
    finding.message += Format("; %zu parts of it that a pool gave out are not back", out);
  }
  finding.parts = {{"later", call + " is called here", call, stack, thread},
                   ledger_.PartOf("earlier", *user),
                   {"allocated", unmapped ? "mapped here" : "allocated here", "", block.allocated, 0}};
  finding.things = {ledger_.ThingOf(block, 0, 0), ledger_.ThingOf(*user)};
  finding.lanes = ledger_.Picture(*user, nullptr, call);
  finding.memory = ledger_.Around(block.begin);
  finding.memory.push_back({block.begin, block.bytes(), false, block.number, block.allocated, true});
  ledger_.reporter.Report(finding);
  ledger_.blocks.MarkTold(block.begin);
}

void MemoryRules::OnMemory(const trace::MemoryChange& change) {
  using trace::MemoryKind;
  if (change.kind == MemoryKind::kPhysical) return;  // told when it is mapped
  const uintptr_t begin = Address(change.address);
  if (change.allocated) {
    ledger_.shadow.Forget(begin, begin + change.bytes);
    ledger_.blocks.Add(begin, change.bytes, change.kind, change.device, change.stack);
    if (change.kind != MemoryKind::kDevice || !ledger_.reporter.Wants(Rule::MP505)) return;
    if (++allocations_[ledger_.reporter.symbols().CallSite(change.stack)] != kChurn) return;
    const std::string call = ledger_.reporter.symbols().EntryPoint(change.stack);
    ledger_.reporter.Report({.rule = Rule::MP505,
                             .message = Format("%s was called %llu times from one place", call.c_str(),
                                               static_cast<unsigned long long>(kChurn)),
                             .parts = {{"later", call + " is called here", call, change.stack, change.thread}},
                             .things = {},
                             .lanes = {},
                             .memory = {}});
    return;
  }
  ForgetBlock(change, false);
}

template <class Change>
void MemoryRules::ForgetBlock(const Change& change, bool unmapped) {
  const uintptr_t begin = Address(change.address);
  const std::optional<Block> gone = ledger_.blocks.Remove(begin, change.stack);
  if (gone) CheckGoing(*gone, change.stack, change.thread, unmapped);
  ledger_.host_steps.Add({.sequence = ledger_.sequence, .stack = change.stack});
  ledger_.shadow.Forget(begin, begin + change.bytes);
  held_.Forget(begin, begin + change.bytes);
  ledger_.pieces.Forget(begin, begin + change.bytes);
}

void MemoryRules::OnMapping(const trace::MappingChange& change) {
  using Kind = trace::MappingChange::Kind;
  const uintptr_t begin = Address(change.address);
  if (change.kind == Kind::kMapped) {
    ledger_.shadow.Forget(begin, begin + change.bytes);
    ledger_.blocks.Add(begin, change.bytes, trace::MemoryKind::kPhysical, change.device, change.stack);
  } else if (change.kind == Kind::kUnmapped) {
    ForgetBlock(change, true);
  }
}

// Races between the nodes are told once, now; a replay then counts as one task that touches all of it.
void MemoryRules::OnGraph(const trace::GraphShape& graph) {
  CheckInside(graph);
  using Range = std::tuple<const void*, size_t, uint32_t, size_t, uint8_t>;
  std::map<Range, trace::Mode> ranges;
  bool calls_client = false;
  for (const trace::GraphNode& node : graph.nodes) {
    if (!node.runs) continue;
    calls_client |= CallsClient(node.kind);
    for (const trace::Access& access : node.accesses) {
      const auto [same, made] =
          ranges.try_emplace(Range(access.address, access.bytes, access.rows, access.pitch, access.flags), access.mode);
      if (!made && same->second != access.mode) same->second = trace::Mode::kReadWrite;
    }
  }
  std::vector<trace::Access> summary;
  for (const auto& [range, mode] : ranges) {
    const auto& [address, bytes, rows, pitch, flags] = range;
    summary.push_back({address, bytes, mode, flags, rows, pitch});
  }
  ledger_.shadow.ForgetGroup(graph.graph);
  graphs_.insert_or_assign(graph.graph, Summary{Repeated(summary), {}, 0, calls_client});
}

void MemoryRules::CheckInside(const trace::GraphShape& graph) {
  Order order;
  Shadow shadow(&order);
  std::vector<Conflict> conflicts;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const trace::GraphNode& node = graph.nodes[n];
    const Epoch at{static_cast<int32_t>(node.lane), n + 1};
    for (const uint32_t before : node.after) {
      order.Wait({trace::Edge::Kind::kWait, trace::Link::kPoint, false, 0, graph.nodes[before].lane, before + 1}, at);
    }
    if (!node.runs || IsSignal(node.kind)) continue;
    if (CallsClient(node.kind)) order.Hold(at);
    const std::vector<trace::NodeCaptured>& places = captured_[graph.graph];
    const trace::NodeCaptured* place = n < places.size() ? &places[n] : nullptr;
    const Use use{.at = at,
                  .sequence = n + 1,
                  .stack = place != nullptr ? place->stack : 0,
                  .name = ledger_.names.NumberOf(node.name),
                  .thread = place != nullptr ? place->thread : 0,
                  .kind = node.kind};
    for (const trace::Access& access : node.accesses) shadow.Touch(access, use, &conflicts);
    for (const Conflict& conflict : conflicts) {
      if (!conflict.held) TellInside(graph, conflict, use);
    }
    conflicts.clear();
  }
}

void MemoryRules::TellInside(const trace::GraphShape& graph, const Conflict& conflict, const Use& later) {
  const Use& earlier = conflict.earlier;
  Finding finding{.rule = Rule::MP611, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message = Format(
      "in captured graph %u, node %llu (%s) %s %zu bytes at 0x%llx that node %llu (%s) %s on another stream of "
      "the capture, and nothing orders the two",
      graph.graph, static_cast<unsigned long long>(later.at.count - 1), ledger_.NameOf(later).c_str(),
      Verb(conflict.later_writes), static_cast<size_t>(conflict.end - conflict.begin),
      static_cast<unsigned long long>(conflict.begin), static_cast<unsigned long long>(earlier.at.count - 1),
      ledger_.NameOf(earlier).c_str(), Verb(conflict.earlier_writes));
  // Marks have no stack: they only order others, and take no part in a conflict.
  if (later.stack != 0) {
    finding.parts.push_back(
        {"later", ledger_.NameOf(later) + ", captured here", ledger_.NameOf(later), later.stack, later.thread});
  }
  if (earlier.stack != 0) {
    finding.parts.push_back({"earlier", ledger_.NameOf(earlier) + ", captured here", ledger_.NameOf(earlier),
                             earlier.stack, earlier.thread});
  }
  if (const Block* block = ledger_.blocks.Find(conflict.begin)) {
    finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
    finding.things.push_back(ledger_.ThingOf(*block, conflict.begin, conflict.end));
  }
  finding.memory = ledger_.Around(conflict.begin);
  ledger_.reporter.Report(finding);
}

void MemoryRules::OnCaptured(const trace::NodeCaptured& node) {
  std::vector<trace::NodeCaptured>& nodes = captured_[node.graph];
  if (nodes.size() <= node.node) nodes.resize(node.node + 1);  // marks in between are not told
  nodes[node.node] = node;
}

void MemoryRules::OnGraphGone(uint32_t graph) {
  captured_.erase(graph);
  graphs_.erase(graph);
}

// --- Pieces of blocks, as pools tell ------------------------------------------------------------------------------

void MemoryRules::OnPiece(const trace::PoolPiece& piece) {
  const uintptr_t begin = Address(piece.address);
  using Teller = trace::PoolPiece::Teller;
  const bool programs = piece.teller != Teller::kRegions;
  if (!piece.begins) {
    std::optional<Piece> gone = ledger_.pieces.Remove(begin, programs, piece.stack);
    // Pools of the runtime's (aclrtMemPool*) tell their device; what they have back is nobody's to use. Where the
    // stream still waits for what is to come, the end may come after that.
    const bool runtimes = piece.device >= 0;
    if (!programs || !runtimes || !gone) return;
    if (!ledger_.order.IsOpen(ledger_.StreamOf(piece.stream))) ledger_.pieces.Leave(std::move(*gone));
    return;
  }
  ledger_.pieces.Add({.begin = begin,
                      .end = begin + piece.bytes,
                      .maker = programs ? Maker::kProgram : Maker::kTorch,
                      .sequence = ledger_.sequence,
                      .owner = ledger_.StreamOf(piece.stream),
                      .allocated = piece.stack,
                      .name = piece.name != nullptr ? piece.name : "",
                      .users = {},
                      .lost_records = {}});
}

// A pool of the runtime's has the bytes back, in the order of a stream that comes to it.
void MemoryRules::TellGone(const trace::Access& access, const Piece& gone, const std::string& where, const Part& part) {
  // With its task queue torch frees blocks before the tasks on them are launched.
  if (ledger_.reporter.symbols().PassesThrough(part.stack, "libtorch_npu")) return;
  const uintptr_t begin = Address(access.address);
  const std::string call = ledger_.reporter.symbols().EntryPoint(gone.freed);
  Finding finding{.rule = Rule::MP504, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message =
      Format("%s %s %zu bytes at 0x%llx, in a part (%zu bytes at 0x%llx) that went back to its pool before",
             where.c_str(), Verb(access.mode != trace::Mode::kRead), access.extent(),
             static_cast<unsigned long long>(begin), gone.bytes(), static_cast<unsigned long long>(gone.begin));
  finding.parts = {part,
                   {"freed", "it went back here", call, gone.freed, 0},
                   {"allocated", "the pool gave the part out here", "", gone.allocated, 0}};
  finding.things = {ledger_.ThingOf(gone, begin, begin + access.extent())};
  finding.memory = ledger_.Around(begin);
  ledger_.reporter.Report(finding);
  ledger_.pieces.ForgetGone(gone.begin, gone.end);
}

void MemoryRules::CheckBounds(const trace::Access& access, const std::string& where, const Part& part) {
  const uintptr_t begin = Address(access.address);
  const uintptr_t end = begin + access.extent();
  if (const Piece* const gone = ledger_.pieces.FindGone(begin); gone != nullptr) {
    return TellGone(access, *gone, where, part);
  }
  const Piece* const left = ledger_.pieces.LeftBy(begin, end);
  if (left == nullptr) return;
  const Block* block = ledger_.blocks.Find(begin);
  // All of what the pool keeps: its own business, not that of one part.
  if (block == nullptr || (begin == block->begin && end >= block->end)) return;
  Finding finding{.rule = Rule::MP504, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message =
      Format("%s %s %zu bytes past %s%s%s (%zu bytes at 0x%llx), a part of block %llu", where.c_str(),
             Verb(access.mode != trace::Mode::kRead), static_cast<size_t>(end - left->end),
             left->name.empty() ? "the part" : "'", left->name.c_str(), left->name.empty() ? "" : "'", left->bytes(),
             static_cast<unsigned long long>(left->begin), static_cast<unsigned long long>(block->number));
  finding.parts = {part,
                   {"allocated", "the pool gave the part out here", "", left->allocated, 0},
                   {"allocated", "the block was allocated here", "", block->allocated, 0}};
  finding.things = {ledger_.ThingOf(*block, left->begin, end)};
  finding.memory = ledger_.Around(begin);
  ledger_.reporter.Report(finding);
}

}  // namespace millpond::check
