// SPDX-License-Identifier: Apache-2.0
// What a program pays for being checked. It knows nothing of the checker: compare.py runs it as it is and under
// MILLPOND_CHECK=1, and runs builds of it with ASan and TSan beside it.
//
// Figures of the launching thread are taken with the runtime's own threads asleep, each the best of many batches: noise
// only ever adds.
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/common/measure.h"
#include "bench/launch/held_threads.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kBatch = 256;
constexpr std::size_t kNodes = 1000;
constexpr std::size_t kApart = 64;  // bytes from the beginning of one range to the next
constexpr std::size_t kMaxRanges = 1'000'000;

// The caller's share of a launch, in nanoseconds.
template <class Body>
void OnLaunchingThread(const Harness& harness, const char* metric, Body launch) {
  if (!harness.Wants(metric)) return;
  const Stream stream;
  const HeldThreads held;
  double best = 1e9;
  for (std::size_t i = 0; i < harness.Count(2000); ++i) {
    best = std::min(best, Nanoseconds([&] {
                            for (std::size_t j = 0; j < kBatch; ++j) launch(stream);
                          }) / kBatch);
    stream.Synchronize();
  }
  harness.Emit(metric, "ns", best);
}

void Launches(const Harness& harness, const DeviceBlock& block) {
  OnLaunchingThread(harness, "empty_task", [](const Stream& stream) { Launch(stream); });
  OnLaunchingThread(harness, "memset8",
                    [&](const Stream& stream) { MP_ACL(aclrtMemsetAsync(block.get(), 8, 0, 8, stream.get())); });
  OnLaunchingThread(harness, "copy1k", [&](const Stream& stream) {
    MP_ACL(aclrtMemcpyAsync(block.get(), 1024, static_cast<char*>(block.get()) + 4096, 1024,
                            ACL_MEMCPY_DEVICE_TO_DEVICE, stream.get()));
  });
}

// A captured chain that sets 8 bytes at each node, replayed to its end: per node, the best replay.
void Replay(const Harness& harness, const DeviceBlock& block) {
  if (!harness.Wants("replayed_node")) return;
  const Stream stream;
  aclmdlRI graph = nullptr;
  MP_ACL(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  for (std::size_t i = 0; i < kNodes; ++i) {
    MP_ACL(aclrtMemsetAsync(static_cast<char*>(block.get()) + i * kApart, 8, 0, 8, stream.get()));
  }
  MP_ACL(aclmdlRICaptureEnd(stream.get(), &graph));
  {
    const HeldThreads held;
    double best = 1e9;
    for (std::size_t i = 0; i < harness.Count(1000); ++i) {
      best = std::min(best, Nanoseconds([&] {
                              MP_ACL(aclmdlRIExecuteAsync(graph, stream.get()));
                              stream.Synchronize();
                            }) / kNodes);
    }
    harness.Emit("replayed_node", "ns", best);
  }
  MP_ACL(aclmdlRIDestroy(graph));
}

// Distinct ranges, none of which the host knows to be done before all are launched: per range, the best of three
// rounds.
void Ranges(const Harness& harness, const DeviceBlock& block) {
  constexpr int kRounds = 3;
  for (const std::size_t count : {kMaxRanges / 100, kMaxRanges / 10, kMaxRanges}) {
    const std::string metric = "ranges_1e" + std::to_string(std::to_string(count).size() - 1);
    if (!harness.Wants(metric)) continue;
    const std::size_t launched = std::min(harness.Count(count), count);
    double best = 1e12;
    for (int round = 0; round < kRounds; ++round) {
      const Stream stream;
      best = std::min(best, Nanoseconds([&] {
                        for (std::size_t i = 0; i < launched; ++i) {
                          // Far apart one after the other: neighbours in time are no neighbours in memory.
                          char* const at = static_cast<char*>(block.get()) + i * 7919 % count * kApart;
                          MP_ACL(aclrtMemsetAsync(at, 8, 0, 8, stream.get()));
                        }
                      }));
      stream.Synchronize();
    }
    harness.Emit(metric, "ns", best / static_cast<double>(launched));
  }
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("unchecked", argc, argv);
  const millpond::bench::Session session;
  {
    const millpond::bench::DeviceBlock block(millpond::bench::kMaxRanges * millpond::bench::kApart);
    millpond::bench::Launches(harness, block);
    millpond::bench::Replay(harness, block);
    millpond::bench::Ranges(harness, block);
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  harness.Emit("resident", "KiB", static_cast<double>(used.ru_maxrss));
  harness.Emit("device", "KiB", static_cast<double>(millpond::bench::kMaxRanges * millpond::bench::kApart) / 1024);
  return 0;
}
