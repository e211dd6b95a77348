// SPDX-License-Identifier: Apache-2.0
// A graph of operators: what clients build, files hold and passes rewrite. Nodes exist before they are in a graph (an
// operator is linked to its sources first) and stay alive while anyone holds them or reads from them.
#ifndef MILLPOND_SRC_GRAPH_IR_GRAPH_H_
#define MILLPOND_SRC_GRAPH_IR_GRAPH_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/user_list.h"
#include "src/graph/ir/value.h"

namespace millpond::ir {

class Graph;
class Node;
using NodePtr = std::shared_ptr<Node>;
using GraphPtr = std::shared_ptr<Graph>;

// One output of a node.
struct Endpoint {
  NodePtr node;
  int32_t index = 0;
};

struct Input {
  TensorDesc desc;
  NodePtr source;  // null: not connected
  int32_t index = 0;
};

// A subgraph that a node runs: `name` as the operator's definition has it ("then_branch", "branches0"), `graph` by the
// name it has in the root graph.
struct SubgraphRef {
  std::string name;
  std::string graph;
};

class Node : public std::enable_shared_from_this<Node> {
 public:
  Node(std::string node_name, std::string node_type) : name(std::move(node_name)), type(std::move(node_type)) {}
  ~Node();  // iterative: a long chain of nodes does not recurse
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::string name;  // of a node in a graph: changed by Graph::RenameNode only
  std::string type;
  std::vector<Input> inputs;        // by index; an absent optional operand keeps its slot
  std::vector<TensorDesc> outputs;  // by index
  std::vector<NodePtr> controls;    // run before this one
  Attributes attributes;
  std::vector<SubgraphRef> subgraphs;

  // Connects an existing input slot to an existing output; keeps the source's list of users in sync.
  Status Connect(size_t place, const NodePtr& source, int32_t index);
  void Disconnect(size_t place);
  void AddControl(const NodePtr& source);
  void RemoveControl(const Node* source);

  // -1 when there is none of that name.
  int FindInput(std::string_view operand) const;
  int FindOutput(std::string_view operand) const;
  const Attr* FindAttr(std::string_view attribute) const;

  // Nodes that read from this one or wait for it, each once, in the order they were connected; the first `most` of
  // them, for who asks a node with very many users only whether it has more than a few.
  std::vector<NodePtr> Users(size_t most = SIZE_MAX) const;
  bool HasUsers() const;
  // The inputs that read from this one, as they were connected: (user, place) for each.
  std::vector<std::pair<NodePtr, size_t>> Reads() const;
  // The graph that holds it; null when none does.
  Graph* graph() const { return graph_; }

 private:
  friend class Graph;
  void Remember(Node* user, int32_t place);
  void Forget(Node* user, int32_t place);
  UserList users_;
  Graph* graph_ = nullptr;
};

inline constexpr int kMaxSubgraphDepth = 64;

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  explicit Graph(std::string graph_name) : name(std::move(graph_name)) {}
  // Nodes held elsewhere stay alive and linked; cycles among its own nodes are broken, so that they are freed too.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  Attributes attributes;
  std::vector<NodePtr> inputs;    // Data nodes, in the order they are fed
  std::vector<Endpoint> outputs;  // what a run returns, in order
  std::vector<NodePtr> targets;   // run for their effect alone
  bool valid = false;             // for the client to set and query

  std::span<const NodePtr> nodes() const { return nodes_; }
  NodePtr FindNode(std::string_view node_name) const;  // null when there is none

  // Fails when the node is in another graph or its name is taken here.
  Status AddNode(const NodePtr& node);
  // Unlinks it from its sources and users and drops it.
  void RemoveNode(const NodePtr& node);
  // The same for many, in one pass.
  void RemoveNodes(std::span<const NodePtr> gone);
  // For passes that remove nodes one by one: as RemoveNode, but nodes() has it until the next Sweep.
  // pre: neither input, output nor target.
  void Detach(const NodePtr& node);
  void Sweep();
  // Fails when the name is taken here or the node is not.
  Status RenameNode(const NodePtr& node, std::string new_name);

  // Subgraphs live in the root graph, by name (which must not change afterwards); called on a subgraph, these forward
  // to its root. A graph added with subgraphs of its own moves them to the root.
  std::span<const GraphPtr> subgraphs() const { return subgraphs_; }
  GraphPtr FindSubgraph(std::string_view graph_name) const;
  Status AddSubgraph(const GraphPtr& graph);
  void RemoveSubgraph(std::string_view graph_name);
  Graph* parent() const { return parent_; }  // the root graph of a subgraph; null for a root

  // Sources before users, ties in the order of nodes(). Fails with the names along a cycle, or of a source that is not
  // in this graph.
  Status Sorted(std::vector<NodePtr>* out) const;

  // Of a root: every subgraph that a node names is there, is run by one node only, and none runs itself, even
  // indirectly, or nests deeper than kMaxSubgraphDepth.
  Status CheckSubgraphs() const;

  // A deep copy, subgraphs and graphs in attributes too; constant tensors and named attributes stay shared. The copy of
  // a subgraph is a root.
  GraphPtr Clone() const;

 private:
  void Unindex(const Node* node);
  void Sever(const NodePtr& node);
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using Index = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;
  Index<NodePtr> index_;
  Index<GraphPtr> subgraph_index_;
  std::vector<NodePtr> nodes_;
  std::vector<GraphPtr> subgraphs_;
  Graph* parent_ = nullptr;
};

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_GRAPH_H_
