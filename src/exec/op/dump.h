// SPDX-License-Identifier: Apache-2.0
// Dumps of operators' data (aclmdlInitDump, aclmdlSetDump, aclInit's file) and of what operators were called with
// (aclopStartDumpArgs). A file is written by the task itself, around the kernel: what it reads as it was before, what
// it writes as it is afterwards.
#ifndef MILLPOND_SRC_EXEC_OP_DUMP_H_
#define MILLPOND_SRC_EXEC_OP_DUMP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/ops/call.h"

namespace millpond::dump {

// What a client asks for.
struct Settings {
  std::string path;
  bool operators = false;  // those that are launched alone
  bool inputs = false;
  bool outputs = true;
  std::map<std::string, std::set<std::string>, std::less<>> models;  // by name: the layers; none: all of them
  std::vector<std::pair<uint64_t, uint64_t>> runs;                   // of a graph, from and to; none: each
};

// A node of a graph; empty for an operator that was launched alone.
struct Node {
  std::string_view type, name;
};

// Operators that are dumped to one place. Lives as long as the process: launched work may still point to it.
class Target {
 public:
  Target(const Settings& settings, std::string folder, std::string info_folder, std::set<std::string> layers);

  // Runs the operator, and writes the files. One that cannot be written is told in the log; the operator is not to
  // blame. For tasks: tensors are read as kernels read them.
  Status Run(const OpCall& call, const Node& node, int device, int stream, const std::function<Status()>& run) const;

 private:
  // The `{data_index}` of a node of a graph: how often it has run before.
  uint64_t CountRun(const Node& node) const;
  bool Wants(const Node& node, uint64_t run) const;
  void Write(std::string_view bytes, const OpCall& call, const Node& node, const std::string& folder, int stream) const;
  void WriteInfo(const OpCall& call) const;

  const bool inputs_, outputs_;
  const std::string folder_;       // empty: no data; for operators alone the device's folder comes below it
  const std::string info_folder_;  // empty: not what they were called with
  const std::set<std::string> layers_;
  const std::vector<std::pair<uint64_t, uint64_t>> wanted_runs_;
  mutable Mutex mutex_;
  mutable std::map<std::string, uint64_t, std::less<>> runs_ GUARDED_BY(mutex_);
  mutable std::set<std::string> told_ GUARDED_BY(mutex_);  // calls whose information has been written
};

// For what is launched from now on; what is loaded already stays as it was.
Status Start(const Settings& settings);
void Stop();
bool IsOn();
// Where the data goes: the path that Start was given; empty when it is off.
std::string Path();
Status StartInfo(const std::string& folder);
void StopInfo();

// Null: operators that are launched alone are not dumped. One load.
extern std::atomic<const Target*> operators;
inline const Target* Operators() { return operators.load(std::memory_order_relaxed); }
// For a model that is being loaded. Null: it is not dumped.
const Target* ForModel(std::string_view name, uint32_t id, int device);
// For a graph whose own options ask for it, whatever is on.
const Target* ForGraph(const Settings& settings, std::string_view name, uint32_t id, int device,
                       const std::set<std::string>& layers);

}  // namespace millpond::dump

#endif  // MILLPOND_SRC_EXEC_OP_DUMP_H_
