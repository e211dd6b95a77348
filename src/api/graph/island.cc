// SPDX-License-Identifier: Apache-2.0
#include "src/api/graph/operator_impl.h"

namespace millpond::api {

Island::~Island() {
  for (auto& [key, member] : members_) {
    ir::Node& node = *member.node;
    if (node.graph() != nullptr) continue;  // it is the graph's now, with its links
    for (size_t place = 0; place < node.inputs.size(); ++place) node.Disconnect(place);
    while (!node.controls.empty()) node.RemoveControl(node.controls.back().get());
  }
}

void Island::Add(const ir::NodePtr& node, std::shared_ptr<OperatorExtra> extra) {
  members_[node.get()] = {node, std::move(extra)};
}

std::shared_ptr<Island> Island::Root(std::shared_ptr<Island> island) {
  std::shared_ptr<Island> root = island;
  while (root->into_) root = root->into_;
  while (island != root) {  // the next look-up is one step
    std::shared_ptr<Island> next = island->into_;
    island->into_ = root;
    island = std::move(next);
  }
  return root;
}

std::shared_ptr<OperatorExtra> Island::Find(const ir::Node* node) {
  const std::shared_ptr<Island> root = Root(shared_from_this());
  const auto found = root->members_.find(node);
  return found == root->members_.end() ? nullptr : found->second.extra;
}

void Island::Join(const std::shared_ptr<Island>& one, const std::shared_ptr<Island>& other) {
  std::shared_ptr<Island> large = Root(one);
  std::shared_ptr<Island> small = Root(other);
  if (large == small) return;
  if (large->members_.size() < small->members_.size()) std::swap(large, small);
  large->members_.merge(small->members_);
  small->members_.clear();
  small->into_ = std::move(large);
}

}  // namespace millpond::api
