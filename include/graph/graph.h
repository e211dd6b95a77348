// SPDX-License-Identifier: Apache-2.0
//
// A graph of operators. Copies are one graph; CopyFrom makes another. It is built in one of two ways: SetInputs takes
// the operators that are linked to its inputs, then SetOutputs tells what a run returns; or AddNodeByOp and AddDataEdge
// put it together node by node.
#ifndef MILLPOND_INCLUDE_GRAPH_GRAPH_H_
#define MILLPOND_INCLUDE_GRAPH_GRAPH_H_

#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/gnode.h"
#include "graph/operator.h"

namespace ge {

class Graph;
class GraphBuffer;
class GraphImpl;
using GraphImplPtr = std::shared_ptr<GraphImpl>;
using GraphPtr = std::shared_ptr<Graph>;
using ConstGraphPtr = std::shared_ptr<const Graph>;

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY Graph {
 public:
  // Stands for no graph: every call on it fails.
  Graph() = default;
  explicit Graph(const char_t* name);
  ATTRIBUTED_DEPRECATED(Graph(const char_t*))
  explicit Graph(const std::string& name);
  ~Graph() = default;

  graphStatus GetName(AscendString& name) const;
  ATTRIBUTED_DEPRECATED(graphStatus GetName(AscendString&) const)
  const std::string& GetName() const;

  // Operators without inputs, or Data and variables. Takes all that is linked to them, and calls subgraph builders.
  Graph& SetInputs(const std::vector<Operator>& inputs);
  // All outputs of each operator, or those named by place or by name, in this order.
  Graph& SetOutputs(const std::vector<Operator>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& output_indexs);
  Graph& SetOutputs(const std::vector<std::pair<ge::Operator, AscendString>>& outputs);
  Graph& SetOutputs(const std::vector<std::pair<ge::Operator, std::string>>& outputs);
  graphStatus SetOutputs(const std::vector<std::pair<GNode, int32_t>>& outputs);
  // Operators that are run for their effect.
  Graph& SetTargets(const std::vector<Operator>& targets);
  static GraphPtr ConstructFromInputs(const std::vector<Operator>& inputs, const AscendString& name);

  // Whether it has been built, or may be put together by nodes.
  bool IsValid() const;
  graphStatus SetValid();
  void SetNeedIteration(bool need_iteration);

  // Operators that the graph keeps for look-up by name and type.
  graphStatus AddOp(const ge::Operator& op);
  graphStatus FindOpByName(const char_t* name, ge::Operator& op) const;
  graphStatus FindOpByType(const char_t* type, std::vector<ge::Operator>& ops) const;
  graphStatus GetAllOpName(std::vector<AscendString>& names) const;
  ATTRIBUTED_DEPRECATED(graphStatus FindOpByName(const char_t*, ge::Operator&))
  graphStatus FindOpByName(const std::string& name, ge::Operator& op) const;
  ATTRIBUTED_DEPRECATED(graphStatus FindOpByType(const char_t*, std::vector<ge::Operator>&))
  graphStatus FindOpByType(const std::string& type, std::vector<ge::Operator>& ops) const;
  ATTRIBUTED_DEPRECATED(graphStatus GetAllOpName(std::vector<AscendString>&) const)
  graphStatus GetAllOpName(std::vector<std::string>& op_name) const;

  // Nodes: of this graph, or of its subgraphs too.
  std::vector<GNode> GetDirectNode() const;
  std::vector<GNode> GetAllNodes() const;
  GNodePtr FindNodeByName(const AscendString& node_name) const;
  GNode AddNodeByOp(const Operator& op);
  graphStatus RemoveNode(GNode& node);
  graphStatus RemoveNode(GNode& node, bool contain_subgraph);
  graphStatus AddDataEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node, const int32_t dst_port_index);
  graphStatus AddControlEdge(GNode& src_node, GNode& dst_node);
  // -1 for both ports: the control edge.
  graphStatus RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node, const int32_t dst_port_index);

  // Subgraphs live in the root graph.
  std::vector<GraphPtr> GetAllSubgraphs() const;
  GraphPtr GetSubGraph(const char* name) const;
  graphStatus AddSubGraph(const Graph& subgraph);
  graphStatus RemoveSubgraph(const char* name);
  ConstGraphPtr GetParentGraph() const;
  GNodePtr GetParentNode() const;

  graphStatus CopyFrom(const Graph& src_graph);

  graphStatus SetAttr(const AscendString& name, const AttrValue& attr_value);
  graphStatus GetAttr(const AscendString& name, AttrValue& attr_value) const;

  // Files and buffers hold a serialised model; loading replaces the graph.
  graphStatus SaveToFile(const char_t* file_name) const;
  graphStatus LoadFromFile(const char_t* file_name);
  ATTRIBUTED_DEPRECATED(graphStatus SaveToFile(const char_t*) const)
  graphStatus SaveToFile(const std::string& file_name) const;
  ATTRIBUTED_DEPRECATED(graphStatus LoadFromFile(const char_t*))
  graphStatus LoadFromFile(const std::string& file_name);
  graphStatus SaveToMem(GraphBuffer& graph_buffer) const;
  graphStatus LoadFromMem(const GraphBuffer& graph_buffer);
  graphStatus LoadFromMem(const uint8_t* data, const size_t len);
  graphStatus LoadFromSerializedModelArray(const void* serialized_model, size_t size);

  // For people to read.
  enum class DumpFormat : uint32_t { kOnnx, kTxt, kReadable };
  graphStatus Dump(DumpFormat format, std::ostream& o_stream) const;
  graphStatus DumpToFile(DumpFormat format, const AscendString& suffix) const;

 private:
  friend struct ::millpond::api::BuildAccess;
  GraphImplPtr impl_{nullptr};
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_GRAPH_H_
