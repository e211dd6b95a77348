// SPDX-License-Identifier: Apache-2.0
// Waits that only a client's code on another thread can end. When that code waits for the one who waits, the program
// hangs by its own design, and nothing in it shows why: so after a while the wait says whom it waits for.
#ifndef MILLPOND_SRC_BASE_LONG_WAIT_H_
#define MILLPOND_SRC_BASE_LONG_WAIT_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace millpond {

inline constexpr std::chrono::seconds kLongWait{3};

// The calling thread as ps, gdb and /proc name it.
int32_t SystemThreadId();

// One line on stderr, and a warning in the log: "thread 12 (python) has waited 3 s <for what>: thread 11 (python)
// <does what>". Call it once for a wait, after kLongWait. `holder`: 0 when nobody is known.
void TellLongWait(int32_t waiter, const std::string& for_what, int32_t holder, const std::string& does_what);

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_LONG_WAIT_H_
