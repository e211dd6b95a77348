// SPDX-License-Identifier: Apache-2.0
// What the passes need from the layers above, and which of them run. Hooks may be empty.
#ifndef MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_
#define MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
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
  // (constants can be looked up); it fills in the output descs. *out_inferred = false: the client has no function for
  // it.
  std::function<Status(const ir::NodePtr& node, bool* out_inferred)> infer;
};

struct PassEnvironment {
  ClientOperators clients;
  // Runs one node on host memory. `inputs` by index, null where absent; one tensor per output. On failure the node
  // stays in the graph. Empty: only shapes are folded.
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

  // "all", "none", or a comma-separated list of names; a name with a leading - is excluded from all.
  static Status Parse(std::string_view text, Fusions* out);
};

// Which values are rounded to half, whatever their type (precision.h).
enum class Rounding : uint8_t { kNone, kAll, kMatrixInputs };

struct PassOptions {
  bool fold = true;
  bool deduplicate = true;
  bool remove_dead = true;
  bool remove_identities = true;
  bool inline_calls = true;
  bool choose_branches = true;
  Rounding rounding = Rounding::kNone;
  Fusions fusions;
  // Upper bound of all folded constants; a node whose outputs are larger than kFoldGrowth times its inputs is
  // folded only when they stay below small_fold_bytes.
  size_t fold_bytes = size_t{64} << 20;
  size_t small_fold_bytes = size_t{64} << 10;
};

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_ENVIRONMENT_H_
