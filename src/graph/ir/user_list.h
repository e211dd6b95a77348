// SPDX-License-Identifier: Apache-2.0
// Who reads from a node or waits for it: one entry per edge, in the order they were linked. Adding and removing an edge
// take constant time, however many users a node has: a constant or an input may have as many as the graph has nodes.
#ifndef MILLPOND_SRC_GRAPH_IR_USER_LIST_H_
#define MILLPOND_SRC_GRAPH_IR_USER_LIST_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace millpond::ir {

class Node;

class UserList {
 public:
  static constexpr int32_t kControl = -1;  // the place of an edge that only orders

  struct Entry {
    std::weak_ptr<Node> user;  // empty: removed
    int32_t place;             // which input of the user, when the edge was linked: inputs may have moved since
  };

  void Add(std::weak_ptr<Node> user, const Node* address, int32_t place);
  // The entry of that edge; if its place has moved, the user's first one.
  void Remove(const std::weak_ptr<Node>& user, const Node* address, int32_t place);
  bool Has(const std::weak_ptr<Node>& user) const;
  void Clear();

  // At least as many edges as there are; those of users that are gone count.
  size_t size() const { return entries_.size() - removed_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  using Edge = std::pair<const Node*, int32_t>;
  struct EdgeHash {
    size_t operator()(const Edge& edge) const {
      return std::hash<const void*>()(edge.first) * 31 + static_cast<size_t>(edge.second);
    }
  };
  using Index = std::unordered_map<Edge, size_t, EdgeHash>;

  size_t Find(const std::weak_ptr<Node>& user, const Node* address, int32_t place) const;
  // Takes out entries that nobody has any more.
  void Compact();

  std::vector<Entry> entries_;
  size_t removed_ = 0;
  std::unique_ptr<Index> index_;  // of long lists: where each edge's entry is
};

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_USER_LIST_H_
