// SPDX-License-Identifier: Apache-2.0
// What bytes hold, for rules that must be asked for: tasks that read what was never written (MP503), and pinned sources
// that change before their copy runs (MP507) or targets that are touched before the host has waited for it (MP511).
#ifndef MILLPOND_SRC_CHECK_CONTENT_RULES_H_
#define MILLPOND_SRC_CHECK_CONTENT_RULES_H_

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/check/ledger.h"
#include "src/check/written.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class ContentRules {
 public:
  explicit ContentRules(Ledger* ledger) : ledger_(*ledger) {}

  bool asked() const {
    return ledger_.reporter.Wants(Rule::MP503) || ledger_.reporter.Wants(Rule::MP507) ||
           ledger_.reporter.Wants(Rule::MP511);
  }

  // `inside` is what a replay touches, null when that is not known or the task is none.
  void OnTask(const trace::TaskEnqueued& task, const Use& use, const Repeated* inside);
  void OnHostAccess(const trace::HostAccess& access);
  void OnMemory(const trace::MemoryChange& change);
  void OnApi(std::string_view call);
  void OnSource(const trace::Damage& damage);
  // The host touched what a copy may still write.
  void OnTargetTouched(const trace::Damage& damage);
  // Targets of copies that it knows to be done are its own again.
  void OnHostLearnt();
  void OnStreamGone(int32_t stream);

 private:
  using Accesses = std::span<const trace::Access>;
  // A copy whose source is pinned, which has not run as far as the host knows.
  struct Source {
    Use use;
    uint64_t block;   // number
    uint64_t writes;  // of the block, by then
    uint64_t unsure;  // tasks that may order the host's writes, by then
    bool sure;        // nothing that was pending then could
  };
  // Writes of tasks and calls to a pinned block.
  struct PinnedWrites {
    uint64_t count = 0;
    Epoch last{-1, 0};
  };

  void Read(Accesses accesses, const Use& use);
  void Write(Accesses accesses);
  void NoteWrites(Accesses accesses, Epoch at);
  // Whether a pinned block stands there; its number.
  const Block* PinnedAt(const trace::Access& access) const;
  void NoteUnsure(const trace::TaskEnqueued& task, Epoch at);
  void NoteSource(const trace::TaskEnqueued& task, const Use& use);
  void NoteTarget(const trace::TaskEnqueued& task, const Use& use);
  void TellUnwritten(const trace::Access& access, Part reader, const Use* use);

  Ledger& ledger_;
  Written written_;
  bool shared_ = false;  // other processes may write what this one has

  // A copy whose target is pinned, which has not run as far as the host knows.
  struct Target {
    Use use;
    uintptr_t end;
  };
  std::map<uintptr_t, Target> targets_;                     // by their beginning
  std::map<std::pair<int32_t, uint64_t>, Source> sources_;  // by stream and count
  std::map<uint64_t, PinnedWrites> pinned_writes_;          // by number of the block
  std::vector<Epoch> unsure_;                               // pending tasks that may order what the host does
  uint64_t unsure_count_ = 0;                               // ever
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_CONTENT_RULES_H_
