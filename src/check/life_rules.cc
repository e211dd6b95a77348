// SPDX-License-Identifier: Apache-2.0
#include "src/check/life_rules.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/format.h"

namespace millpond::check {

namespace {

using trace::ObjectKind;

bool BeginsWithOneOf(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

// Calls that need an initialised process: those that make something or work on memory and streams. What merely asks
// (versions, counts, messages) works without.
bool NeedsInit(std::string_view call) {
  return BeginsWithOneOf(call, {"aclrtMalloc", "aclrtCreate", "aclrtMemcpy", "aclrtMemset", "aclrtSynchronize",
                                "aclmdlLoad", "aclmdlExecute", "aclrtLaunch"});
}
bool UsesWhatFinalizeEnds(std::string_view call) {
  return NeedsInit(call) || BeginsWithOneOf(call, {"aclrtFree", "aclrtDestroy", "aclmdlUnload"});
}

const char* KindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kStream:
      return "stream";
    case ObjectKind::kEvent:
      return "event";
    case ObjectKind::kAllocatorDescriptor:
      return "allocator descriptor";
    default:
      return "object";
  }
}

// By the client rather than as a part of something else (a context's default stream).
bool MadeByClient(ObjectKind kind, std::string_view entry_point) {
  if (kind == ObjectKind::kStream) return entry_point.starts_with("aclrtCreateStream");
  if (kind == ObjectKind::kEvent) return entry_point.starts_with("aclrtCreateEvent");
  return true;
}

std::string Plural(size_t count, const char* word) { return Format("%zu %s%s", count, word, count == 1 ? "" : "s"); }

}  // namespace

bool LifeRules::ForbiddenInCallback(std::string_view call) {
  return BeginsWithOneOf(call, {"aclrtMalloc", "aclrtFree", "aclrtSynchronize", "aclrtMemcpy", "aclrtMemset",
                                "aclrtLaunch", "aclrtCreate", "aclrtDestroy", "aclmdlExecute", "aclopExecute", "aclnn",
                                "aclrtResetDevice", "aclrtRecordEvent", "aclrtStreamWaitEvent"});
}

bool LifeRules::IsFrameworks(uint32_t stack) { return ledger_.reporter.symbols().PassesThrough(stack, "libtorch"); }

void LifeRules::OnApi(const trace::ApiCall& call, uint32_t stack) {
  const std::string_view name = call.name;
  if (name == "aclInit" || name.starts_with("GEInitialize")) {
    running_.store(true, std::memory_order_relaxed);
    finalized_ = false;
    return;
  }
  if (running_.load(std::memory_order_relaxed)) return;
  const bool wrong = finalized_ ? UsesWhatFinalizeEnds(name) : NeedsInit(name);
  if (!wrong || IsFrameworks(stack)) return;
  ledger_.reporter.Report(
      {.rule = finalized_ ? Rule::MP801 : Rule::MP803,
       .message = Format("%s is called %s", call.name, finalized_ ? "after aclFinalize" : "before aclInit"),
       .parts = {{"later", Format("%s is called here", call.name), call.name, stack, call.thread}},
       .things = {},
       .lanes = {},
       .memory = {}});
}

void LifeRules::OnCallInCallback(const trace::ApiCall& call, uint32_t stack) {
  ledger_.reporter.Report({.rule = Rule::MP608,
                           .message = Format("%s is called inside a function that a stream called", call.name),
                           .parts = {{"later", Format("%s is called here", call.name), call.name, stack, call.thread}},
                           .things = {},
                           .lanes = {},
                           .memory = {}});
}

void LifeRules::OnDestroyWait(const trace::HostWait& wait) {
  if (wait.last_of_client == 0 || ledger_.order.HostHas({wait.stream, wait.last_of_client})) return;
  unsynchronised_[wait.stream] = wait.last_of_client;
}

void LifeRules::OnObject(const trace::ObjectLife& life) {
  const Key key{life.kind, life.handle};
  if (life.created) {
    const bool implicit = life.kind == ObjectKind::kContext && life.detail != 0;
    lives_[key] = {.created = life.stack, .destroyed = 0, .device = life.device, .implicit = implicit};
    if (life.kind == ObjectKind::kStream) {
      const auto stream = static_cast<int32_t>(life.id);
      ledger_.streams[stream].handle = life.handle;
      ledger_.streams[stream].created = life.stack;
      ledger_.stream_of_handle[life.handle] = stream;
    }
    return;
  }
  if (life.kind == ObjectKind::kEvent) ledger_.order.ForgetEvent(life.handle);
  lives_[key].destroyed = life.stack;
  const Life known = lives_[key];
  ended_.push_back(key);
  if (ended_.size() > kEnded) {
    const auto oldest = lives_.find(ended_.front());
    if (oldest != lives_.end() && oldest->second.destroyed != 0) lives_.erase(oldest);
    ended_.pop_front();
  }
  if (life.kind == ObjectKind::kContext && known.implicit) CheckReset(life);
  if (life.kind != ObjectKind::kStream && life.kind != ObjectKind::kEvent) return;
  const auto stream = static_cast<int32_t>(life.id);
  Symbols& symbols = ledger_.reporter.symbols();
  const std::string entry = symbols.EntryPoint(life.stack);
  const bool clients = MadeByClient(life.kind, symbols.EntryPoint(known.created)) && !IsFrameworks(known.created);
  const std::string name = life.kind == ObjectKind::kStream
                               ? Format("stream %d", stream)
                               : Format("event 0x%llx", static_cast<unsigned long long>(life.handle));
  if (clients && entry.starts_with("aclrtResetDevice")) {
    ledger_.reporter.Report(
        {.rule = Rule::MP802,
         .message = Format("%s ends %s, which was not destroyed", entry.c_str(), name.c_str()),
         .parts = {{"later", entry + " is called here", entry, life.stack, life.thread},
                   {"created", Format("the %s was made here", KindName(life.kind)), "", known.created, 0}},
         .things = {},
         .lanes = {},
         .memory = {}});
  } else if (life.kind == ObjectKind::kStream && clients && unsynchronised_.contains(stream)) {
    const auto last = ledger_.streams[stream].recent.Last();
    const bool told = last.count == unsynchronised_[stream];  // a task that touches nothing has no name here
    ledger_.reporter.Report(
        {.rule = Rule::MP601,
         .message = Format("%s of %s while the host has not waited for its last task%s%s", entry.c_str(), name.c_str(),
                           told ? ", " : "", told ? ledger_.names.Of(last.name).c_str() : ""),
         .parts = {{"later", entry + " is called here", entry, life.stack, life.thread},
                   {"created", "the stream was made here", "", known.created, 0}},
         .things = {},
         .lanes = {},
         .memory = {}});
  }
  if (life.kind == ObjectKind::kStream) {
    // Nothing of it runs any more, by force or not.
    ledger_.order.HostKnows({stream, ledger_.streams[stream].latest});
    unsynchronised_.erase(stream);
    ledger_.stream_of_handle.erase(life.handle);
  }
}

void LifeRules::CheckReset(const trace::ObjectLife& context) {
  Symbols& symbols = ledger_.reporter.symbols();
  const std::string entry = symbols.EntryPoint(context.stack);
  if (!entry.starts_with("aclrtResetDevice") || !ledger_.reporter.Wants(Rule::MP802)) return;
  size_t events = 0;
  size_t contexts = 0;
  uint32_t created = 0;
  for (const auto& [key, life] : lives_) {
    if (life.destroyed != 0 || life.device != context.device || life.implicit) continue;
    if (key.first != ObjectKind::kEvent && key.first != ObjectKind::kContext) continue;
    if (!MadeByClient(key.first, symbols.EntryPoint(life.created)) || IsFrameworks(life.created)) continue;
    if (created == 0) created = life.created;
    ++(key.first == ObjectKind::kEvent ? events : contexts);
  }
  if (events + contexts == 0) return;
  std::string left = events != 0 ? Plural(events, "event") : "";
  if (contexts != 0) left += (left.empty() ? "" : " and ") + Plural(contexts, "context");
  ledger_.reporter.Report(
      {.rule = Rule::MP802,
       .message = Format("%s of device %d while %s of it %s not destroyed", entry.c_str(), context.device, left.c_str(),
                         events + contexts == 1 ? "is" : "are"),
       .parts = {{"later", entry + " is called here", entry, context.stack, context.thread},
                 {"created", events + contexts == 1 ? "it was made here" : "the first was made here", "", created, 0}},
       .things = {},
       .lanes = {},
       .memory = {}});
}

void LifeRules::OnMisuse(const trace::Misuse& misuse) {
  const auto rule = FindRule(misuse.rule);
  if (!rule) return;
  const bool is_call = std::string_view(misuse.call).find(' ') == std::string_view::npos;
  Finding finding{.rule = *rule,
                  .message = misuse.message,
                  .parts = {{"later", Format(is_call ? "%s is called here" : "%s", misuse.call), misuse.call,
                             misuse.stack, misuse.thread}},
                  .things = {},
                  .lanes = {},
                  .memory = {}};
  for (const ObjectKind kind : {ObjectKind::kStream, ObjectKind::kEvent, ObjectKind::kNotify, ObjectKind::kContext,
                                ObjectKind::kAllocatorDescriptor}) {
    const auto life = lives_.find({kind, misuse.subject});
    if (misuse.subject == 0 || life == lives_.end()) continue;
    finding.parts.push_back({"created", "it was made here", "", life->second.created, 0});
    if (life->second.destroyed != 0) {
      finding.parts.push_back({"destroyed", "it was destroyed here", "", life->second.destroyed, 0});
    }
  }
  if (const Block* block = ledger_.blocks.Find(misuse.subject)) {
    finding.parts.push_back({"allocated", "the block around it was allocated here", "", block->allocated, 0});
    finding.things.push_back(ledger_.ThingOf(*block, misuse.subject, misuse.subject + 1));
    finding.memory = ledger_.Around(misuse.subject);
  } else if (const Block* freed = ledger_.blocks.FindFreed(misuse.subject)) {
    finding.parts.push_back({"allocated", "the block was allocated here", "", freed->allocated, 0});
    finding.parts.push_back({"freed", "and freed here", "", freed->freed, 0});
    finding.things.push_back(ledger_.ThingOf(*freed, 0, 0));
  }
  ledger_.reporter.Report(finding);
}

void LifeRules::OnEnd() {
  running_.store(false, std::memory_order_relaxed);
  finalized_ = true;
  for (const auto& [key, life] : lives_) {
    if (key.first != ObjectKind::kAllocatorDescriptor || life.destroyed != 0 || IsFrameworks(life.created)) continue;
    ledger_.reporter.Report({.rule = Rule::MP106,
                             .message = "an allocator descriptor is not destroyed at aclFinalize",
                             .parts = {{"created", "it was made here", "", life.created, 0}},
                             .things = {},
                             .lanes = {},
                             .memory = {}});
  }
  for (const auto& [begin, block] : ledger_.blocks.live()) last_before_end_ = std::max(last_before_end_, block.number);
}

void LifeRules::OnExit() {
  size_t blocks = 0;
  size_t bytes = 0;
  const Block* largest = nullptr;
  for (const auto& [begin, block] : ledger_.blocks.live()) {
    if (block.number > last_before_end_) continue;
    if (block.kind != trace::MemoryKind::kDevice || IsFrameworks(block.allocated)) continue;
    if (!ledger_.reporter.symbols().EntryPoint(block.allocated).starts_with("aclrtMalloc")) continue;
    ++blocks;
    bytes += block.bytes();
    if (largest == nullptr || block.bytes() > largest->bytes()) largest = &block;
  }
  if (largest == nullptr) return;
  ledger_.reporter.Report(
      {.rule = Rule::MP502,
       .message = Format("%s (%zu bytes) %s not freed at aclFinalize", Plural(blocks, "device block").c_str(), bytes,
                         blocks == 1 ? "is" : "are"),
       .parts = {{"allocated", blocks == 1 ? "it was allocated here" : "the largest was allocated here", "",
                  largest->allocated, 0}},
       .things = {ledger_.ThingOf(*largest, 0, 0)},
       .lanes = {},
       .memory = {}});
}

}  // namespace millpond::check
