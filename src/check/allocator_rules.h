// SPDX-License-Identifier: Apache-2.0
// What clients' allocators promise: when they are registered, what they hand out, to whom, and what comes back.
#ifndef MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_
#define MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class AllocatorRules {
 public:
  explicit AllocatorRules(Ledger* ledger) : ledger_(*ledger) {}

  // Memory that an allocator handed out.
  struct Handed {
    uintptr_t begin = 0, end = 0;
    const void* object = nullptr;
    uint64_t sequence = 0;  // the last task told before
    uint32_t stack = 0;
    std::string who;  // the graph or operator it is for
    trace::Purpose purpose = trace::Purpose::kUnknown;
  };

  void OnRegistration(const trace::AllocatorRegistration& registration);
  void OnCall(const trace::AllocatorCall& call);
  bool HasHandedOut() const { return !handed_.empty(); }
  void OnUse(const trace::Access& access, const Use& use);
  void OnProgram(const trace::ProgramStage& stage);
  void OnObject(const trace::ObjectLife& life);
  // Something refused inside a client's allocator may be a rule of the allocator's: true when it was, and was told.
  // On the thread that made the call.
  bool OnMisuse(const trace::Misuse& misuse);
  // aclFinalize: what should be back by now.
  void OnEnd();

  // Was the address handed out anew since the task of that sequence? Null if not.
  const Handed* HandedSince(uintptr_t address, uint64_t sequence) const;
  // Has it been told that the allocator serves the two streams at the same time? What follows is the same mistake.
  bool HasToldShared(const void* object, const Use& earlier, const Use& later) const;
  // Has some allocator given out memory of this block?
  bool Holds(const Block& block) const;

 private:
  struct Registered {
    const void* object = nullptr;
    uint32_t stack = 0;
    uint64_t calls = 0;                     // of its object when it was registered
    uint64_t loads = 0;                     // likewise
    uint64_t sequence = 0;                  // of registrations, loads and runs
    std::set<std::string> served;           // who asked it for memory
    std::map<std::string, uint32_t> given;  // graphs loaded here with memory of the client's, and where (stacks)
  };
  struct Object {
    uint64_t calls = 0;
    uint64_t loads = 0;                          // calls for what a graph keeps while it is loaded
    std::vector<Use> users;                      // of its memory: the last of each stream
    std::set<int32_t> streams;                   // that it was asked for memory for
    std::set<std::pair<int32_t, int32_t>> told;  // that met here, the smaller number first
    std::map<const void*, Handed> live;          // by the client's token
    uint32_t unregistered = 0;                   // stack of the last time
  };
  // An output in the client's hands.
  struct Output {
    uint64_t session;
    uintptr_t address;
    uint32_t stack;
  };
  struct FirstRun {
    uint32_t stack;
    std::string name;
    bool had_allocator;
    uint64_t sequence;
  };
  using Key = std::pair<trace::Door, const void*>;  // the stream's handle

  void CheckReplaced(const trace::AllocatorRegistration& registration, const Key& key);
  void CheckLate(const trace::AllocatorRegistration& registration, const Key& key);
  void CheckServedNone(const trace::AllocatorRegistration& registration, const Key& key, const Registered& former);
  void OnGone(const trace::AllocatorRegistration& registration, const Key& key);
  // Of the rules that say what a call or a registration was for nothing for.
  void CheckUseless(const trace::AllocatorRegistration& registration, const Key& key, const Registered& former);
  void CheckGiven(const trace::AllocatorRegistration& registration, const Registered& former);
  void TellEnded(const void* object, const char* label, uint32_t stack, uint32_t thread);
  bool IsRegistered(const void* object) const;
  // Does a framework own what came about there? Its allocators live and go in an order that the program has no say in.
  bool IsFrameworks(uint32_t stack) const;
  void Take(Object* object, const void* token);
  void OnNull(const trace::AllocatorCall& call);
  void OnAddress(const trace::AllocatorCall& call, Object* object);
  // allocator_blocks.cc: what blocks promise.
  void OnEnded(const trace::AllocatorCall& call, Object* object);
  void CheckSize(const trace::AllocatorCall& call);
  void CheckFree(const trace::AllocatorCall& call, const Object& object);
  void TellLate(const trace::AllocatorCall& call, const Object& object);
  void CheckOutputs(const trace::ObjectLife& session);
  const Handed* Find(const Object& object, const void* token) const;
  void CheckShared(const trace::AllocatorCall& call, Object* object);
  void CheckSpacing(const trace::AllocatorCall& call);
  Finding Make(Rule rule, std::string message, const char* label, uint32_t stack, uint32_t thread) const;
  static std::string StreamText(const void* stream);

  Ledger& ledger_;
  std::map<Key, Registered> registered_;
  std::unordered_map<const void*, Object> objects_;
  std::map<uintptr_t, Handed> handed_;  // by beginning: live ones of all objects
  std::deque<Handed> former_;           // the latest that went back
  std::map<Key, FirstRun> loads_, runs_;
  std::map<uint64_t, Output> outputs_;  // by number
  uint64_t events_ = 0;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_
