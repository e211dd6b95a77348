// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/infer_outputs.h"

#include <vector>

#include "src/graph/passes/infer.h"
#include "src/graph/passes/kinds.h"

namespace millpond {

Status InferOutputs(const ir::NodePtr& node) {
  MP_REQUIRE(!passes::IsControlFlow(passes::KindOf(*node)),
             "%s runs subgraphs: its outputs are known when the graph is compiled", passes::Named(*node).c_str());
  std::vector<passes::InferInput> inputs(node->inputs.size());
  std::vector<ir::TensorPtr> held;
  for (size_t place = 0; place < inputs.size(); ++place) {
    const ir::Input& input = node->inputs[place];
    const ir::TensorDesc& desc = input.desc;
    if (input.source == nullptr && !desc.has_shape) continue;
    inputs[place].dtype = desc.dtype;
    inputs[place].dims = desc.dims;
    if (input.source == nullptr) continue;
    const ir::TensorPtr constant = passes::ConstantOf(*input.source);
    if (constant == nullptr || constant->desc.dtype == DType::kString) continue;
    inputs[place].values = constant->data.data;
    held.push_back(constant);
  }
  passes::InferResult result;
  MP_RETURN_IF_ERROR(passes::InferNode(*node, passes::DoorOf(*node), inputs, nullptr, &result));
  for (size_t place = 0; place < node->outputs.size() && place < result.outputs.size(); ++place) {
    ir::TensorDesc& desc = node->outputs[place];
    desc.dtype = result.outputs[place].dtype;
    desc.dims = desc.origin_dims = result.outputs[place].dims;
    // As large as they can get is not what they are.
    if (result.waits && ir::IsKnownRank(desc.dims)) {
      desc.dims.assign(desc.dims.size(), ir::kUnknownDim);
      desc.origin_dims = desc.dims;
    }
    desc.has_shape = desc.has_origin_shape = true;
  }
  return Ok();
}

}  // namespace millpond
