// SPDX-License-Identifier: Apache-2.0
// What the passes ask of the layers above them, and which of them run. Hooks may be empty: then there is nobody to ask.
#ifndef MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_
#define MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::passes {

// Operators that a client registered itself.
struct ClientOperators {
  std::function<bool(std::string_view type)> knows;
  // Runs the client's function on a copy of the node whose input descs are filled in and whose sources are connected
  // (constants can be looked up); it fills in the output descs. *out_inferred = false: the client gave no function.
  std::function<Status(const ir::NodePtr& node, bool* out_inferred)> infer;
};

struct PassEnvironment {
  ClientOperators clients;
  // Runs one node on host memory. `inputs` by place, null where absent; one tensor for each output. A failure means
  // that the node stays in the graph. Empty: nothing is folded but shapes.
  std::function<Status(const ir::Node& node, std::span<const ir::TensorPtr> inputs,
                       std::vector<ir::TensorPtr>* out_outputs)>
      run;
  // Called after each pass, with its name.
  std::function<void(const ir::Graph& graph, std::string_view pass)> dump;
};

// Which of fuse.h's passes run.
struct Fusions {
  bool composites = true;
  bool conv = true;
  bool matmul = true;
  bool attention = true;
  bool layout = true;
  bool transposes = true;
  bool elementwise = true;
  bool prepack = true;

  // "all", "none", or a list of names with commas between; with - before it a name is taken away from all.
  static Status Parse(std::string_view text, Fusions* out);
};

struct PassOptions {
  bool fold = true;
  bool deduplicate = true;
  bool remove_dead = true;
  bool remove_identities = true;
  bool inline_calls = true;
  bool choose_branches = true;
  Fusions fusions;
  // Folded constants take at most so much in all; a node whose outputs are larger than kFoldGrowth times its inputs is
  // folded only when they stay below small_fold_bytes.
  size_t fold_bytes = size_t{64} << 20;
  size_t small_fold_bytes = size_t{64} << 10;
};

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_
