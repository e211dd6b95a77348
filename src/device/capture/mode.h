// SPDX-License-Identifier: Apache-2.0
// What a thread may do while a stream captures. "Unsafe" calls (synchronous copies and fills, asynchronous ones that
// must block because they touch pageable memory) would run now what a graph is meant to run later:
//   a capture in mode GLOBAL       forbids them to every thread of its context
//   a capture in mode THREAD_LOCAL forbids them to the thread that began it
//   RELAXED                        forbids nothing
// A thread loosens that for itself by ExchangeThreadMode: RELAXED allows it everything, THREAD_LOCAL everything
// but what its own captures forbid.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_

#include <cstdint>

#include "src/base/status.h"

namespace millpond::capture {

// Values of aclmdlRICaptureMode.
enum class Mode : uint8_t { kGlobal, kThreadLocal, kRelaxed };

// Refuses an unsafe call (`what` names it) when the capture mode in force for the calling thread forbids it: 107030, or
// 107041 for an asynchronous call that must block.
Status CheckAllows(const char* what, bool asynchronous = false);

// Sets the calling thread's mode and returns the former one; a thread starts with GLOBAL.
Mode ExchangeThreadMode(Mode mode);

// For captures themselves. `context` is the handle of the captured stream's context.
void EnterMode(const void* capture, const void* context, uint64_t thread, Mode mode);
void LeaveMode(const void* capture);
// A number for the calling thread that no other thread gets in this process's life.
uint64_t ThreadId();

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_
