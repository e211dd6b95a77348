// SPDX-License-Identifier: Apache-2.0
//
// A node of a graph. It does not keep the node alive: when the graph is gone or the node removed, every call fails.
#ifndef MILLPOND_INCLUDE_GRAPH_GNODE_H_
#define MILLPOND_INCLUDE_GRAPH_GNODE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace millpond {
namespace api {
struct BuildAccess;
}
}  // namespace millpond

namespace ge {

class AttrValue;
class GNode;
class Graph;
class NodeImpl;
using GNodePtr = std::shared_ptr<GNode>;
using GraphPtr = std::shared_ptr<Graph>;
using OpBytes = std::vector<uint8_t>;

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY GNode {
 public:
  // Stands for no node.
  GNode();
  ~GNode() = default;

  graphStatus GetType(AscendString& type) const;
  graphStatus GetName(AscendString& name) const;

  // Neighbours. The source of an input with its output's index, {nullptr, 255} when there is none; the users of an
  // output with their inputs' indices.
  std::pair<GNodePtr, int32_t> GetInDataNodesAndPortIndexs(const int32_t index) const;
  std::vector<std::pair<GNodePtr, int32_t>> GetOutDataNodesAndPortIndexs(const int32_t index) const;
  std::vector<GNodePtr> GetInControlNodes() const;
  std::vector<GNodePtr> GetOutControlNodes() const;
  // GRAPH_NODE_WITHOUT_CONST_INPUT when the source is not a constant.
  graphStatus GetInputConstData(const int32_t index, Tensor& data) const;

  // Operands.
  size_t GetInputsSize() const;
  size_t GetOutputsSize() const;
  graphStatus GetInputIndexByName(const AscendString& name, int32_t& index);
  graphStatus GetOutputIndexByName(const AscendString& name, int32_t& index);
  graphStatus GetDynamicInputIndexesByName(const AscendString& name, std::vector<int32_t>& indexes);
  graphStatus GetDynamicOutputIndexesByName(const AscendString& name, std::vector<int32_t>& indexes);
  graphStatus GetInputDesc(const int32_t index, TensorDesc& tensor_desc) const;
  graphStatus UpdateInputDesc(const int32_t index, const TensorDesc& tensor_desc);
  graphStatus GetOutputDesc(const int32_t index, TensorDesc& tensor_desc) const;
  graphStatus UpdateOutputDesc(const int32_t index, const TensorDesc& tensor_desc);

  // Attributes.
  bool HasAttr(const AscendString& name);
  graphStatus GetAttr(const AscendString& name, int64_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, int32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, uint32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, float32_t& attr_value) const;
  graphStatus GetAttr(const AscendString& name, bool& attr_value) const;
  graphStatus GetAttr(const AscendString& name, AscendString& attr_value) const;
  graphStatus GetAttr(const AscendString& name, ge::DataType& attr_value) const;
  graphStatus GetAttr(const AscendString& name, Tensor& attr_value) const;
  graphStatus GetAttr(const AscendString& name, OpBytes& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<int64_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<int32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<uint32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<float32_t>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<bool>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<AscendString>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<Tensor>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus GetAttr(const AscendString& name, AttrValue& attr_value) const;
  graphStatus SetAttr(const AscendString& name, int64_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, int32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, uint32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, float32_t& attr_value) const;
  graphStatus SetAttr(const AscendString& name, bool& attr_value) const;
  graphStatus SetAttr(const AscendString& name, AscendString& attr_value) const;
  graphStatus SetAttr(const AscendString& name, ge::DataType& attr_value) const;
  graphStatus SetAttr(const AscendString& name, Tensor& attr_value) const;
  graphStatus SetAttr(const AscendString& name, OpBytes& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<int64_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<int32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<uint32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<float32_t>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<bool>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<AscendString>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<ge::DataType>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<Tensor>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus SetAttr(const AscendString& name, AttrValue& attr_value) const;
  graphStatus GetInputAttr(const AscendString& name, uint32_t input_index, AttrValue& attr_value) const;
  graphStatus SetInputAttr(const AscendString& name, uint32_t input_index, const AttrValue& attr_value);
  graphStatus GetOutputAttr(const AscendString& name, uint32_t output_index, AttrValue& attr_value) const;
  graphStatus SetOutputAttr(const AscendString& name, uint32_t output_index, const AttrValue& attr_value);

  // Subgraphs, in the order of the operator's definition. A new one becomes part of the root graph.
  graphStatus GetSubgraph(uint32_t index, GraphPtr& graph) const;
  graphStatus GetALLSubgraphs(std::vector<GraphPtr>& graph_list) const;
  graphStatus SetSubgraph(const AscendString& subgraph_ir_name, const Graph& subgraph);
  graphStatus SetSubgraphs(const AscendString& subgraph_ir_name, const std::vector<Graph>& subgraphs);

 private:
  friend struct ::millpond::api::BuildAccess;
  std::shared_ptr<NodeImpl> impl_;
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_GNODE_H_
