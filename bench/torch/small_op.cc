// SPDX-License-Identifier: Apache-2.0
// What Millpond adds to a small operator: whole calls of aclnnAdd on ten floats, and replays of a captured graph of a
// hundred of them, less the ATen call that computes. Batches of ours and of ATen's alternate, and medians are taken.
#include <algorithm>

#include "bench/common/measure.h"
#include "bench/launch/held_threads.h"
#include "bench/torch/add_ten.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kBatch = 100;

// Nanoseconds per item of each of two bodies that do kBatch items, run in turn.
template <typename Ours, typename Peer>
std::pair<double, double> InTurn(std::size_t rounds, Ours ours, Peer peer) {
  std::vector<double> our_times, peer_times;
  for (std::size_t i = 0; i < rounds + rounds / 10 + 1; ++i) {
    const double a = Nanoseconds(ours) / kBatch, b = Nanoseconds(peer) / kBatch;
    if (i <= rounds / 10) continue;  // warm-up
    our_times.push_back(a);
    peer_times.push_back(b);
  }
  return {Median(our_times), Median(peer_times)};
}

void Emit(const Harness& harness, const std::string& metric, double ours, double aten) {
  harness.Emit(metric, "ns", ours);
  harness.EmitFor("aten", metric, "ns", aten);
  harness.Emit(metric + "_own", "ns", ours - aten);
}

// Every call runs on this thread, when it synchronises: the clock sees what is done for a call, wherever it is done.
void Calls(const Harness& harness) {
  if (!harness.Wants("add10")) return;
  const Stream stream;
  const AddTen add;
  AtenAddTen aten;
  add.Call(stream.get());
  add.Check(stream, "one call");
  const HeldThreads held;
  std::vector<double> calls;
  const auto [whole, kernel] = InTurn(
      harness.Count(5000),
      [&] {
        calls.push_back(Nanoseconds([&] {
                          for (std::size_t i = 0; i < kBatch; ++i) add.Call(stream.get());
                        }) /
                        kBatch);
        stream.Synchronize();
      },
      [&] {
        for (std::size_t i = 0; i < kBatch; ++i) aten.Call();
      });
  add.Check(stream, "many calls");
  Emit(harness, "add10", whole, kernel);
  harness.Emit("add10_calling", "ns", Median(calls));
}

void Replays(const Harness& harness) {
  if (!harness.Wants("replay100")) return;
  const Stream stream;
  const AddTen add;
  AtenAddTen aten;
  aclmdlRI graph = nullptr;
  MP_ACL(aclmdlRICaptureBegin(stream.get(), ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  for (std::size_t i = 0; i < kBatch; ++i) add.Call(stream.get());
  MP_ACL(aclmdlRICaptureEnd(stream.get(), &graph));
  const auto replay = [&] {
    MP_ACL(aclmdlRIExecuteAsync(graph, stream.get()));
    stream.Synchronize();
  };
  replay();
  add.Check(stream, "one replay");
  const HeldThreads held;
  const auto [whole, kernel] = InTurn(harness.Count(5000), replay, [&] {
    for (std::size_t i = 0; i < kBatch; ++i) aten.Call();
  });
  add.Check(stream, "many replays");
  Emit(harness, "replay100", whole, kernel);
  MP_ACL(aclmdlRIDestroy(graph));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  millpond::bench::Calls(harness);
  millpond::bench::Replays(harness);
  return 0;
}
