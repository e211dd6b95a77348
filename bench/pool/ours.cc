// SPDX-License-Identifier: Apache-2.0
// Subject "ours": libmillpond_pool.so. A fresh pool for each measurement.
#include "bench/common/measure.h"
#include "bench/pool/family.h"
#include "bench/pool/ours_pool.h"
#include "bench/pool/workloads.h"

namespace millpond::bench {
namespace {

constexpr const char* kSubject = "ours";

void Measure(const Harness& harness, const Trace& trace, const PoolArguments& arguments) {
  const std::vector<FamilyTrace> family = ReadFamily(arguments);
  const std::vector<Stream> streams(MostLanes(family, 2 * trace.lanes));  // two threads with their own
  const auto make = [&] { return OursPool(streams); };
  MeasureFresh(harness, kSubject, make, trace, arguments);
  if (!family.empty()) MeasureFamily(harness, kSubject, make, family);
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
