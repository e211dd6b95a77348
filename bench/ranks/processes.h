// SPDX-License-Identifier: Apache-2.0
// Ranks as processes: forked before anything else happens, with some memory that they share for their figures.
#ifndef BENCH_RANKS_PROCESSES_H_
#define BENCH_RANKS_PROCESSES_H_

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/common/measure.h"
#include "bench/ranks/shapes.h"

namespace millpond::bench {

inline constexpr unsigned kMaxBenchRanks = 4;
inline constexpr std::size_t kMaxShapes = 32;

struct Shared {
  std::atomic<unsigned> root_ready{0};
  char root[4108] = {};  // HcclRootInfo
  std::atomic<unsigned> came[2] = {};
  double microseconds[kMaxBenchRanks][kMaxShapes] = {};
};

inline void* SharedPages(std::size_t bytes) {
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) return pages;
  std::perror("shared memory");
  std::exit(1);
}

// Runs body(rank, ranks, shared) in `ranks` processes; false when one of them has failed. They end with this one.
template <class Body>
bool RunRanks(unsigned ranks, Shared* shared, const Body& body) {
  pid_t children[kMaxBenchRanks] = {};
  std::fflush(nullptr);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    children[rank] = fork();
    if (children[rank] != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(rank, ranks, shared);
    std::fflush(nullptr);
    _exit(0);
  }
  bool good = true;
  for (unsigned i = 0; i < ranks; ++i) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    good = false;  // the others would wait for it
    for (unsigned rank = 0; rank < ranks; ++rank) {
      if (children[rank] != ended) kill(children[rank], SIGKILL);
    }
  }
  return good;
}

// All shapes; prints the slowest rank's figure of each. False when a rank has failed.
template <class Body>
bool RunShapes(const Harness& harness, unsigned ranks, const char* suffix, const Body& body) {
  auto* const shared = new (SharedPages(sizeof(Shared))) Shared;
  const bool good = RunRanks(ranks, shared, body);
  const std::vector<Shape> shapes = Shapes(harness.smoke());
  for (std::size_t i = 0; good && i < shapes.size(); ++i) {
    double slowest = 0;
    for (unsigned rank = 0; rank < ranks; ++rank) slowest = std::max(slowest, shared->microseconds[rank][i]);
    if (slowest > 0) harness.Emit(MetricOf(shapes[i], ranks) + suffix, "us", slowest);
  }
  munmap(shared, sizeof(Shared));
  return good;
}

template <class Body>
int RunAll(const Harness& harness, const Body& body) {
  for (const unsigned ranks : kRankCounts) {
    if (!RunShapes(harness, ranks, "", body)) return 1;
  }
  return 0;
}

}  // namespace millpond::bench

#endif  // BENCH_RANKS_PROCESSES_H_
