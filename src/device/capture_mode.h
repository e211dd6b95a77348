// SPDX-License-Identifier: Apache-2.0
// What a thread may do while a stream captures. Implemented with capture.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_

#include "src/base/status.h"

namespace millpond {

// Refuses an unsafe call (`what` names it) when the capture mode in force for the calling thread forbids it.
Status CheckCaptureAllows(const char* what);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_MODE_H_
