// SPDX-License-Identifier: Apache-2.0
// A thread of the library's own that others wait for when it ends.
#ifndef MILLPOND_SRC_BASE_OWN_THREAD_H_
#define MILLPOND_SRC_BASE_OWN_THREAD_H_

#include <functional>
#include <thread>

#include "src/base/status.h"

namespace millpond {

// The client's signal handlers do not run on it. `name` has at most 15 characters; `purpose` stands in the message of a
// failure: "no thread to <purpose>".
Status StartOwnThread(const char* name, const char* purpose, std::function<void()> body, std::thread* out_thread);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_OWN_THREAD_H_
