// SPDX-License-Identifier: Apache-2.0
// An ONNX model becomes a graph of GE operators. docs/onnx.md says which operators and versions.
#ifndef MILLPOND_SRC_GRAPH_ONNX_IMPORT_H_
#define MILLPOND_SRC_GRAPH_ONNX_IMPORT_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/io/onnx_model.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/environment.h"

namespace millpond::onnx {

inline constexpr int64_t kOldestOpset = 7;
inline constexpr int64_t kNewestOpset = 28;

struct ImportOptions {
  std::string graph_name;                                // "": the model's
  std::vector<std::pair<std::string, int64_t>> outputs;  // (node, output) to return instead of the model's
  std::map<std::string, ir::Dims> input_dims;            // by input
  std::vector<std::string> half_inputs;                  // fed as half, overriding the model
  std::vector<std::string> input_names;                  // must be inputs of the model
};

// Fails with the node and the reason. `environment.run` computes constants; it may be empty.
Status Import(const Model& model, const ImportOptions& options, const passes::PassEnvironment& environment,
              ir::GraphPtr* out);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_IMPORT_H_
