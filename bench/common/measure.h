// SPDX-License-Identifier: Apache-2.0
// What every benchmark program shares: two flags, a clock, and one line of JSON per sample.
//
// Why one sample per process and metric: run.py starts ours and the peers in turn, five times or more, so that a noisy
// minute hits all of them alike, and no library's sleeping or spinning threads stand in another's way.
#ifndef BENCH_COMMON_MEASURE_H_
#define BENCH_COMMON_MEASURE_H_

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millpond::bench {

inline constexpr int kSkipExitCode = 77;  // run.py reports the program's first stderr line as the reason

class Harness {
 public:
  // A program's own flags, each with a value: the flag and where the value goes.
  using Flags = std::vector<std::pair<const char*, std::string*>>;

  Harness(const char* subject, int argc, char** argv, const Flags& flags = {}) : subject_(subject) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view arg = argv[i];
      if (arg == "--smoke") {
        smoke_ = true;
      } else if (arg == "--only" && i + 1 < argc) {
        only_ = argv[++i];
      } else if (std::string* value = Find(flags, arg); value != nullptr && i + 1 < argc) {
        *value = argv[++i];
      } else {
        std::fprintf(stderr, "%s: unknown argument '%s' or no value after it; known: --smoke, --only METRIC", argv[0],
                     argv[i]);
        for (const auto& flag : flags) std::fprintf(stderr, ", %s VALUE", flag.first);
        std::fprintf(stderr, "\n");
        std::exit(2);
      }
    }
  }

  // True when --only is absent or names `metric`.
  [[nodiscard]] bool Wants(std::string_view metric) const { return only_.empty() || metric == only_; }

  // A smoke run proves that the code works, not how fast: a thousandth of the work, at least `least`.
  [[nodiscard]] std::size_t Count(std::size_t full, std::size_t least = 4) const {
    if (!smoke_) return full;
    return full / 1000 < least ? least : full / 1000;
  }

  [[nodiscard]] bool smoke() const { return smoke_; }
  [[nodiscard]] std::string_view only() const { return only_; }

  void Emit(const std::string& metric, const char* unit, double value) const { EmitFor(subject_, metric, unit, value); }

  void EmitFor(const char* subject, const std::string& metric, const char* unit, double value) const {
    std::printf("{\"subject\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", \"value\": %.6g}\n", subject,
                metric.c_str(), unit, value);
    std::fflush(stdout);
  }

  // Runs body(n) for a warm-up of a tenth and then once for the clock; emits nanoseconds per item.
  template <typename Body>
  void PerItem(const std::string& metric, const char* unit, std::size_t count, Body body) const;

 private:
  static std::string* Find(const Flags& flags, std::string_view arg) {
    for (const auto& [name, value] : flags) {
      if (arg == name) return value;
    }
    return nullptr;
  }

  const char* subject_;
  std::string_view only_;
  bool smoke_ = false;
};

// Nanoseconds that body() takes.
template <typename Body>
double Nanoseconds(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

template <typename Body>
void Harness::PerItem(const std::string& metric, const char* unit, std::size_t count, Body body) const {
  if (!Wants(metric)) return;
  body(count / 10 + 1);
  const double took = Nanoseconds([&] { body(count); });
  Emit(metric, unit, took / static_cast<double>(count));
}

inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of this process, with the device's memory, which is the process's too.
inline double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace millpond::bench

#endif  // BENCH_COMMON_MEASURE_H_
