// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string_view>
#include <unordered_map>

namespace millpond::onnx {
namespace {

constexpr int kDeepest = 64;  // graphs inside graphs; deeper ones are refused when they are translated

using Producers = std::unordered_map<std::string_view, size_t>;

class Needs {
 public:
  explicit Needs(const Producers* producers) : producers_(producers) {}

  // Which of the nodes must come before `node`, each once, in rising order.
  std::vector<size_t> Of(const Node& node) {
    found_.clear();
    Visit(node, 0);
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return found_;
  }

 private:
  void Name(std::string_view name) {
    if (const auto producer = producers_->find(name); producer != producers_->end()) found_.push_back(producer->second);
  }
  void Visit(const Node& node, int depth) {
    for (const std::string& input : node.inputs) Name(input);
    if (depth == kDeepest) return;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      for (const Node& inner : attribute.graph->nodes) Visit(inner, depth + 1);
      for (const ValueInfo& output : attribute.graph->outputs) Name(output.name);
    }
  }

  const Producers* producers_;
  std::vector<size_t> found_;
};

}  // namespace

std::vector<size_t> InOrderOfUse(std::span<const Node> nodes) {
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Producers producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) producers.try_emplace(output, i);
    }
  }
  Needs needs(&producers);
  std::vector<size_t> waiting(nodes.size());
  std::vector<std::vector<size_t>> readers(nodes.size());
  bool as_it_stands = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const size_t before : needs.Of(nodes[i])) {
      as_it_stands = as_it_stands && before < i;
      readers[before].push_back(i);
      ++waiting[i];
    }
  }
  if (as_it_stands) return order;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<bool> placed(nodes.size());
  order.clear();
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    placed[next] = true;
    for (const size_t reader : readers[next]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!placed[i]) order.push_back(i);
  }
  return order;
}

}  // namespace millpond::onnx
