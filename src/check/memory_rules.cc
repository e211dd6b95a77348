// SPDX-License-Identifier: Apache-2.0
#include "src/check/memory_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/base/format.h"

namespace millpond::check {

namespace {

// Allocations of one call site that make it worth saying that a pool would be faster.
constexpr uint64_t kChurn = 10'000;

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Loaded graphs run as tasks of this name, with inputs and outputs as what they touch.
bool IsGraphRun(const std::string& name) { return name == "GraphExecute"; }
bool IsCollective(const std::string& name) { return name.starts_with("Hccl"); }

// Memory goes by itself too: at the end of a model, inside a task, with a device. That is Millpond's business.
bool IsClientsFree(const std::string& call) { return call.starts_with("aclrtFree") || call.starts_with("aclrtUnmap"); }

const char* Verb(bool writes) { return writes ? "writes" : "reads"; }

// Words that streams wait for and write are how they order each other, not what they race for.
bool IsSignal(trace::TaskKind kind) {
  return kind == trace::TaskKind::kValueWrite || kind == trace::TaskKind::kValueWait;
}

bool IsPinned(trace::MemoryKind kind) { return kind == trace::MemoryKind::kPinned; }

}  // namespace

void MemoryRules::OnTask(const trace::TaskEnqueued& task, uint32_t stack) {
  const Use use = ledger_.NewUse(task, stack);
  ledger_.order.Told(use.at);
  using EdgeKind = trace::Edge::Kind;
  for (const trace::Edge& edge : task.edges) {
    if (edge.kind == EdgeKind::kWait) ledger_.order.Wait(edge, use.at);
  }
  Touch(task.accesses, use);
  if (task.graph != 0) {
    const auto found = graphs_.find(task.graph);
    if (found != graphs_.end()) TouchByReplay(task.graph, &found->second, use);
  }
  for (const trace::Edge& edge : task.edges) {
    if (edge.kind == EdgeKind::kRecord && !edge.binds_when_run) ledger_.order.Record(edge, use.at);
  }
}

void MemoryRules::Touch(std::span<const trace::Access> accesses, const Use& use) {
  std::vector<Conflict> conflicts;
  for (const trace::Access& access : accesses) {
    if ((access.flags & trace::kMayTouch) != 0 || access.bytes == 0) continue;
    ledger_.blocks.Touch(access, use);
    allocators_.OnUse(access, use);
    if (!IsSignal(use.kind)) ledger_.shadow.Touch(access, use, &conflicts);
  }
  for (const Conflict& conflict : conflicts) Tell(conflict, use);
}

// Most replays come again on the same stream with nothing changed: they cost what has.
void MemoryRules::TouchByReplay(uint32_t graph, Summary* summary, const Use& use) {
  const Repeated& ranges = summary->ranges;
  if (summary->blocks_version != ledger_.blocks.version()) {
    summary->blocks_version = ledger_.blocks.version();
    std::set<Block*> blocks;
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
  std::vector<Conflict> conflicts;
  ledger_.shadow.TouchAgain(graph, ranges, use, &conflicts);
  for (const Conflict& conflict : conflicts) Tell(conflict, use);
}

// Did the program allocate it itself?
bool MemoryRules::IsClients(const Block* block) {
  if (block == nullptr) return true;
  const std::string call = ledger_.reporter.symbols().EntryPoint(block->allocated);
  return call.starts_with("aclrtM") || call.starts_with("aclrtHost");
}

void MemoryRules::Tell(const Conflict& conflict, const Use& later) {
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
  if (handed != nullptr && finding.rule == Rule::MP611) {
    finding.rule = Rule::MP303;
  } else if (!conflict.earlier_writes && IsCollective(ledger_.NameOf(earlier))) {
    finding.rule = Rule::MP610;
  }
  finding.message = Format(
      "%s %s %zu bytes at 0x%llx that %s %s, and nothing orders the two", ledger_.Where(later).c_str(),
      Verb(conflict.later_writes), static_cast<size_t>(conflict.end - conflict.begin),
      static_cast<unsigned long long>(conflict.begin), ledger_.Where(earlier).c_str(), Verb(conflict.earlier_writes));
  if (handed != nullptr) finding.message += "; the allocator gave the memory to the second before the first was done";
  finding.parts = {ledger_.PartOf("later", later), ledger_.PartOf("earlier", earlier)};
  if (handed != nullptr) finding.parts.push_back({"allocated", "the allocator gave it out here", "", handed->stack, 0});
  if (block != nullptr) {
    finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
    finding.things.push_back(ledger_.ThingOf(*block, conflict.begin, conflict.end));
  }
  finding.things.push_back(ledger_.ThingOf(later));
  finding.things.push_back(ledger_.ThingOf(earlier));
  finding.lanes = ledger_.Picture(earlier, &later, "");
  finding.memory = ledger_.Around(conflict.begin);
  ledger_.reporter.Report(finding);
}

void MemoryRules::OnHostAccess(const trace::HostAccess& access) {
  std::vector<Conflict> conflicts;
  for (const trace::Access& range : access.accesses) ledger_.shadow.TouchByHost(range, &conflicts);
  for (const Conflict& conflict : conflicts) {
    const Use& earlier = conflict.earlier;
    const Block* block = ledger_.blocks.Find(conflict.begin);
    Finding finding{.rule = conflict.earlier_writes && IsGraphRun(ledger_.NameOf(earlier)) ? Rule::MP305 : Rule::MP510,
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
    if (block != nullptr) {
      finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
      finding.things.push_back(ledger_.ThingOf(*block, conflict.begin, conflict.end));
    }
    finding.things.push_back(ledger_.ThingOf(earlier));
    finding.lanes = ledger_.Picture(earlier, nullptr, access.name);
    finding.memory = ledger_.Around(conflict.begin);
    ledger_.reporter.Report(finding);
  }
}

Rule MemoryRules::RuleOfGoing(const Block& block, const Use& user, uint32_t stack, bool unmapped) {
  if (unmapped) return Rule::MP702;
  if (IsPinned(block.kind)) return Rule::MP506;
  if (ledger_.reporter.symbols().PassesThrough(stack, "libtorch_npu")) return Rule::MP403;
  if (allocators_.Holds(block)) return Rule::MP301;
  if (IsGraphRun(ledger_.NameOf(user))) return Rule::MP309;
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
  finding.parts = {{"later", call + " is called here", call, stack, thread},
                   ledger_.PartOf("earlier", *user),
                   {"allocated", unmapped ? "mapped here" : "allocated here", "", block.allocated, 0}};
  finding.things = {ledger_.ThingOf(block, 0, 0), ledger_.ThingOf(*user)};
  finding.lanes = ledger_.Picture(*user, nullptr, call);
  finding.memory = ledger_.Around(block.begin);
  finding.memory.push_back({block.begin, block.bytes(), false, block.number, block.allocated, true});
  ledger_.reporter.Report(finding);
}

void MemoryRules::OnMemory(const trace::MemoryChange& change) {
  using trace::MemoryKind;
  if (change.kind == MemoryKind::kPhysical || change.kind == MemoryKind::kRegistered) return;
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
  const std::optional<Block> gone = ledger_.blocks.Remove(begin, change.stack);
  if (gone) CheckGoing(*gone, change.stack, change.thread, false);
  ledger_.shadow.Forget(begin, begin + change.bytes);
}

void MemoryRules::OnMapping(const trace::MappingChange& change) {
  using Kind = trace::MappingChange::Kind;
  const uintptr_t begin = Address(change.address);
  if (change.kind == Kind::kMapped) {
    ledger_.shadow.Forget(begin, begin + change.bytes);
    ledger_.blocks.Add(begin, change.bytes, trace::MemoryKind::kPhysical, change.device, change.stack);
  } else if (change.kind == Kind::kUnmapped) {
    const std::optional<Block> gone = ledger_.blocks.Remove(begin, change.stack);
    if (gone) CheckGoing(*gone, change.stack, change.thread, true);
    ledger_.shadow.Forget(begin, begin + change.bytes);
  }
}

// Races between the nodes are told once, now; a replay then counts as one task that touches all of it.
void MemoryRules::OnGraph(const trace::GraphShape& graph) {
  CheckInside(graph);
  using Range = std::tuple<const void*, size_t, uint32_t, size_t, uint8_t>;
  std::map<Range, trace::Mode> ranges;
  for (const trace::GraphNode& node : graph.nodes) {
    if (!node.runs) continue;
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
  graphs_.insert_or_assign(graph.graph, Summary{Repeated(std::move(summary)), {}, 0});
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
    const Use use{.at = at,
                  .sequence = n + 1,
                  .stack = 0,
                  .name = ledger_.names.NumberOf(node.name),
                  .thread = 0,
                  .kind = node.kind};
    for (const trace::Access& access : node.accesses) shadow.Touch(access, use, &conflicts);
    for (const Conflict& conflict : conflicts) {
      const Use& earlier = conflict.earlier;
      Finding finding{.rule = Rule::MP611, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
      finding.message = Format(
          "in captured graph %u, node %u (%s) %s %zu bytes at 0x%llx that node %llu (%s) %s on another stream of the "
          "capture, and nothing orders the two",
          graph.graph, n, node.name, Verb(conflict.later_writes), static_cast<size_t>(conflict.end - conflict.begin),
          static_cast<unsigned long long>(conflict.begin), static_cast<unsigned long long>(earlier.at.count - 1),
          ledger_.NameOf(earlier).c_str(), Verb(conflict.earlier_writes));
      if (const Block* block = ledger_.blocks.Find(conflict.begin)) {
        finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
        finding.things.push_back(ledger_.ThingOf(*block, conflict.begin, conflict.end));
      }
      ledger_.reporter.Report(finding);
    }
    conflicts.clear();
  }
}

}  // namespace millpond::check
