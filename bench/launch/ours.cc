// SPDX-License-Identifier: Apache-2.0
// Subject "ours": Millpond through its public headers. "task" is an empty body by millpond_launch, which is what the
// peers launch; "task_memset8" is the smallest asynchronous task of acl itself, checks and 8 bytes of work included.
#include <atomic>
#include <vector>

#include "bench/common/measure.h"
#include "bench/launch/launching.h"
#include "bench/launch/shapes.h"

namespace millpond::bench {
namespace {

void CountingBody(void* counter) { static_cast<std::atomic<std::size_t>*>(counter)->fetch_add(1); }

void Require(std::size_t found, std::size_t expected, const char* what) {
  if (found == expected) return;
  std::fprintf(stderr, "%s ran %zu bodies, expected %zu: its time would mean nothing\n", what, found, expected);
  std::exit(1);
}

// Before anything is timed: are the tasks really run?
void CheckThatTasksRun() {
  Stream stream;
  std::atomic<std::size_t> ran = 0;
  for (int i = 0; i < 1000; ++i) Launch(stream, CountingBody, &ran);
  stream.Synchronize();
  Require(ran, 1000, "launch");
}

void Tasks(const Harness& harness) {
  Stream stream;
  harness.PerItem("task", "ns", harness.Count(1'000'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) Launch(stream);
    stream.Synchronize();
  });
  harness.PerItem("launch_sync", "ns", harness.Count(200'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Launch(stream);
      stream.Synchronize();
    }
  });
  const DeviceBlock block(64);
  const auto memset8 = [&] { MP_ACL(aclrtMemsetAsync(block.get(), 8, 0, 8, stream.get())); };
  harness.PerItem("task_memset8", "ns", harness.Count(1'000'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) memset8();
    stream.Synchronize();
  });
  harness.PerItem("launch_sync_memset8", "ns", harness.Count(200'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      memset8();
      stream.Synchronize();
    }
  });
  const Event event;
  harness.PerItem("event_record", "ns", harness.Count(1'000'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) event.Record(stream);
    stream.Synchronize();
  });
}

// A chain of tasks that changes stream at each step: `hop` is timed from the opening of the gate, so it holds only what
// the runtime does between one task's end and the next one's start; `hop_launched` holds the three calls per hop too.
void Hops(const Harness& harness) {
  if (!harness.Wants("hop") && !harness.Wants("hop_launched")) return;
  Stream streams[2];
  const std::size_t hops = 128;
  std::vector<Event> events(hops);
  const auto enqueue = [&] {
    for (std::size_t i = 0; i < hops; ++i) {
      Launch(streams[i % 2]);
      events[i].Record(streams[i % 2]);
      events[i].MakeWait(streams[(i + 1) % 2]);
    }
  };
  const auto finish = [&] {
    streams[hops % 2].Synchronize();
    streams[(hops + 1) % 2].Synchronize();
  };
  const std::size_t chains = harness.Count(1000);
  double gated = 0;
  double launched = 0;
  for (std::size_t i = 0; i < chains + 1; ++i) {
    Gate gate(streams[0], Gate::kSpin);
    enqueue();
    const double opened = Nanoseconds([&] {
      gate.Open();
      finish();
    });
    const double whole = Nanoseconds([&] {
      enqueue();
      finish();
    });
    if (i == 0) continue;  // warm-up
    gated += opened;
    launched += whole;
  }
  const double all_hops = static_cast<double>(hops * chains);
  if (harness.Wants("hop")) harness.Emit("hop", "ns", gated / all_hops);
  if (harness.Wants("hop_launched")) harness.Emit("hop_launched", "ns", launched / all_hops);
}

// The default stream counts among a device's 1,984, so it is the first of them here.
void Streams(const Harness& harness, std::size_t count_of_streams) {
  if (!harness.Wants(StreamsMetric(count_of_streams))) return;
  const std::vector<Stream> created(count_of_streams - 1);
  std::vector<aclrtStream> streams = {nullptr};
  for (const Stream& stream : created) streams.push_back(stream.get());
  harness.PerItem(StreamsMetric(count_of_streams), "ns", harness.Count(1'000'000), [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      MP_ACL(millpond_launch(streams[i % count_of_streams], "bench_empty", EmptyBody, nullptr));
    }
    for (const aclrtStream stream : streams) MP_ACL(aclrtSynchronizeStream(stream));
  });
}

class CapturedGraph {
 public:
  // The same shape as the TBB peer builds: start, branches, end; events join the branches and are not counted as nodes.
  CapturedGraph(const ReplayShape& shape, void (*body)(void*), void* arg)
      : branches_(shape.branches - 1), joins_(shape.branches) {
    MP_ACL(aclmdlRICaptureBegin(main_.get(), ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
    Launch(main_, body, arg);
    if (!branches_.empty()) fork_.Record(main_);
    for (const Stream& branch : branches_) fork_.MakeWait(branch);
    for (std::size_t i = 0; i < shape.length; ++i) {
      Launch(main_, body, arg);
      for (const Stream& branch : branches_) Launch(branch, body, arg);
    }
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      joins_[i].Record(branches_[i]);
      joins_[i].MakeWait(main_);
    }
    Launch(main_, body, arg);
    MP_ACL(aclmdlRICaptureEnd(main_.get(), &graph_));
  }
  ~CapturedGraph() { MP_ACL(aclmdlRIDestroy(graph_)); }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  void Run() const {
    MP_ACL(aclmdlRIExecuteAsync(graph_, main_.get()));
    main_.Synchronize();
  }

 private:
  Stream main_;
  const std::vector<Stream> branches_;  // the main stream is the first branch
  const Event fork_;
  const std::vector<Event> joins_;
  aclmdlRI graph_ = nullptr;
};

void Replay(const Harness& harness, const ReplayShape& shape) {
  if (!harness.Wants(shape.metric)) return;
  const std::size_t nodes = shape.branches * shape.length + 2;
  std::atomic<std::size_t> ran = 0;
  CapturedGraph(shape, CountingBody, &ran).Run();
  Require(ran, nodes, shape.metric);

  const CapturedGraph graph(shape, EmptyBody, nullptr);
  const std::size_t replays = harness.Count(1000);
  for (std::size_t i = 0; i < replays / 10 + 1; ++i) graph.Run();
  const double took = Nanoseconds([&] {
    for (std::size_t i = 0; i < replays; ++i) graph.Run();
  });
  harness.Emit(shape.metric, "ns", took / static_cast<double>(replays * nodes));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  millpond::bench::CheckThatTasksRun();
  millpond::bench::Tasks(harness);
  millpond::bench::Hops(harness);
  for (const std::size_t streams : millpond::bench::kStreamCounts) millpond::bench::Streams(harness, streams);
  for (const auto& shape : millpond::bench::kReplayShapes) millpond::bench::Replay(harness, shape);
  return 0;
}
