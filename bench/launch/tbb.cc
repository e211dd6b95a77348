// SPDX-License-Identifier: Apache-2.0
// Peer "tbb": a oneTBB flow graph. "tbb_light" is the same graph with the lightweight policy, which runs a body inside
// the call that makes it ready instead of spawning a task: no concurrency, the least a flow graph can cost.
#include <tbb/flow_graph.h>

#include <memory>
#include <vector>

#include "bench/common/measure.h"
#include "bench/launch/shapes.h"

namespace millpond::bench {
namespace {

namespace flow = tbb::flow;

void Tasks(const Harness& harness) {
  flow::graph graph;
  flow::function_node<int, int> node(graph, flow::serial, [](int value) { return value; });
  harness.PerItem("task", "ns", harness.Count(200'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) node.try_put(0);
    graph.wait_for_all();
  });
  harness.PerItem("launch_sync", "ns", harness.Count(50'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      node.try_put(0);
      graph.wait_for_all();
    }
  });
}

void Streams(const Harness& harness, std::size_t streams) {
  flow::graph graph;
  using Node = flow::function_node<int, int>;
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::size_t i = 0; i < streams; ++i) {
    nodes.push_back(std::make_unique<Node>(graph, flow::serial, [](int value) { return value; }));
  }
  harness.PerItem(StreamsMetric(streams), "ns", harness.Count(200'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) nodes[i % streams]->try_put(0);
    graph.wait_for_all();
  });
}

using DefaultNode = flow::continue_node<flow::continue_msg>;
using LightweightNode = flow::continue_node<flow::continue_msg, flow::lightweight>;

// `branches` chains of `length` nodes between one start and one end node; one branch is a plain chain.
template <typename Node>
class Dag {
 public:
  Dag(std::size_t branches, std::size_t length) : start_(Add()) {
    std::vector<Node*> ends;
    for (std::size_t branch = 0; branch < branches; ++branch) {
      Node* previous = start_;
      for (std::size_t i = 0; i < length; ++i) {
        Node* next = Add();
        flow::make_edge(*previous, *next);
        previous = next;
      }
      ends.push_back(previous);
    }
    Node* end = Add();
    for (Node* last : ends) flow::make_edge(*last, *end);
  }

  void Run() {
    start_->try_put(flow::continue_msg());
    graph_.wait_for_all();
  }

  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

 private:
  Node* Add() {
    nodes_.push_back(
        std::make_unique<Node>(graph_, [](const flow::continue_msg& message) noexcept { return message; }));
    return nodes_.back().get();
  }

  flow::graph graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Node* start_;  // after nodes_: it is the first of them
};

template <typename Node>
void Replay(const Harness& harness, const char* subject) {
  for (const ReplayShape& shape : kReplayShapes) {
    if (!harness.Wants(shape.metric)) continue;
    Dag<Node> dag(shape.branches, shape.length);
    const std::size_t replays = harness.Count(300);
    for (std::size_t i = 0; i < replays / 10 + 1; ++i) dag.Run();
    const double took = Nanoseconds([&] {
      for (std::size_t i = 0; i < replays; ++i) dag.Run();
    });
    harness.EmitFor(subject, shape.metric, "ns", took / static_cast<double>(replays * dag.nodes()));
  }
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("tbb", argc, argv);
  millpond::bench::Tasks(harness);
  for (const std::size_t streams : millpond::bench::kStreamCounts) millpond::bench::Streams(harness, streams);
  millpond::bench::Replay<millpond::bench::DefaultNode>(harness, "tbb");
  millpond::bench::Replay<millpond::bench::LightweightNode>(harness, "tbb_light");
  return 0;
}
