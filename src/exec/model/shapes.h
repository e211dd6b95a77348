// SPDX-License-Identifier: Apache-2.0
// Shapes as the options of atc and aclgrphBuildModel spell them, put into a graph's inputs.
#ifndef MILLPOND_SRC_EXEC_MODEL_SHAPES_H_
#define MILLPOND_SRC_EXEC_MODEL_SHAPES_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/exec/session/options.h"
#include "src/graph/io/om.h"
#include "src/graph/ir/graph.h"

namespace millpond {

// One input of "images:1,3,-1,1~8;mask:8": -1 and ranges are unknown dimensions. `range` is empty when every dimension
// is fixed; a dimension without an upper bound has -1 there.
struct NamedShape {
  std::string name;
  ir::Dims dims;
  std::vector<std::pair<int64_t, int64_t>> range;
};
// `key` is for messages. Brackets around a shape ("x:[1~8,3]") are allowed, as input_shape_range has them.
Status ParseShapes(const std::string& key, std::string_view text, std::vector<NamedShape>* out);

// "1,2,4" (batch), "224,224;448,448" (image) or "1,224;8,448" (dims), whichever option is there. None: no gears.
Status ParseGears(const GraphOptions& options, io::OmGears* out);

// input_shape, input_shape_range and input_format into the graph's inputs; then judges the gears against them.
Status ApplyShapes(const GraphOptions& options, const io::OmGears& gears, ir::Graph* graph);

// The inputs' shapes in one gear. pre: ApplyShapes has validated the gears, or a file was: see below.
Status GearShapes(const io::OmGears& gears, size_t gear, std::span<const ir::Dims> inputs, std::vector<ir::Dims>* out);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_SHAPES_H_
