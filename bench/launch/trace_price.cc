// SPDX-License-Identifier: Apache-2.0
// What a launch costs with everything but the launching thread held still; built twice, with the trace hooks and
// without them, the difference is their price. At two nanoseconds a pre-emption or a moved cache line is the whole
// figure, so the runtime's own threads sleep in gates and each sample is the best of many batches: noise only ever
// adds. The median of the batches is told beside it.
//
// Then the same with sinks that do nothing: one that wants to hear of tasks, one that wants their call stacks too, and
// one that wants all that a trace file does (clocks and ends).
#include <algorithm>
#include <string>
#include <vector>

#include "bench/common/measure.h"
#include "bench/launch/held_threads.h"
#include "src/trace/fan_out.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kBatch = 256;

class EmptySink : public trace::Sink {
 public:
  explicit EmptySink(uint32_t interests) : interests_(interests) {}
  uint32_t interests() const override { return interests_; }

 private:
  const uint32_t interests_;
};

double MedianOf(std::vector<double>* samples) {
  std::nth_element(samples->begin(), samples->begin() + static_cast<std::ptrdiff_t>(samples->size() / 2),
                   samples->end());
  return (*samples)[samples->size() / 2];
}

void Price(const Harness& harness, const std::string& with, trace::Sink* sink) {
  const std::string enqueue = "enqueue" + with, whole = "launch_and_run" + with;
  if (!harness.Wants(enqueue) && !harness.Wants(whole) && !harness.Wants(enqueue + "_median")) return;
  const Stream stream;
  const HeldThreads held;
  if (sink != nullptr) trace::Attach(sink);
  std::vector<double> queued, ran;
  for (std::size_t i = 0; i < harness.Count(4000); ++i) {
    double launching = 0;
    const double both = Nanoseconds([&] {
      launching = Nanoseconds([&] {
        for (std::size_t j = 0; j < kBatch; ++j) Launch(stream);
      });
      stream.Synchronize();  // runs them: nobody else can
    });
    queued.push_back(launching / kBatch);
    ran.push_back(both / kBatch);
  }
  if (sink != nullptr) trace::Detach(sink);
  if (harness.Wants(enqueue)) harness.Emit(enqueue, "ns", *std::min_element(queued.begin(), queued.end()));
  if (harness.Wants(enqueue + "_median")) harness.Emit(enqueue + "_median", "ns", MedianOf(&queued));
  if (harness.Wants(whole)) harness.Emit(whole, "ns", *std::min_element(ran.begin(), ran.end()));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using millpond::bench::Price;
  namespace trace = millpond::trace;
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  Price(harness, "", nullptr);
  millpond::bench::EmptySink tasks(trace::kTasks | trace::kSignals | trace::kGraphs | trace::kHost | trace::kMemory |
                                   trace::kAllocators | trace::kLives);
  Price(harness, "_sink", &tasks);
  millpond::bench::EmptySink stacks(trace::kTasks | trace::kStacks);
  Price(harness, "_stacks", &stacks);
  millpond::bench::EmptySink drawn(trace::kAllRecords | trace::kClocks);
  Price(harness, "_everything", &drawn);
  return 0;
}
