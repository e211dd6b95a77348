// SPDX-License-Identifier: Apache-2.0
// Marks and ranges that an application puts into its trace. With no sink they are kept in order and dropped. Safe from
// any thread.
#ifndef MILLPOND_SRC_TRACE_MARKS_H_
#define MILLPOND_SRC_TRACE_MARKS_H_

#include <cstdint>
#include <string>

namespace millpond::trace {

// The text for as long as the process lives: what records point to.
const char* Interned(const std::string& text);

void Mark(const char* interned);

// Ranges of the calling thread: the last one pushed ends first. Pop gives false when none is open.
void PushRange(const char* interned);
bool PopRange();

// Ranges that may end on another thread. Stop gives false for a number that is not open.
uint32_t StartRange(const char* interned);
bool StopRange(uint32_t number);

// 1, 2, 3 ...
uint64_t NextStep();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_MARKS_H_
