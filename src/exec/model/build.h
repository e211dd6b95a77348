// SPDX-License-Identifier: Apache-2.0
// From a graph to an offline model's file.
#ifndef MILLPOND_SRC_EXEC_MODEL_BUILD_H_
#define MILLPOND_SRC_EXEC_MODEL_BUILD_H_

#include <string>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/exec/session/options.h"
#include "src/graph/ir/graph.h"

namespace millpond {

// Puts the options into a copy of the graph, compiles it once for every gear to see that it can run, and writes the
// file. The program itself is not in it: it is made when the model is loaded, for the machine that loads it.
Status BuildModel(const ir::Graph& graph, const GraphOptions& options, std::string* out_file);

// The process's builds: options that hold for all of them, from Initialize to Finalize. Safe from any thread.
class ModelBuilder {
 public:
  static ModelBuilder& Get();

  // Again while initialised: fine, and nothing changes.
  Status Initialize(const GraphOptions& options);
  void Finalize();
  // `options` over those of Initialize. kUninitialized before it.
  Status Build(const ir::Graph& graph, const GraphOptions& options, std::string* out_file) const;
  Status RequireInitialized() const;

 private:
  ModelBuilder() = default;
  mutable Mutex mutex_;  // guards what follows
  bool initialized_ GUARDED_BY(mutex_) = false;
  GraphOptions options_ GUARDED_BY(mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_BUILD_H_
