// SPDX-License-Identifier: Apache-2.0
// Collects what a profiling session writes: the tasks of its devices, and the API calls if requested. One recording
// at a time, for the whole process. Safe from any thread.
#ifndef MILLPOND_SRC_REPORT_PROFILE_RECORDER_H_
#define MILLPOND_SRC_REPORT_PROFILE_RECORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond::report {

// Creates the folder and starts listening. pre: it is not recording. `devices` may be empty (only calls and marks).
Status StartRecording(const std::string& path, const std::vector<uint32_t>& devices, bool with_api_calls);
// Stops listening and writes the folder. Without a recording it does nothing.
Status StopRecording();

}  // namespace millpond::report

#endif  // MILLPOND_SRC_REPORT_PROFILE_RECORDER_H_
