// SPDX-License-Identifier: Apache-2.0
// The process's profiling session: off -> initialised -> (warm) -> running -> initialised -> off. Safe from any thread.
#ifndef MILLPOND_SRC_REPORT_PROFILE_SESSION_H_
#define MILLPOND_SRC_REPORT_PROFILE_SESSION_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond::report {

// What a caller must distinguish besides the failure itself.
enum class ProfileFault : uint8_t { kNone, kNotRunning, kAlreadyRunning, kConflict };

struct ProfileRequest {
  std::vector<uint32_t> devices;  // empty: only marks
  uint64_t data_types = 0;
  bool api_calls = false;
};

class ProfileSession {
 public:
  static ProfileSession& Get();

  Status Initialize(const std::string& path);
  // Stops whatever is still running.
  Status Finalize(ProfileFault* out_fault);
  Status WarmUp(ProfileFault* out_fault);
  // A second request joins what the first records.
  Status Start(const ProfileRequest& request, ProfileFault* out_fault);
  // `request` is the one passed to Start.
  Status Stop(const ProfileRequest& request, ProfileFault* out_fault);

  // Between Start and Stop: where marks and ranges are documented to work.
  bool running() const { return runs_.load(std::memory_order_relaxed); }

 private:
  Mutex mutex_;  // guards the members below, except runs_
  bool initialized_ GUARDED_BY(mutex_) = false;
  bool warm_ GUARDED_BY(mutex_) = false;
  std::string path_ GUARDED_BY(mutex_);
  std::map<uint32_t, uint64_t> running_ GUARDED_BY(mutex_);  // device -> what is collected
  std::atomic<bool> runs_{false};
};

}  // namespace millpond::report

#endif  // MILLPOND_SRC_REPORT_PROFILE_SESSION_H_
