// SPDX-License-Identifier: Apache-2.0
// What a profiling session writes: one folder PROF_<number>_<time>_<id> below the session's path, as msprof's clients
// look for it, with the tasks and calls of the session as lines of text. tools/msprof turns them into the tables and
// the timeline that torch_npu reads.
#ifndef MILLPOND_SRC_API_ACL_PROF_RECORDER_H_
#define MILLPOND_SRC_API_ACL_PROF_RECORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond::acl {

// Makes the folder and listens from now on. pre: it is not recording. `devices` may be empty (calls and marks alone).
Status StartRecording(const std::string& path, const std::vector<uint32_t>& devices, bool with_api_calls);
// Stops listening and writes the folder. Without a recording: nothing happens.
Status StopRecording();

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_PROF_RECORDER_H_
