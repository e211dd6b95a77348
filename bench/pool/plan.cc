// SPDX-License-Identifier: Apache-2.0
// Subject "ours" with a plan: one pool records a pass, a plan is made from it, a new pool follows the plan. In its own
// process, so that no leftovers of another measurement can help.
#include <unistd.h>

#include <filesystem>

#include "bench/common/measure.h"
#include "bench/pool/family.h"
#include "bench/pool/ours_pool.h"
#include "bench/pool/workloads.h"

namespace millpond::bench {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "mp_bench_plan_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror("mkdtemp");
      std::exit(1);
    }
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string File(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void RecordPlan(const Trace& trace, const std::vector<Stream>& streams, const TemporaryFolder& folder) {
  OursPool pool(streams);
  std::vector<void*> blocks(trace.slots);
  MP_POOL(millpondPoolStartRecording(pool.get()));
  ReplaySteps(pool, trace, 0, trace.steps.size(), blocks);
  MP_POOL(millpondPoolStopRecording(pool.get(), folder.File("recording.csv").c_str(), folder.File("plan").c_str()));
}

// A run that diverged from the plan says nothing about planning.
void RequirePlanned(const OursPool& pool, std::size_t expected) {
  const millpondPoolStatistics statistics = pool.Statistics();
  if (statistics.planned == expected && statistics.diverged == 0) return;
  std::fprintf(stderr, "the plan placed %llu of %zu allocations and %llu diverged: the figures would mean nothing\n",
               static_cast<unsigned long long>(statistics.planned), expected,
               static_cast<unsigned long long>(statistics.diverged));
  std::exit(1);
}

void Measure(const Harness& harness, const Trace& trace, const std::string& time, const std::string& reserved) {
  const std::vector<Stream> streams(trace.lanes);
  const TemporaryFolder folder;
  RecordPlan(trace, streams, folder);
  OursPool pool(streams);
  MP_POOL(millpondPoolFollow(pool.get(), folder.File("plan").c_str()));
  std::size_t runs = 0;
  const auto run = [&](auto body) {
    MP_POOL(millpondPoolBeginRun(pool.get()));
    body();
    MP_POOL(millpondPoolEndRun(pool.get()));
    ++runs;
  };
  std::vector<void*> blocks(trace.slots);
  std::vector<double> passes;
  for (std::size_t pass = 0; pass < PassCount(harness, trace); ++pass) {
    const double took = Nanoseconds([&] { run([&] { ReplaySteps(pool, trace, 0, trace.steps.size(), blocks); }); });
    passes.push_back(took / static_cast<double>(trace.steps.size()));
  }
  run([&] { CheckReplay(pool, trace, "the plan"); });
  RequirePlanned(pool, runs * trace.slots);
  harness.Emit(time, "ns", Median({passes.begin() + 1, passes.end()}));
  harness.Emit(reserved, "x", pool.ReservedOver(trace.peak_live_bytes));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using namespace millpond::bench;
  PoolArguments arguments;
  const Harness harness("ours", argc, argv, arguments.Flags());
  const Session session;
  Measure(harness, arguments.ReadTraceOrExit(), "replay_plan_ns", "reserved_over_live_plan");
  for (const FamilyTrace& each : ReadFamily(arguments)) {
    Measure(harness, each.trace, each.name + "_plan_ns", each.name + "_reserved_plan");
  }
  return 0;
}
