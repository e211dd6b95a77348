// SPDX-License-Identifier: Apache-2.0
// What a launch costs with everything but the launching thread held still; built twice, with the trace hooks and
// without them, the difference is their price. At two nanoseconds a pre-emption or a moved cache line is the whole
// figure, so the runtime's own threads sleep in gates and each sample is the best of many batches: noise only ever
// adds.
#include <algorithm>
#include <limits>

#include "bench/common/measure.h"
#include "bench/launch/held_threads.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kBatch = 256;

void Price(const Harness& harness) {
  const Stream stream;
  const HeldThreads held;
  double enqueue = std::numeric_limits<double>::max();
  double launch_and_run = enqueue;
  for (std::size_t i = 0; i < harness.Count(4000); ++i) {
    double queued = 0;
    const double whole = Nanoseconds([&] {
      queued = Nanoseconds([&] {
        for (std::size_t j = 0; j < kBatch; ++j) Launch(stream);
      });
      stream.Synchronize();  // runs them: nobody else can
    });
    enqueue = std::min(enqueue, queued / kBatch);
    launch_and_run = std::min(launch_and_run, whole / kBatch);
  }
  if (harness.Wants("enqueue")) harness.Emit("enqueue", "ns", enqueue);
  if (harness.Wants("launch_and_run")) harness.Emit("launch_and_run", "ns", launch_and_run);
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  millpond::bench::Price(harness);
  return 0;
}
