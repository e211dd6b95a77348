// SPDX-License-Identifier: Apache-2.0
// The output of a profiling session: one folder PROF_<number>_<time>_<id> below the session's path, where msprof's
// clients look for it, with the session's tasks and calls as lines of text. tools/msprof turns them into the tables and
// the timeline that torch_npu reads.
#ifndef MILLPOND_SRC_REPORT_PROFILE_WRITER_H_
#define MILLPOND_SRC_REPORT_PROFILE_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond::report {

// Times use the trace's clock; adding `to_wall_ns` converts them to wall-clock time.
struct Profile {
  struct Task {
    std::string name;
    int32_t device, stream;
    uint32_t thread;
    uint64_t task, enqueued_ns, start_ns, end_ns;
  };
  struct Call {
    std::string name;
    uint32_t thread;
    uint64_t start_ns, end_ns;
  };

  std::vector<Task> tasks;
  std::vector<Call> calls;
  uint64_t dropped = 0;  // records beyond what a session keeps
  uint64_t begin_wall_ns = 0, begin_raw_ns = 0;
  uint64_t to_wall_ns = 0;  // wraps around, and back when added
};

// Creates the folder, and one per device in it.
Status MakeProfileFolder(const std::string& path, const std::vector<uint32_t>& devices,
                         std::filesystem::path* out_folder);
Status WriteProfile(const Profile& profile, const std::filesystem::path& folder);

}  // namespace millpond::report

#endif  // MILLPOND_SRC_REPORT_PROFILE_WRITER_H_
