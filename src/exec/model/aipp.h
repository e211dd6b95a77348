// SPDX-License-Identifier: Apache-2.0
// Image preprocessing (AIPP) of offline models: an operator between an input and what reads it, so that clients feed
// pictures. A dynamic one has an input more, which takes the parameters of each run.
#ifndef MILLPOND_SRC_EXEC_MODEL_AIPP_H_
#define MILLPOND_SRC_EXEC_MODEL_AIPP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/exec/session/options.h"
#include "src/graph/io/aipp_config.h"
#include "src/graph/ir/graph.h"

namespace millpond {

inline constexpr char kAippFile[] = "ge.insertOpFile";
// The option of a built model that has the file's text.
inline constexpr char kAippText[] = "millpond.aipp";
// The input that takes parameters, and how the names of further ones begin.
inline constexpr char kAippInput[] = "ascend_dynamic_aipp_data";

// What a model itself reads: -1 where a gear decides.
struct AippSizes {
  int64_t pictures = 1;
  int64_t channels = 0;
  aipp::Size size;
  bool channels_last = false;
};

struct AippInput {
  io::AippConfig config;
  size_t input = 0;       // among the graph's inputs
  ir::TensorDesc wanted;  // as the model itself reads it
  size_t parameters = 0;  // dynamic: its place among the model's inputs
};

// Puts the text of the file that the options name into them, in place of its name.
Status ReadAippFile(GraphOptions* options);
// Refused where an option says it, for who does not build models.
Status RefuseAipp(const GraphOptions& options);

// The inputs of the graph that the built model's options name; none without AIPP.
Status FindAipp(const GraphOptions& options, const ir::Graph& graph, std::vector<AippInput>* out);

AippSizes AippSizesOf(const ir::TensorDesc& wanted, const ir::Dims& dims);
// What is wrong with the parameters of one picture for a model that reads such ones; sizes that are -1 are not looked
// at.
Status CheckAipp(const aipp::Header& header, const aipp::Record& record, const AippSizes& wanted);
// With the sizes that a configuration leaves to the model.
void CompleteAipp(const AippSizes& wanted, aipp::Header* header, aipp::Record* record);

// The pictures as clients are told of them ([n, h, w, c], or as the model reads them where each run says its own), and
// as they lie in memory. `dims` are those of the model itself.
ir::Dims AippDims(const AippInput& input, const ir::Dims& dims);
ir::Dims AippMemory(const AippInput& input, const ir::Dims& dims);

// Changes the graph, whose inputs have shapes without open dimensions. Inputs for parameters come after the others.
Status InsertAipp(std::span<const AippInput> inputs, ir::Graph* graph);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_AIPP_H_
