// SPDX-License-Identifier: Apache-2.0
#include "src/check/allocator_rules.h"

#include <algorithm>
#include <string_view>

#include "src/base/format.h"

namespace millpond::check {

namespace {

constexpr size_t kFormer = 4096;

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

std::pair<int32_t, int32_t> Pair(int32_t one, int32_t other) { return std::minmax({one, other}); }

}  // namespace

bool AllocatorRules::HasToldShared(const void* object, const Use& earlier, const Use& later) const {
  const auto found = objects_.find(object);
  return found != objects_.end() && found->second.told.contains(Pair(earlier.at.stream, later.at.stream));
}

std::string AllocatorRules::StreamText(const void* stream) { return Format("stream %p", stream); }

Finding AllocatorRules::Make(Rule rule, std::string message, const char* label, uint32_t stack, uint32_t thread) const {
  return {.rule = rule,
          .message = std::move(message),
          .parts = {{"later", label, "", stack, thread}},
          .things = {},
          .lanes = {},
          .memory = {}};
}

void AllocatorRules::OnRegistration(const trace::AllocatorRegistration& registration) {
  using Kind = trace::AllocatorRegistration::Kind;
  const Key key{registration.door, registration.stream};
  if (registration.kind == Kind::kUnregistered || registration.kind == Kind::kStreamDestroyed) {
    OnGone(registration, key);
    return;
  }
  if (registration.kind == Kind::kReplaced) {
    CheckReplaced(registration, key);
  } else {
    CheckLate(registration, key);
  }
  const Object& object = objects_[registration.object];
  registered_[key] = {registration.object, registration.stack, object.calls, object.loads, ++events_, {}, {}};
}

bool AllocatorRules::IsRegistered(const void* object) const {
  return std::any_of(registered_.begin(), registered_.end(),
                     [&](const auto& entry) { return entry.second.object == object; });
}

bool AllocatorRules::IsFrameworks(uint32_t stack) const {
  static constexpr std::string_view kModules[] = {"libtorch_npu", "_torchair", "_npu_graph_executor"};
  Symbols& symbols = ledger_.reporter.symbols();
  // Python's `ge` lends a stream an allocator of its own for runs of programs that bring none.
  if (symbols.PassesThrough(stack, "libge_python", "gepy_session_ensure_allocator")) return true;
  return std::any_of(std::begin(kModules), std::end(kModules),
                     [&](std::string_view module) { return symbols.PassesThrough(stack, module); });
}

void AllocatorRules::TellEnded(const void* object, const char* label, uint32_t stack, uint32_t thread) {
  const auto found = std::find_if(registered_.begin(), registered_.end(),
                                  [&](const auto& entry) { return entry.second.object == object; });
  if (found == registered_.end() || IsFrameworks(found->second.stack)) return;
  Finding finding = Make(Rule::MP108,
                         Format("allocator %p has been destroyed, and is still registered for %s", object,
                                StreamText(found->first.second).c_str()),
                         label, stack, thread);
  finding.parts.push_back({"registered", "registered here", "", found->second.stack, 0});
  ledger_.reporter.Report(finding);
}

void AllocatorRules::CheckReplaced(const trace::AllocatorRegistration& registration, const Key& key) {
  const Object& former = objects_[registration.former];
  if (registration.former_ended) {
    TellEnded(registration.former, "registered again here", registration.stack, registration.thread);
    return;
  }
  if (registration.former == registration.object || former.live.empty() || IsFrameworks(registered_[key].stack)) return;
  Finding finding = Make(Rule::MP105,
                         Format("the allocator of %s is replaced while %zu of its blocks are in use",
                                StreamText(registration.stream).c_str(), former.live.size()),
                         "registered again here", registration.stack, registration.thread);
  finding.parts.push_back({"registered", "the former one was registered here", "", registered_[key].stack, 0});
  finding.parts.push_back(
      {"allocated", "one of its blocks was allocated here", "", former.live.begin()->second.stack, 0});
  ledger_.reporter.Report(finding);
}

// What has run before has used built-in memory.
void AllocatorRules::CheckLate(const trace::AllocatorRegistration& registration, const Key& key) {
  const auto found = runs_.find(key);
  if (registration.door != trace::Door::kAcl || found == runs_.end() || found->second.had_allocator) return;
  if (IsFrameworks(registration.stack)) return;
  Finding finding = Make(Rule::MP103,
                         Format("an allocator is registered for %s after %s ran there with built-in memory",
                                StreamText(registration.stream).c_str(), found->second.name.c_str()),
                         "registered here", registration.stack, registration.thread);
  finding.parts.push_back({"earlier", "ran first here", found->second.name, found->second.stack, 0});
  ledger_.reporter.Report(finding);
}

// A graph that was loaded before keeps built-in memory. Whether that was meant is seen at the end: an allocator that no
// graph was loaded with came too late.
void AllocatorRules::CheckServedNone(const trace::AllocatorRegistration& registration, const Key& key,
                                     const Registered& former) {
  const auto load = loads_.find(key);
  if (load == loads_.end() || load->second.sequence > former.sequence) return;
  if (objects_[former.object].loads != former.loads) return;
  Finding finding = Make(Rule::MP110,
                         Format("the allocator of %s was registered after %s was loaded for it, which keeps built-in "
                                "memory; no graph was loaded with the allocator",
                                StreamText(registration.stream).c_str(), load->second.name.c_str()),
                         "registered here", former.stack, 0);
  finding.parts.push_back({"earlier", "loaded here", load->second.name, load->second.stack, 0});
  finding.parts.push_back(
      {"destroyed", "unregistered here, where it was clear", "", registration.stack, registration.thread});
  ledger_.reporter.Report(finding);
}

void AllocatorRules::OnGone(const trace::AllocatorRegistration& registration, const Key& key) {
  const bool unregistered = registration.kind == trace::AllocatorRegistration::Kind::kUnregistered;
  const std::string stream = StreamText(registration.stream);
  const auto make = [&](Rule rule, std::string message, const char* label) {
    return Make(rule, std::move(message), label, registration.stack, registration.thread);
  };
  const auto found = registered_.find(key);
  if (found == registered_.end()) {
    if (unregistered && !IsFrameworks(registration.stack)) {
      ledger_.reporter.Report(make(Rule::MP109, "nothing was registered for " + stream, "unregistered here"));
    }
    return;
  }
  const Registered former = found->second;
  objects_[former.object].unregistered = registration.stack;
  if (registration.former_ended) {
    TellEnded(former.object, unregistered ? "unregistered here" : "its stream is destroyed here", registration.stack,
              registration.thread);
  }
  registered_.erase(found);
  if (IsFrameworks(former.stack)) return;
  if (!unregistered) {
    Finding finding = make(Rule::MP609, stream + " is destroyed with an allocator registered for it", "destroyed here");
    finding.parts.push_back({"registered", "registered here", "", former.stack, 0});
    ledger_.reporter.Report(finding);
  }
  if (!registration.former_ended) CheckUseless(registration, key, former);
}

void AllocatorRules::CheckUseless(const trace::AllocatorRegistration& registration, const Key& key,
                                  const Registered& former) {
  if (registration.door == trace::Door::kGe) {
    CheckServedNone(registration, key, former);
    CheckGiven(registration, former);
    return;
  }
  const auto run = runs_.find(key);
  if (run == runs_.end() || objects_[former.object].calls != former.calls) return;
  Finding finding = Make(Rule::MP104,
                         Format("the allocator of %s was never asked for memory, though a model ran there",
                                StreamText(registration.stream).c_str()),
                         "unregistered here", registration.stack, registration.thread);
  finding.parts.push_back({"registered", "registered here", "", former.stack, 0});
  finding.parts.push_back({"earlier", "ran first here", run->second.name, run->second.stack, 0});
  ledger_.reporter.Report(finding);
}

// Memory that was set for a graph is what it uses. An allocator that serves other graphs besides was not registered in
// vain.
void AllocatorRules::CheckGiven(const trace::AllocatorRegistration& registration, const Registered& former) {
  const auto in_vain = [&](const std::string& who) { return former.given.contains(who); };
  if (former.given.empty() || !std::all_of(former.served.begin(), former.served.end(), in_vain)) return;
  const auto& [graph, loaded] = *former.given.begin();
  Finding finding = Make(Rule::MP312,
                         Format("the allocator of %s served no graph but %s, for which the program has set memory: on "
                                "a card the allocator is not asked at all",
                                StreamText(registration.stream).c_str(), graph.c_str()),
                         "unregistered here", registration.stack, registration.thread);
  finding.parts.push_back({"registered", "registered here", "", former.stack, 0});
  finding.parts.push_back({"earlier", "loaded with memory of the program's here", graph, loaded, 0});
  ledger_.reporter.Report(finding);
}

void AllocatorRules::OnProgram(const trace::ProgramStage& stage) {
  using Kind = trace::ProgramStage::Kind;
  const trace::Door door = stage.what == trace::ObjectKind::kModel ? trace::Door::kAcl : trace::Door::kGe;
  const Key key{door, stage.stream};
  const FirstRun first{stage.stack, stage.name != nullptr && *stage.name != '\0' ? stage.name : "a program",
                       registered_.contains(key), ++events_};
  if (stage.kind == Kind::kLoaded && stage.stream != nullptr && !first.had_allocator) loads_.try_emplace(key, first);
  if (stage.kind == Kind::kLoaded && stage.given_memory && first.had_allocator) {
    registered_[key].given.try_emplace(first.name, stage.stack);
  }
  if (stage.kind == Kind::kFirstRun) runs_.try_emplace(key, first);
}

// The block is the allocator's, or the client's, again.
void AllocatorRules::Take(Object* object, const void* token) {
  const auto found = object->live.find(token);
  if (found == object->live.end()) return;
  handed_.erase(found->second.begin);
  former_.push_back(std::move(found->second));
  if (former_.size() > kFormer) former_.pop_front();
  object->live.erase(found);
}

void AllocatorRules::OnCall(const trace::AllocatorCall& call) {
  using Kind = trace::AllocatorCall::Kind;
  using Outcome = trace::AllocatorCall::Outcome;
  Object& object = objects_[call.object];
  if (call.outcome == Outcome::kEnded) {
    OnEnded(call, &object);
    return;
  }
  if (call.kind == Kind::kHandOver) {
    Take(&object, call.block);
    return;
  }
  ++object.calls;
  if (call.asker.purpose == trace::Purpose::kConstants || call.asker.purpose == trace::Purpose::kFeature)
    ++object.loads;
  switch (call.kind) {
    case Kind::kFree:
      CheckFree(call, object);
      Take(&object, call.block);
      break;
    case Kind::kAddress:
      if (call.outcome == Outcome::kOk && call.bytes != 0) OnAddress(call, &object);
      break;
    default:
      if (call.outcome == Outcome::kNull && call.bytes != 0) OnNull(call);
  }
}

void AllocatorRules::OnNull(const trace::AllocatorCall& call) {
  const char* const who = call.asker.who;
  ledger_.reporter.Report(Make(Rule::MP201,
                               Format("%s returned null for %zu bytes%s%s", call.callback, call.bytes,
                                      who != nullptr ? ", asked for by " : "", who != nullptr ? who : ""),
                               "asked for here", call.stack, call.thread));
}

void AllocatorRules::OnAddress(const trace::AllocatorCall& call, Object* object) {
  CheckSize(call);
  CheckShared(call, object);
  CheckSpacing(call);
  const std::string who = call.asker.who != nullptr ? call.asker.who : "";
  const auto asked = registered_.find({trace::Door::kGe, call.asker.stream});
  if (asked != registered_.end() && asked->second.object == call.object) asked->second.served.insert(who);
  const uintptr_t begin = Address(call.address);
  Handed handed{begin, begin + call.bytes, call.object, ledger_.sequence, call.stack, who, call.asker.purpose};
  object->live[call.block] = handed;
  handed_[begin] = std::move(handed);
}

// One allocator may serve several streams, but what runs on them must not overlap: its blocks pass from one to the
// other without anybody waiting. A stream that the allocator does not serve may use what a run has made, as long as
// it is not given to others: that is seen when they use it (MP303).
void AllocatorRules::CheckShared(const trace::AllocatorCall& call, Object* object) {
  const auto stream = ledger_.stream_of_handle.find(Address(call.asker.stream));
  if (stream == ledger_.stream_of_handle.end()) return;
  object->streams.insert(stream->second);
  for (const Use& user : object->users) {
    if (!object->streams.contains(user.at.stream)) continue;
    if (ledger_.order.RelationTo(user.at, stream->second) != Order::Relation::kUnordered) continue;
    Finding finding =
        Make(Rule::MP302,
             Format("one allocator serves stream %d while %s still uses its memory, and nothing orders the two",
                    stream->second, ledger_.Where(user).c_str()),
             "asked for memory here", call.stack, call.thread);
    finding.parts.push_back(ledger_.PartOf("earlier", user));
    finding.things.push_back(ledger_.ThingOf(user));
    if (ledger_.reporter.Report(finding)) object->told.insert(Pair(user.at.stream, stream->second));
    return;
  }
}

void AllocatorRules::CheckSpacing(const trace::AllocatorCall& call) {
  const uintptr_t begin = Address(call.address);
  const Block* block = ledger_.blocks.Find(begin);
  if (block == nullptr) return;
  // What is asked for a tensor has the 32 in it.
  using trace::Purpose;
  const auto needs = [](size_t bytes, Purpose purpose) {
    const bool whole = purpose == Purpose::kConstants || purpose == Purpose::kFeature || purpose == Purpose::kUnknown;
    return whole ? SpacedBytes(bytes) : (bytes + 31) / 32 * 32;
  };
  const auto after = handed_.lower_bound(begin);
  const auto report = [&](const Handed& other, size_t apart, size_t bytes, size_t need) {
    Finding finding = Make(
        Rule::MP203,
        Format("two pieces of one block begin %zu bytes apart, where %zu bytes of data need %zu", apart, bytes, need),
        "the second was asked for here", call.stack, call.thread);
    finding.parts.push_back({"allocated", "the first was asked for here", "", other.stack, 0});
    finding.things.push_back(ledger_.ThingOf(*block, begin, begin + call.bytes));
    ledger_.reporter.Report(finding);
  };
  const size_t need = needs(call.bytes, call.asker.purpose);
  if (after != handed_.end() && after->first < block->end && after->first - begin < need) {
    report(after->second, after->first - begin, call.bytes, need);
  } else if (after != handed_.begin()) {
    const Handed& before = std::prev(after)->second;
    const size_t bytes = before.end - before.begin;
    if (before.begin >= block->begin && begin - before.begin < needs(bytes, before.purpose)) {
      report(before, begin - before.begin, bytes, needs(bytes, before.purpose));
    }
  }
}

void AllocatorRules::OnUse(const trace::Access& access, const Use& use) {
  if (handed_.empty()) return;
  const uintptr_t begin = Address(access.address);
  auto after = handed_.upper_bound(begin);
  if (after == handed_.begin()) return;
  const Handed& handed = std::prev(after)->second;
  if (begin >= handed.end) return;
  std::vector<Use>& users = objects_[handed.object].users;
  const auto same =
      std::find_if(users.begin(), users.end(), [&](const Use& user) { return user.at.stream == use.at.stream; });
  if (same != users.end()) {
    *same = use;
  } else {
    users.push_back(use);
  }
}

const AllocatorRules::Handed* AllocatorRules::HandedSince(uintptr_t address, uint64_t sequence) const {
  const auto after = handed_.upper_bound(address);
  if (after == handed_.begin()) return nullptr;
  const Handed& handed = std::prev(after)->second;
  return address < handed.end && handed.sequence >= sequence ? &handed : nullptr;
}

bool AllocatorRules::Holds(const Block& block) const {
  const auto first = handed_.lower_bound(block.begin);
  if (first != handed_.end() && first->first < block.end) return true;
  return std::any_of(former_.begin(), former_.end(),
                     [&](const Handed& handed) { return block.begin <= handed.begin && handed.begin < block.end; });
}

void AllocatorRules::OnEnd() {
  for (const auto& [identity, object] : objects_) {
    if (object.live.empty()) continue;
    size_t bytes = 0;
    for (const auto& [token, handed] : object.live) bytes += handed.end - handed.begin;
    const Handed& first = object.live.begin()->second;
    if (IsFrameworks(first.stack)) continue;
    ledger_.reporter.Report({.rule = Rule::MP212,
                             .message = Format("allocator %p has %zu blocks (%zu bytes) out at the end", identity,
                                               object.live.size(), bytes),
                             .parts = {{"allocated", "one of them was asked for here", "", first.stack, 0}},
                             .things = {},
                             .lanes = {},
                             .memory = {}});
  }
}

}  // namespace millpond::check
