// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/scheduler.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "src/base/format.h"
#include "src/base/options.h"
#include "src/device/stream/planned.h"
#include "src/device/stream/seeded.h"
#include "src/device/stream/workers.h"

namespace millpond {

Scheduler& Scheduler::Get() {
  // Leaked: detached threads use it until the process ends. Runtime::Initialize has refused bad settings before.
  static Scheduler* const scheduler = []() -> Scheduler* {
    const Options& options = GetOptions();
    Schedule schedule;
    if (!options.schedule.empty() && Schedule::Parse(options.schedule, &schedule).ok()) {
      return new Planned(std::move(schedule));
    }
    if (const auto seed = ParseInt(options.seed)) return new Seeded(static_cast<uint64_t>(*seed));
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int workers = static_cast<int>(ParseInt(options.workers).value_or(std::clamp(cores, 2, 8)));
    return new Workers(workers, static_cast<int>(ParseInt(options.spin_us).value_or(50)));
  }();
  return *scheduler;
}

Status NoThread(const char* what, const std::exception& why) {
  return {Code::kHostOutOfMemory,
          Format("cannot start %s: %s; raise the limit on threads (ulimit -u, pids.max of the cgroup) or on memory",
                 what, why.what())};
}

}  // namespace millpond
