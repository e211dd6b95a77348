// SPDX-License-Identifier: Apache-2.0
// Findings of the checker on their way to the program itself (millpond/check.h). Safe from any thread.
#ifndef MILLPOND_SRC_TRACE_FOUND_H_
#define MILLPOND_SRC_TRACE_FOUND_H_

#include <cstdint>

namespace millpond::trace {

// The texts live for the call.
struct Found {
  const char* rule;
  const char* severity;
  const char* message;
  const char* advice;
  const char* fingerprint;
};

using Listener = void (*)(const Found& found, void* function, void* argument);

// Called at each finding from now on, with both pointers as they are given here; null ends it. The former one may still
// be inside a call.
void ListenToFindings(Listener listener, void* function, void* argument);
void TellFound(const Found& found);

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_FOUND_H_
