// SPDX-License-Identifier: Apache-2.0
// Findings on their way out: each once by rule and pair of call sites with their callers, as a line of JSON while it
// happens and as text on stderr, the first error in full. Nothing is held back for the end: a process may be killed or
// leave by _exit.
#ifndef MILLPOND_SRC_CHECK_REPORTER_H_
#define MILLPOND_SRC_CHECK_REPORTER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/check/finding.h"
#include "src/check/line_file.h"
#include "src/check/suppress.h"
#include "src/check/symbols.h"

namespace millpond::check {

// Not safe from several threads: the checker's lock is held.
class Reporter {
 public:
  // Which findings are wanted. A setting that cannot be read is an error: what it asked for would not be done.
  Status Choose(const Options& options);
  // Where they go. A file that cannot be opened is told and lost; stderr has them all the same.
  void Open(const Options& options);
  // In a forked child whose parent had no device yet: a process of its own from now on, of which nothing is written
  // before it has something to do with one (Begin), or a finding.
  void BecomeProcess();
  bool has_begun() const { return begun_; }
  void Begin() {
    if (!begun_) WriteStart();
  }

  bool Wants(Rule rule) const { return rules_.Has(rule); }
  // False when it is not wanted, or suppressed.
  bool Report(const Finding& finding);
  // A line of its own; `json` is the inside of an object, after "event", "pid".
  void Write(std::string_view event, const std::string& json);
  // The stack as a JSON list.
  std::string FramesOf(uint32_t stack);
  // How often each finding was made by now; only what is new is written.
  void WriteCounts();
  // Counts, suppressions and notes. Again at each call; only what is new is written.
  void Finish(const std::vector<std::string>& notes, uint64_t tasks = 0);

  uint64_t errors() const { return errors_; }
  Symbols& symbols() { return symbols_; }

 private:
  struct Told {
    std::string fingerprint;
    Rule rule = {};
    uint64_t count = 0;
    uint64_t written = 0;  // the count the file has
    bool suppressed = false;
  };
  using Key = std::vector<uint64_t>;  // rule, and what `place` makes of the stacks of the calls
  // A pair of call sites: how many findings of it have been shown, and the first.
  struct Sites {
    size_t shown = 0;
    Told* first = nullptr;
  };
  static constexpr size_t kMaxPaths = 4;

  Key KeyOf(const Finding& finding, uint64_t (Symbols::*place)(uint32_t));
  bool Again(Told* told);
  std::string FingerprintOf(const Finding& finding, const std::vector<std::vector<const Frame*>>& stacks);
  void WriteStart();
  void WriteFinding(const Finding& finding, const Told& told, const std::vector<std::vector<const Frame*>>& stacks);
  void Print(const Finding& finding, const std::vector<std::vector<const Frame*>>& stacks);
  void WriteLine(std::string line);
  bool InChild() const;
  void ReadIdentity();

  RuleSet rules_;
  Suppressions suppressions_;
  Symbols symbols_;
  LineFile file_;
  int pid_ = 0;
  std::string rank_ = "null";
  bool begun_ = false;
  bool until_first_ = false;
  bool break_ = false;
  bool told_in_full_ = false;
  bool file_failed_ = false;
  uint64_t errors_ = 0, warnings_ = 0, advice_ = 0;
  std::deque<Told> told_;
  std::map<Key, Told*> by_path_;
  std::map<Key, Sites> by_sites_;
  std::set<std::string> fingerprints_;
};

}  // namespace millpond::check

extern "C" {
// Called at each finding, for breakpoints.
__attribute__((visibility("default"))) void millpond_on_finding(const char* rule);
}

#endif  // MILLPOND_SRC_CHECK_REPORTER_H_
