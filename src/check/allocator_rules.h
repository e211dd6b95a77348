// SPDX-License-Identifier: Apache-2.0
// What clients' allocators promise: when they are registered, what they hand out, to whom, and what comes back.
#ifndef MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_
#define MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_

#include <cstdint>
#include <deque>
#include <map>
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
  };

  void OnRegistration(const trace::AllocatorRegistration& registration);
  void OnCall(const trace::AllocatorCall& call);
  bool HasHandedOut() const { return !handed_.empty(); }
  void OnUse(const trace::Access& access, const Use& use);
  void OnProgram(const trace::ProgramStage& stage);
  // aclFinalize: what should be back by now.
  void OnEnd();

  // Was the address handed out anew since the task of that sequence? Null if not.
  const Handed* HandedSince(uintptr_t address, uint64_t sequence) const;
  // Has some allocator given out memory of this block?
  bool Holds(const Block& block) const;

 private:
  struct Registered {
    const void* object = nullptr;
    uint32_t stack = 0;
    uint64_t calls = 0;     // of its object when it was registered
    uint64_t loads = 0;     // likewise
    uint64_t sequence = 0;  // of registrations, loads and runs
  };
  struct Object {
    uint64_t calls = 0;
    uint64_t loads = 0;                  // calls for what a graph keeps while it is loaded
    std::vector<Use> users;              // of its memory: the last of each stream
    std::map<const void*, Handed> live;  // by the client's token
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
  uint64_t events_ = 0;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_ALLOCATOR_RULES_H_
