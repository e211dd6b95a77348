// SPDX-License-Identifier: Apache-2.0
// What is made must go, in order: streams, events and descriptors, and the process's own aclInit and aclFinalize.
#ifndef MILLPOND_SRC_CHECK_LIFE_RULES_H_
#define MILLPOND_SRC_CHECK_LIFE_RULES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads, except what says so.
class LifeRules {
 public:
  explicit LifeRules(Ledger* ledger) : ledger_(*ledger) {}

  // Whether calls are worth looking at now; safe from any thread, cheap.
  bool Watches() const { return !running_.load(std::memory_order_relaxed); }
  // `stack` is the caller's.
  void OnApi(const trace::ApiCall& call, uint32_t stack);
  void OnCallInCallback(const trace::ApiCall& call, uint32_t stack);
  void OnObject(const trace::ObjectLife& life);
  void OnDestroyWait(const trace::HostWait& wait);
  void OnMisuse(const trace::Misuse& misuse);

  // aclFinalize: what was made of acl's has gone by now, or never will.
  void OnEnd();
  // The process ends. Memory that a static destructor gives back after aclFinalize is another rule's.
  void OnExit();

  // A call that the pages forbid inside a stream's callback.
  static bool ForbiddenInCallback(std::string_view call);

 private:
  struct Life {
    uint32_t created = 0;    // stack
    uint32_t destroyed = 0;  // stack; 0 while it lives
    int32_t device = -1;
    bool implicit = false;  // a device's own context
  };
  using Key = std::pair<trace::ObjectKind, uint64_t>;  // kind and handle

  static constexpr size_t kEnded = 4096;

  bool IsFrameworks(uint32_t stack);
  // Streams end with their context and are told one by one; what a reset leaves behind is told here.
  void CheckReset(const trace::ObjectLife& context);

  Ledger& ledger_;
  std::atomic<bool> running_{false};
  bool finalized_ = false;
  uint64_t last_before_end_ = 0;  // of the blocks that lived at aclFinalize, the highest number
  std::map<Key, Life> lives_;
  std::deque<Key> ended_;  // the latest; older ones are forgotten
  // Streams that are being destroyed, each with the count of its last task, for which the host did not wait.
  std::map<int32_t, uint64_t> unsynchronised_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_LIFE_RULES_H_
