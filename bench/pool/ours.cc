// SPDX-License-Identifier: Apache-2.0
// Subject "ours": libmillpond_pool.so. A fresh pool for each measurement.
#include "bench/common/measure.h"
#include "bench/pool/ours_pool.h"
#include "bench/pool/workloads.h"

namespace millpond::bench {
namespace {

constexpr const char* kSubject = "ours";

void Measure(const Harness& harness, const Trace& trace, const PoolArguments& arguments) {
  const std::vector<Stream> streams(2 * trace.lanes);  // two threads with their own
  {
    OursPool pool(streams);
    ReplayPasses(pool, trace, 0, 1);
    harness.Emit("reserved_over_live_first", "x", pool.ReservedOver(trace.peak_live_bytes));
  }
  {
    OursPool pool(streams);
    Replay(harness, kSubject, pool, trace);
    harness.Emit("reserved_over_live", "x", pool.ReservedOver(trace.peak_live_bytes));
  }
  {
    OursPool pool(streams);
    ReplayOnTwoThreads(harness, kSubject, pool, trace);
  }
  {
    OursPool pool(streams);
    Pairs(harness, kSubject, pool);
  }
  for (const MixedShape& shape : MixedShapes(arguments)) {
    OursPool pool(streams);
    const std::size_t live = Mixed(harness, kSubject, pool, shape);
    harness.Emit(std::string(shape.metric) + "_reserved_over_live", "x", pool.ReservedOver(live));
  }
}

// The pool's own snapshot at the trace's peak, for picture.py.
void WriteFragments(const Trace& trace, const std::string& path) {
  const std::vector<Stream> streams(trace.lanes);
  OursPool pool(streams);
  ReplayToWarmPeak(pool, trace);
  MP_POOL(millpondPoolSaveSnapshot(pool.get(), path.c_str(), "json"));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using namespace millpond::bench;
  PoolArguments arguments;
  std::string fragments;
  const Harness harness(kSubject, argc, argv, arguments.Flags({{"--fragments", &fragments}}));
  const Session session;
  const Trace trace = arguments.ReadTraceOrExit();
  if (fragments.empty()) {
    Measure(harness, trace, arguments);
  } else {
    WriteFragments(trace, fragments);
  }
  return 0;
}
