// SPDX-License-Identifier: Apache-2.0
// What sinks are told of a captured graph: its shape once, then which graph a replay is of and which numbers its nodes
// have.
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <vector>

#include "src/device/capture/handle.h"
#include "src/device/testing.h"

namespace millpond::capture {
namespace {

struct Node {
  trace::GraphNode node;
  std::vector<trace::Access> accesses;
  std::vector<uint32_t> after;
};

class Recorder : public trace::Sink {
 public:
  explicit Recorder(uint32_t interests) : interests_(interests) {}
  uint32_t interests() const override { return interests_; }
  void OnGraph(const trace::GraphShape& shape) override {
    std::lock_guard lock(mutex);
    ++shapes;
    graph = shape.graph;
    lanes.assign(shape.lanes.begin(), shape.lanes.end());
    nodes.clear();
    for (const trace::GraphNode& node : shape.nodes) {
      nodes.push_back({node, {node.accesses.begin(), node.accesses.end()}, {node.after.begin(), node.after.end()}});
    }
  }
  void OnEnqueued(const trace::TaskEnqueued& task) override {
    std::lock_guard lock(mutex);
    tasks.push_back(task);
    edges.insert(edges.end(), task.edges.begin(), task.edges.end());
  }
  void OnRan(const trace::TaskRan& task) override {
    std::lock_guard lock(mutex);
    ran.push_back(task);
  }
  void OnObject(const trace::ObjectLife& life) override {
    if (life.kind == trace::ObjectKind::kCapturedGraph) lives.push_back(life);
  }

  std::mutex mutex;
  int shapes = 0;
  uint32_t graph = 0;
  std::vector<int32_t> lanes;
  std::vector<Node> nodes;
  std::vector<trace::TaskEnqueued> tasks;
  std::vector<trace::Edge> edges;
  std::vector<trace::TaskRan> ran;
  std::vector<trace::ObjectLife> lives;

 private:
  const uint32_t interests_;
};

class CaptureEvidenceTest : public DeviceTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DeviceTest::SetUp());
    side_ = NewStream();
    for (void*& handle : events_) ASSERT_TRUE(CreateEvent(device_, EventMaking::kEx, kEventSync, &handle).ok());
  }
  void TearDown() override {
    for (void* handle : events_) EXPECT_TRUE(DestroyEvent(handle).ok());
    DeviceTest::TearDown();
  }
  Event* EventAt(size_t index) {
    Event* event = nullptr;
    EXPECT_TRUE(FindEvent(events_[index], &event).ok());
    return event;
  }
  void Task(Stream* stream, const char* name, void* address, trace::Mode mode) {
    ASSERT_TRUE(stream->Launch<TaskKind::kCompute>(name, {{address, 4, mode}}, []() -> Status { return Ok(); }).ok());
  }
  // The stream has a, fork, c, join; the side has b between the two.
  Handle* Capture() {
    EXPECT_TRUE(Begin(stream_, Mode::kRelaxed).ok());
    Task(stream_, "a", memory_, trace::Mode::kWrite);
    EXPECT_TRUE(EventAt(0)->Record(stream_).ok());
    EXPECT_TRUE(EventAt(0)->Wait(side_, 0).ok());
    Task(side_, "b", memory_ + 4, trace::Mode::kWrite);
    EXPECT_TRUE(EventAt(1)->Record(side_).ok());
    Task(stream_, "c", memory_, trace::Mode::kReadWrite);
    EXPECT_TRUE(EventAt(1)->Wait(stream_, 0).ok());
    void* handle = nullptr;
    EXPECT_TRUE(End(stream_, &handle).ok());
    Handle* graph = nullptr;
    EXPECT_TRUE(FindGraph(handle, &graph).ok());
    return graph;
  }
  void Replay(Handle* graph) {
    EXPECT_TRUE(LaunchGraph(graph, stream_).ok());
    EXPECT_TRUE(Sync(stream_).ok());
  }

  Stream* side_ = nullptr;
  void* events_[2] = {};
  char memory_[64];
};

TEST_F(CaptureEvidenceTest, AGraphIsDescribedOnceWhenItIsSealed) {
  Recorder sink(trace::kGraphs | trace::kTasks | trace::kLives);
  const trace::Attached attached(&sink);
  Handle* graph = Capture();
  EXPECT_EQ(sink.shapes, 1);
  ASSERT_EQ(sink.lanes, (std::vector<int32_t>{stream_->id(), side_->id()}));
  ASSERT_EQ(sink.nodes.size(), 7u);
  const auto find = [&](const std::string& name) -> const Node& {
    for (const Node& node : sink.nodes) {
      if (node.node.name == name) return node;
    }
    ADD_FAILURE() << name;
    return sink.nodes[0];
  };
  EXPECT_EQ(find("a").node.lane, 0u);
  EXPECT_EQ(find("b").node.lane, 1u);
  EXPECT_TRUE(find("b").node.runs);
  ASSERT_EQ(find("b").accesses.size(), 1u);
  EXPECT_EQ(find("b").accesses[0].address, memory_ + 4);
  EXPECT_EQ(find("c").accesses[0].mode, trace::Mode::kReadWrite);
  // The two waits have the inner edges, from the records of the other lane.
  size_t edges = 0;
  for (const Node& node : sink.nodes) {
    for (const uint32_t before : node.after) {
      ++edges;
      EXPECT_EQ(node.node.kind, TaskKind::kEventWait);
      EXPECT_EQ(sink.nodes[before].node.kind, TaskKind::kEventRecord);
      EXPECT_FALSE(sink.nodes[before].node.runs);
      EXPECT_NE(sink.nodes[before].node.lane, node.node.lane);
      EXPECT_EQ(sink.nodes[before].node.event, node.node.event);
    }
  }
  EXPECT_EQ(edges, 2u);
  Replay(graph);
  Replay(graph);
  EXPECT_EQ(sink.shapes, 1);
  ASSERT_EQ(sink.tasks.size(), 2u) << "a replay is one task";
  EXPECT_EQ(sink.tasks[0].kind, TaskKind::kGraph);
  EXPECT_EQ(sink.tasks[0].graph, sink.graph);
  EXPECT_EQ(sink.tasks[1].graph, sink.graph);
  EXPECT_GE(sink.tasks[1].nodes, sink.tasks[0].nodes + sink.nodes.size());
  EXPECT_EQ(sink.tasks[1].count, sink.tasks[0].count + 1);
  EXPECT_TRUE(sink.ran.empty());
  ASSERT_TRUE(DestroyGraph(graph->handle()).ok());
  ASSERT_EQ(sink.lives.size(), 2u);
  EXPECT_TRUE(sink.lives[0].created);
  EXPECT_FALSE(sink.lives[1].created);
  EXPECT_EQ(sink.lives[0].id, sink.graph);
  EXPECT_EQ(sink.lives[1].id, sink.graph);
}

TEST_F(CaptureEvidenceTest, ASinkThatComesLaterIsToldBeforeTheNextReplay) {
  Handle* graph = Capture();
  Recorder sink(trace::kGraphs | trace::kTasks);
  const trace::Attached attached(&sink);
  EXPECT_EQ(sink.shapes, 0);
  Replay(graph);
  EXPECT_EQ(sink.shapes, 1);
  EXPECT_EQ(sink.nodes.size(), 7u);
  Replay(graph);
  EXPECT_EQ(sink.shapes, 1);
  ASSERT_TRUE(DestroyGraph(graph->handle()).ok());
}

TEST_F(CaptureEvidenceTest, NodesAreTasksOfTheirOwnForSinksThatWantThem) {
  Recorder sink(trace::kTasks | trace::kRan | trace::kInsideTasks | trace::kClocks);
  const trace::Attached attached(&sink);
  Handle* graph = Capture();
  Replay(graph);
  ASSERT_EQ(sink.tasks.size(), 4u) << "three bodies and the replay";
  const trace::TaskEnqueued& replay = sink.tasks.back();
  EXPECT_EQ(replay.flags, 0);
  std::set<uint64_t> announced;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sink.tasks[i].flags, trace::kInsideTask);
    EXPECT_EQ(sink.tasks[i].nodes, replay.nodes);
    EXPECT_GE(sink.tasks[i].task, replay.nodes);
    announced.insert(sink.tasks[i].task);
  }
  EXPECT_EQ(sink.tasks[0].lane, 0u);
  EXPECT_EQ(sink.tasks[1].lane, 1u);
  ASSERT_EQ(sink.ran.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(announced.contains(sink.ran[i].task));
  EXPECT_EQ(sink.ran[3].task, replay.task);
  ASSERT_TRUE(DestroyGraph(graph->handle()).ok());
}

// A record of the graph that the outside sees: the replay's record has the edge, before any wait for it is told.
TEST_F(CaptureEvidenceTest, ExternalRecordsAreEdgesOfTheReplay) {
  void* handle = nullptr;
  ASSERT_TRUE(CreateEvent(device_, EventMaking::kEx, kEventExternal, &handle).ok());
  Event* event = nullptr;
  ASSERT_TRUE(FindEvent(handle, &event).ok());
  ASSERT_TRUE(Begin(stream_, Mode::kRelaxed).ok());
  Task(stream_, "a", memory_, trace::Mode::kWrite);
  ASSERT_TRUE(event->ClaimRecord(true).ok());
  ASSERT_TRUE(stream_->capture()->RecordEvent(stream_, event, true).ok());
  void* captured = nullptr;
  ASSERT_TRUE(End(stream_, &captured).ok());
  Handle* graph = nullptr;
  ASSERT_TRUE(FindGraph(captured, &graph).ok());
  Recorder sink(trace::kTasks);
  const trace::Attached attached(&sink);
  ASSERT_TRUE(LaunchGraph(graph, stream_).ok());
  ASSERT_TRUE(event->Wait(side_, 0).ok());
  ASSERT_TRUE(Sync(stream_).ok());
  ASSERT_TRUE(side_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  ASSERT_EQ(sink.edges.size(), 2u);
  EXPECT_EQ(sink.edges[0].kind, trace::Edge::Kind::kRecord);
  EXPECT_EQ(sink.edges[0].node, 1u);
  EXPECT_EQ(sink.edges[1].kind, trace::Edge::Kind::kWait);
  EXPECT_EQ(sink.edges[1].id, sink.edges[0].id);
  EXPECT_EQ(sink.edges[1].generation, sink.edges[0].generation);
  ASSERT_TRUE(DestroyGraph(captured).ok());
  ASSERT_TRUE(DestroyEvent(handle).ok());
}

}  // namespace
}  // namespace millpond::capture
