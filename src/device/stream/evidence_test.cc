// SPDX-License-Identifier: Apache-2.0
// What sinks are told of streams: every task in the order of its stream, an order's record before its wait, what the
// host waited for, what bound when it ran, and the lives of it all.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/device/memory/memory.h"
#include "src/device/stream/callback_threads.h"
#include "src/device/stream/notify.h"
#include "src/device/stream/value_task.h"
#include "src/device/testing.h"

namespace millpond {
namespace {

struct Told {
  trace::TaskEnqueued task;
  std::vector<trace::Access> accesses;
  std::vector<trace::Edge> edges;
};

class Recorder : public trace::Sink {
 public:
  explicit Recorder(uint32_t interests = trace::kAllRecords) : interests_(interests) {}
  uint32_t interests() const override { return interests_; }
  void OnEnqueued(const trace::TaskEnqueued& task) override {
    std::lock_guard lock(mutex);
    tasks.push_back({task, {task.accesses.begin(), task.accesses.end()}, {task.edges.begin(), task.edges.end()}});
  }
  void OnRan(const trace::TaskRan& ran) override { Keep(&this->ran, ran); }
  void OnHostWait(const trace::HostWait& wait) override { Keep(&waits, wait); }
  void OnSignal(const trace::Signal& signal) override { Keep(&signals, signal); }
  void OnHostFunction(const trace::HostFunction& function) override { Keep(&functions, function); }
  void OnObject(const trace::ObjectLife& life) override { Keep(&lives, life); }
  size_t LivesOf(trace::ObjectKind kind, bool created) {
    std::lock_guard lock(mutex);
    return static_cast<size_t>(std::count_if(lives.begin(), lives.end(), [&](const trace::ObjectLife& life) {
      return life.kind == kind && life.created == created;
    }));
  }

  std::mutex mutex;
  std::vector<Told> tasks;
  std::vector<trace::TaskRan> ran;
  std::vector<trace::HostWait> waits;
  std::vector<trace::Signal> signals;
  std::vector<trace::HostFunction> functions;
  std::vector<trace::ObjectLife> lives;

 private:
  template <class Record>
  void Keep(std::vector<Record>* list, const Record& record) {
    std::lock_guard lock(mutex);
    list->push_back(record);
  }
  const uint32_t interests_;
};

class EvidenceTest : public DeviceTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DeviceTest::SetUp());
    other_ = NewStream();
  }
  static Status Empty(Stream* stream) {
    return stream->Launch<TaskKind::kCompute>("Empty", {}, []() -> Status { return Ok(); });
  }
  static void Sync(Stream* stream) { EXPECT_TRUE(DeviceTest::Sync(stream).ok()); }

  Stream* other_ = nullptr;
};

TEST_F(EvidenceTest, ATaskIsToldWithItsKindItsPlaceAndWhatItTouches) {
  Recorder sink;
  trace::Attach(&sink);
  char memory[256];
  const uint64_t before = stream_->enqueued();
  const trace::Access rows = trace::RowsOf(memory, 8, 4, 64, trace::Mode::kWrite);
  ASSERT_TRUE(
      stream_->Launch<TaskKind::kCopy>("Copy", {{memory, 16, trace::Mode::kRead}, rows}, [] { return Ok(); }).ok());
  Sync(stream_);
  trace::Detach(&sink);
  ASSERT_EQ(sink.tasks.size(), 1u);
  const Told& told = sink.tasks[0];
  EXPECT_EQ(told.task.kind, TaskKind::kCopy);
  EXPECT_EQ(told.task.stream, stream_->id());
  EXPECT_EQ(told.task.count, before + 1);
  EXPECT_EQ(told.task.flags, 0);
  EXPECT_EQ(told.task.stack, 0u);
  EXPECT_EQ(told.task.time_ns, 0u) << "nobody asked for clocks";
  ASSERT_EQ(told.accesses.size(), 2u);
  EXPECT_EQ(told.accesses[1].rows, 4u);
  EXPECT_EQ(told.accesses[1].pitch, 64u);
  EXPECT_EQ(told.accesses[1].extent(), 3u * 64 + 8);
  ASSERT_EQ(sink.ran.size(), 1u);
  EXPECT_EQ(sink.ran[0].task, told.task.task);
}

TEST_F(EvidenceTest, ATaskThatWaitsBeganBeforeItDid) {
  Recorder sink;
  const trace::Attached attached(&sink);
  std::atomic<bool> open{false};
  std::atomic<uint64_t> first{0};
  ASSERT_TRUE(stream_
                  ->Launch<TaskKind::kOther>("Waits", {},
                                             [&](TaskSlot& slot, Stream&, Status*) -> TaskEnd {
                                               if (slot.phase++ == 0) first = trace::NowNs();
                                               return open ? TaskEnd::kDone : TaskEnd::kBlocked;
                                             })
                  .ok());
  ASSERT_TRUE(Empty(stream_).ok());
  while (first == 0) std::this_thread::yield();
  const uint64_t opened = trace::NowNs();
  open = true;
  stream_->Unblock();
  Sync(stream_);
  ASSERT_EQ(sink.ran.size(), 2u);
  EXPECT_LE(sink.ran[0].start_ns, first);
  EXPECT_GE(sink.ran[0].end_ns, opened);
  EXPECT_GE(sink.ran[1].start_ns, sink.ran[0].end_ns) << "the next one has a beginning of its own";
}

TEST_F(EvidenceTest, StacksOfALaunchAreTakenWhenAskedFor) {
  Recorder sink(trace::kTasks | trace::kStacks);
  const trace::Attached attached(&sink);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Empty(stream_).ok());
  ASSERT_EQ(sink.tasks.size(), 10u);
  EXPECT_NE(sink.tasks[0].task.stack, 0u);
  for (const Told& told : sink.tasks) EXPECT_EQ(told.task.stack, sink.tasks[0].task.stack) << "one place, one stack";
  Sync(stream_);
}

TEST_F(EvidenceTest, ASinkThatWantsNoEndsHearsNone) {
  Recorder sink(trace::kTasks);
  const trace::Attached attached(&sink);
  ASSERT_TRUE(Empty(stream_).ok());
  Sync(stream_);
  EXPECT_EQ(sink.tasks.size(), 1u);
  EXPECT_TRUE(sink.ran.empty());
  EXPECT_TRUE(sink.waits.empty());
}

// Two threads that launch on one stream are told of in the order in which their tasks will run.
TEST_F(EvidenceTest, RecordsOfAStreamComeInTheOrderOfItsTasks) {
  constexpr int kThreads = 4, kEach = 2000;
  Recorder sink(trace::kTasks);
  trace::Attach(&sink);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) ASSERT_TRUE(Empty((i + j) % 2 == 0 ? stream_ : other_).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  Sync(stream_);
  Sync(other_);
  trace::Detach(&sink);
  ASSERT_EQ(sink.tasks.size(), static_cast<size_t>(kThreads) * kEach);
  std::map<int32_t, uint64_t> last;
  for (const Told& told : sink.tasks) {
    uint64_t& count = last[told.task.stream];
    if (count != 0) {
      ASSERT_EQ(told.task.count, count + 1);
    }
    count = told.task.count;
  }
  EXPECT_EQ(last.size(), 2u);
}

// One thread records over and over, another waits: no wait names a record that has not been told.
TEST_F(EvidenceTest, NoWaitIsToldBeforeItsRecord) {
  constexpr int kRounds = 3000;
  Event* event = NewEvent(EventMaking::kEx, kEventSync);
  Recorder sink(trace::kTasks);
  trace::Attach(&sink);
  ASSERT_TRUE(event->Record(stream_).ok());  // a wait for what was never recorded is no task
  std::thread recording([&] {
    for (int i = 1; i < kRounds; ++i) ASSERT_TRUE(event->Record(stream_).ok());
  });
  for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(event->Wait(other_, 0).ok());
  recording.join();
  Sync(stream_);
  Sync(other_);
  trace::Detach(&sink);
  uint64_t recorded = 0;
  size_t waits = 0;
  for (const Told& told : sink.tasks) {
    ASSERT_EQ(told.edges.size(), 1u);
    const trace::Edge& edge = told.edges[0];
    EXPECT_EQ(edge.link, trace::Link::kEvent);
    EXPECT_EQ(edge.id, reinterpret_cast<uint64_t>(event->handle()));
    EXPECT_FALSE(edge.binds_when_run);
    if (edge.kind == trace::Edge::Kind::kRecord) {
      recorded = std::max(recorded, edge.generation);
      EXPECT_EQ(told.task.kind, TaskKind::kEventRecord);
    } else {
      ++waits;
      ASSERT_LE(edge.generation, recorded);
    }
  }
  EXPECT_EQ(recorded, static_cast<uint64_t>(kRounds));
  EXPECT_EQ(waits, static_cast<size_t>(kRounds));
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
}

TEST_F(EvidenceTest, HostWaitsSayWhatIsKnownToHaveRun) {
  Event* event = NewEvent(EventMaking::kEx, kEventSync);
  Recorder sink(trace::kHost);
  trace::Attach(&sink);
  ASSERT_TRUE(Empty(stream_).ok());
  ASSERT_TRUE(event->Record(stream_).ok());
  const uint64_t marked = stream_->enqueued();
  ASSERT_TRUE(Empty(stream_).ok());
  ASSERT_TRUE(event->Synchronize(std::nullopt).ok());
  Sync(stream_);
  ASSERT_TRUE(event->Complete());
  ASSERT_TRUE(device_->Synchronize(std::nullopt).ok());
  const int32_t id = stream_->id();
  const uint64_t all = stream_->enqueued();
  ASSERT_TRUE(device_->DestroyStream(stream_, false).ok());
  trace::Detach(&sink);
  std::vector<trace::HostWait> mine;
  for (const trace::HostWait& wait : sink.waits) {
    if (wait.stream == id) mine.push_back(wait);
  }
  ASSERT_EQ(mine.size(), 5u);
  using trace::WaitKind;
  EXPECT_EQ(mine[0].kind, WaitKind::kEvent);
  EXPECT_EQ(mine[0].count, marked);
  EXPECT_EQ(mine[0].event, reinterpret_cast<uint64_t>(event->handle()));
  EXPECT_EQ(mine[0].generation, 1u);
  EXPECT_EQ(mine[1].kind, WaitKind::kStream);
  EXPECT_EQ(mine[1].count, all);
  EXPECT_EQ(mine[2].kind, WaitKind::kQuery);
  EXPECT_EQ(mine[2].count, marked);
  EXPECT_EQ(mine[3].kind, WaitKind::kDevice);
  EXPECT_EQ(mine[4].kind, WaitKind::kDestroy);
  EXPECT_EQ(mine[4].count, all);
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
}

TEST_F(EvidenceTest, AQueryThatFoundNothingAndAWaitOfOurOwnAreNotTold) {
  Event* event = NewEvent(EventMaking::kEx, kEventSync);
  std::atomic<bool> go{false};
  Recorder sink(trace::kHost);
  const trace::Attached attached(&sink);
  Block(stream_, &go);
  ASSERT_TRUE(event->Record(stream_).ok());
  std::thread opening([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go = true;
  });
  // Polling may run the stream itself, so only what is told for "not yet" can be looked at.
  const bool complete = event->Complete();
  EXPECT_EQ(sink.waits.size(), complete ? 1u : 0u);
  sink.waits.clear();
  ASSERT_TRUE(stream_->WaitFor(stream_->enqueued(), std::nullopt, Code::kStreamSyncTimeout).ok());
  opening.join();
  ASSERT_EQ(sink.waits.size(), 1u);
  EXPECT_EQ(sink.waits[0].kind, trace::WaitKind::kInternal);
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
}

TEST_F(EvidenceTest, LevelEventsBindWhenTheyRun) {
  Event* event = NewEvent(EventMaking::kFlagged, kEventSync);
  Recorder sink(trace::kTasks | trace::kSignals);
  trace::Attach(&sink);
  ASSERT_TRUE(event->Wait(other_, 0).ok());  // before any record: the level decides when it runs
  ASSERT_TRUE(event->Record(stream_).ok());
  const uint64_t recording = stream_->enqueued(), waiting = other_->enqueued();
  Sync(stream_);
  Sync(other_);
  ASSERT_TRUE(event->Reset(stream_).ok());
  Sync(stream_);
  trace::Detach(&sink);
  ASSERT_EQ(sink.tasks.size(), 3u);
  EXPECT_TRUE(sink.tasks[0].edges.at(0).binds_when_run);
  EXPECT_TRUE(sink.tasks[1].edges.at(0).binds_when_run);
  EXPECT_EQ(sink.tasks[2].task.kind, TaskKind::kEventReset);
  ASSERT_EQ(sink.signals.size(), 3u);
  using Kind = trace::Signal::Kind;
  EXPECT_EQ(sink.signals[0].kind, Kind::kRaised);
  EXPECT_EQ(sink.signals[0].stream, stream_->id());
  EXPECT_EQ(sink.signals[0].count, recording);
  EXPECT_EQ(sink.signals[1].kind, Kind::kMet);
  EXPECT_EQ(sink.signals[1].stream, other_->id());
  EXPECT_EQ(sink.signals[1].count, waiting);
  EXPECT_EQ(sink.signals[1].generation, sink.signals[0].generation);
  EXPECT_EQ(sink.signals[2].kind, Kind::kLowered);
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
}

TEST_F(EvidenceTest, NotifiesAndValueWordsBindWhenTheyRun) {
  void *handle = nullptr, *word = nullptr;
  ASSERT_TRUE(CreateNotify(device_, false, &handle).ok());
  ASSERT_TRUE(device_->memory().Allocate(8, "test", &word).ok());
  *static_cast<uint64_t*>(Reachable(word)) = 0;
  Notify* notify = nullptr;
  ASSERT_TRUE(FindNotify(handle, false, &notify).ok());
  Recorder sink(trace::kTasks | trace::kSignals);
  trace::Attach(&sink);
  ASSERT_TRUE(notify->Wait(other_, CountWait::kEqual, 1, true, 0).ok());
  ASSERT_TRUE(LaunchValueWait(other_, word, 5, ValueWait::kEqual).ok());
  ASSERT_TRUE(notify->Record(stream_, CountRecord::kSet, 1).ok());
  ASSERT_TRUE(LaunchValueWrite(stream_, word, 5).ok());
  Sync(stream_);
  Sync(other_);
  trace::Detach(&sink);
  ASSERT_EQ(sink.tasks.size(), 4u);
  EXPECT_EQ(sink.tasks[0].edges.at(0).link, trace::Link::kNotify);
  EXPECT_EQ(sink.tasks[0].edges.at(0).kind, trace::Edge::Kind::kWait);
  EXPECT_TRUE(sink.tasks[0].edges.at(0).binds_when_run);
  EXPECT_EQ(sink.tasks[1].edges.at(0).link, trace::Link::kValue);
  EXPECT_EQ(sink.tasks[1].edges.at(0).id, reinterpret_cast<uint64_t>(word));
  EXPECT_EQ(sink.tasks[3].edges.at(0).kind, trace::Edge::Kind::kRecord);
  for (const trace::Link link : {trace::Link::kNotify, trace::Link::kValue}) {
    std::vector<trace::Signal> found;
    for (const trace::Signal& signal : sink.signals) {
      if (signal.link == link) found.push_back(signal);
    }
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].kind, trace::Signal::Kind::kRaised) << "a wait is told after what it met";
    EXPECT_EQ(found[0].stream, stream_->id());
    EXPECT_EQ(found[1].kind, trace::Signal::Kind::kMet);
    EXPECT_EQ(found[1].stream, other_->id());
    EXPECT_EQ(found[1].generation, found[0].generation);
  }
  ASSERT_TRUE(DestroyNotify(handle, false).ok());
  ASSERT_TRUE(device_->memory().Free(word).ok());
}

TEST_F(EvidenceTest, AHostFunctionIsToldOnTheThreadThatRunsIt) {
  Recorder sink(trace::kTasks | trace::kSignals);
  trace::Attach(&sink);
  std::atomic<uint32_t> ran_on{0};
  ASSERT_TRUE(
      LaunchHostFunc(
          stream_, [](void* out) { *static_cast<std::atomic<uint32_t>*>(out) = trace::ThreadNumber(); }, &ran_on)
          .ok());
  const uint64_t count = stream_->enqueued();
  Sync(stream_);
  trace::Detach(&sink);
  ASSERT_EQ(sink.tasks.size(), 1u);
  EXPECT_EQ(sink.tasks[0].task.kind, TaskKind::kHostFunc);
  EXPECT_EQ(sink.tasks[0].task.flags, trace::kBlocksStream);
  ASSERT_EQ(sink.functions.size(), 2u);
  EXPECT_TRUE(sink.functions[0].begins);
  EXPECT_FALSE(sink.functions[1].begins);
  for (const trace::HostFunction& function : sink.functions) {
    EXPECT_EQ(function.stream, stream_->id());
    EXPECT_EQ(function.count, count);
    EXPECT_EQ(function.thread, ran_on.load());
    EXPECT_TRUE(function.blocks_stream);
  }
}

TEST_F(EvidenceTest, LivesOfStreamsEventsNotifiesAndContextsAreTold) {
  Recorder sink(trace::kLives);
  trace::Attach(&sink);
  Context* context = nullptr;
  ASSERT_TRUE(device_->CreateContext(&context).ok());
  const void* context_handle = context->handle();
  Event* event = NewEvent(EventMaking::kEx, kEventSync);
  void* notify = nullptr;
  ASSERT_TRUE(CreateNotify(device_, true, &notify).ok());
  ASSERT_TRUE(DestroyNotify(notify, true).ok());
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
  ASSERT_TRUE(device_->DestroyContext(context).ok());
  trace::Detach(&sink);
  using trace::ObjectKind;
  for (const ObjectKind kind :
       {ObjectKind::kContext, ObjectKind::kStream, ObjectKind::kEvent, ObjectKind::kCountNotify}) {
    EXPECT_EQ(sink.LivesOf(kind, true), 1u) << static_cast<int>(kind);
    EXPECT_EQ(sink.LivesOf(kind, false), 1u) << static_cast<int>(kind);
  }
  EXPECT_EQ(sink.lives.back().kind, ObjectKind::kContext);
  EXPECT_EQ(sink.lives.back().handle, reinterpret_cast<uint64_t>(context_handle));
}

}  // namespace
}  // namespace millpond
