// SPDX-License-Identifier: Apache-2.0
// aclrtMalloc followed by aclrtFree, nothing touched, against malloc/free and mmap/munmap of the same size. Google
// Benchmark picks the iteration counts; run.py asks it for random interleaving and reads its JSON.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>

#include "bench/common/acl_session.h"

namespace {

std::size_t Bytes(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)) * 1024; }

void Ours(benchmark::State& state) {
  for (auto step : state) {
    void* block = nullptr;
    MP_ACL(aclrtMalloc(&block, Bytes(state), ACL_MEM_MALLOC_HUGE_FIRST));
    benchmark::DoNotOptimize(block);
    MP_ACL(aclrtFree(block));
  }
}

void Malloc(benchmark::State& state) {
  for (auto step : state) {
    void* block = std::malloc(Bytes(state));
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
}

void Mmap(benchmark::State& state) {
  for (auto step : state) {
    void* block = mmap(nullptr, Bytes(state), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    benchmark::DoNotOptimize(block);
    munmap(block, Bytes(state));
  }
}

// Names are subject/metric_KiB; run.py splits them at the slash.
void Register(const char* name, void (*body)(benchmark::State&), int kib) {
  benchmark::RegisterBenchmark(name, body)->Arg(kib)->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  const millpond::bench::Session session;
  for (const int kib : {4, 2048, 65536}) {
    Register("ours/malloc_free", Ours, kib);
    Register("malloc/malloc_free", Malloc, kib);
    Register("mmap/malloc_free", Mmap, kib);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
