// SPDX-License-Identifier: Apache-2.0
// Where ranks of one host that have no key to their world yet can ask for it: an abstract socket whose name they all
// know, answered to processes of this user only. The kernel forgets it with the process.
#ifndef MILLPOND_SRC_COMM_LOCAL_DOOR_H_
#define MILLPOND_SRC_COMM_LOCAL_DOOR_H_

#include <string>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::comm {

// `*out_taken`: another process has the name, and nothing was opened.
Status OpenDoor(const std::string& name, UniqueFd* out_listener, bool* out_taken);
// Everybody who has come gets the key.
void GiveKeyAt(int listener, const std::string& key);
// Empty: nobody is there yet.
std::string AskForKey(const std::string& name, Clock::time_point deadline);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_LOCAL_DOOR_H_
