// SPDX-License-Identifier: Apache-2.0
// aclprof's session: off -> initialised -> (warm) -> running -> initialised -> off. Process-wide; safe from any thread.
#ifndef MILLPOND_SRC_API_ACL_PROF_SESSION_H_
#define MILLPOND_SRC_API_ACL_PROF_SESSION_H_

namespace millpond::acl {

// Between aclprofStart and aclprofStop: where marks and ranges are documented to work.
bool ProfilingRuns();

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_PROF_SESSION_H_
