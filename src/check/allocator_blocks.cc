// SPDX-License-Identifier: Apache-2.0
// What blocks of clients' allocators promise: their size, their count, one way back, and an end before their
// allocator's. The other half of AllocatorRules.
#include <cstdint>
#include <string_view>

#include "src/base/format.h"
#include "src/check/allocator_rules.h"
#include "src/trace/emit.h"

namespace millpond::check {

namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// A count that went below zero has become very large.
bool IsBelowZero(size_t count) { return count > SIZE_MAX / 2; }

}  // namespace

const AllocatorRules::Handed* AllocatorRules::Find(const Object& object, const void* token) const {
  const auto found = object.live.find(token);
  return found == object.live.end() ? nullptr : &found->second;
}

void AllocatorRules::CheckSize(const trace::AllocatorCall& call) {
  if (!call.facts.known || call.facts.bytes >= call.bytes) return;
  ledger_.reporter.Report(
      Make(Rule::MP206,
           Format("the block has %zu bytes by its GetSize, where %zu were asked for%s%s", call.facts.bytes, call.bytes,
                  call.asker.who != nullptr ? " by " : "", call.asker.who != nullptr ? call.asker.who : ""),
           "asked for here", call.stack, call.thread));
}

void AllocatorRules::CheckFree(const trace::AllocatorCall& call, const Object& object) {
  const Handed* const handed = Find(object, call.block);
  const size_t count = call.facts.owners;
  if (call.facts.known && (count == 0 || IsBelowZero(count))) {
    // Who gave it back also freed its memory, or only counted it down.
    const Block* const freed = ledger_.blocks.FindFreed(Address(call.address));
    const bool gone = freed != nullptr && ledger_.blocks.Find(Address(call.address)) == nullptr;
    const std::string below = Format("-%zu", SIZE_MAX - count + 1);
    Finding finding =
        Make(gone ? Rule::MP207 : Rule::MP209,
             gone ? Format("block %p comes back after it was freed: its count is 0 and its memory is gone", call.block)
                  : Format("the count of block %p is %s when its holder gives it back", call.block,
                           count == 0 ? "0" : below.c_str()),
             "given back here", call.stack, call.thread);
    if (gone) finding.parts.push_back({"freed", "its memory was freed here", "", freed->freed, 0});
    if (handed != nullptr) finding.parts.push_back({"allocated", "it was asked for here", "", handed->stack, 0});
    ledger_.reporter.Report(finding);
    return;
  }
  // A run that is being launched may give back what it took, whoever has unregistered meanwhile.
  if (call.only_ours && call.asker.who == nullptr && !IsRegistered(call.object)) TellLate(call, object);
}

// The allocator went before its block.
void AllocatorRules::TellLate(const trace::AllocatorCall& call, const Object& object) {
  const Handed* const handed = Find(object, call.block);
  if (handed == nullptr || IsFrameworks(handed->stack)) return;
  const bool kept = handed->purpose == trace::Purpose::kConstants || handed->purpose == trace::Purpose::kFeature;
  const bool ended = call.outcome == trace::AllocatorCall::Outcome::kEnded;
  Finding finding =
      Make(kept ? Rule::MP212 : Rule::MP306,
           Format("%s of %s (%zu bytes) goes back after its allocator %p was %s", kept ? "memory" : "an output",
                  handed->who.empty() ? "a graph" : handed->who.c_str(), handed->end - handed->begin, call.object,
                  ended ? "destroyed" : "let go by the program: on a card it is destroyed by now"),
           "released here", call.stack, call.thread);
  finding.parts.push_back({"allocated", "it was asked for here", "", handed->stack, 0});
  if (object.unregistered != 0) {
    finding.parts.push_back({"earlier", "the allocator was unregistered here", "", object.unregistered, 0});
  }
  ledger_.reporter.Report(finding);
}

// The object was not called, because it is none any more.
void AllocatorRules::OnEnded(const trace::AllocatorCall& call, Object* object) {
  if (IsRegistered(call.object)) {
    TellEnded(call.object,
              call.kind == trace::AllocatorCall::Kind::kFree ? "a block comes back here" : "asked for memory here",
              call.stack, call.thread);
  } else if (call.kind == trace::AllocatorCall::Kind::kFree) {
    TellLate(call, *object);
  }
  if (call.kind == trace::AllocatorCall::Kind::kFree) Take(object, call.block);
}

// An aclrtFree that was refused inside the allocator's Free, of the very block.
bool AllocatorRules::OnMisuse(const trace::Misuse& misuse) {
  const trace::AllocatorCall* const call = trace::CurrentCall();
  if (call == nullptr || call->kind != trace::AllocatorCall::Kind::kFree) return false;
  if (std::string_view(misuse.rule) != "MP501" || Address(call->address) != misuse.subject) return false;
  const Handed* const handed = Find(objects_[call->object], call->block);
  const Block* const freed = ledger_.blocks.FindFreed(misuse.subject);
  const bool foreign = call->facts.known && call->facts.home != call->object;
  if (!foreign && (freed == nullptr || freed->begin != misuse.subject)) return false;
  Finding finding =
      Make(foreign ? Rule::MP208 : Rule::MP207,
           foreign ? Format("the Free of allocator %p got a block that allocator %p gave, and could not free it",
                            call->facts.home, call->object)
                   : Format("block %p is freed by its allocator, and its memory was freed before", call->block),
           "freed here", misuse.stack, misuse.thread);
  if (!foreign) finding.parts.push_back({"freed", "its memory was freed first here", "", freed->freed, 0});
  if (handed != nullptr) finding.parts.push_back({"allocated", "it was asked for here", "", handed->stack, 0});
  ledger_.reporter.Report(finding);
  return true;
}

void AllocatorRules::OnObject(const trace::ObjectLife& life) {
  if (life.kind == trace::ObjectKind::kOutput) {
    if (life.created) {
      outputs_[life.id] = {life.detail, static_cast<uintptr_t>(life.handle), life.stack};
    } else {
      outputs_.erase(life.id);
    }
  } else if (life.kind == trace::ObjectKind::kSession && !life.created) {
    CheckOutputs(life);
  }
}

// What came from a client's allocator is the allocator's business (MP306); the rest was the session's.
void AllocatorRules::CheckOutputs(const trace::ObjectLife& session) {
  size_t held = 0;
  const Output* first = nullptr;
  for (const auto& [number, output] : outputs_) {
    if (output.session != session.id || HandedSince(output.address, 0) != nullptr) continue;
    if (ledger_.reporter.symbols().PassesThrough(output.stack, "libtorch")) continue;
    if (first == nullptr) first = &output;
    ++held;
  }
  if (first == nullptr) return;
  Finding finding = Make(Rule::MP307,
                         Format("session %llu ends while the program holds %zu of its outputs, in memory of the "
                                "session's",
                                static_cast<unsigned long long>(session.id), held),
                         "the session ends here", session.stack, session.thread);
  finding.parts.push_back({"created", "one of them was made here", "", first->stack, 0});
  if (const Block* block = ledger_.blocks.Find(first->address)) finding.things.push_back(ledger_.ThingOf(*block, 0, 0));
  ledger_.reporter.Report(finding);
}

}  // namespace millpond::check
