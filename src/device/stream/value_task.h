// SPDX-License-Identifier: Apache-2.0
// aclrtValueWrite and aclrtValueWait: 64-bit words in device memory as signals between streams, or with the host.
#ifndef MILLPOND_SRC_DEVICE_STREAM_VALUE_TASK_H_
#define MILLPOND_SRC_DEVICE_STREAM_VALUE_TASK_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/device/stream/task.h"

namespace millpond {

class Stream;

// Values of ACL_STREAM_WAIT_VALUE_*, fixed by the ABI.
enum class ValueWait : uint32_t { kGreaterOrEqual = 0, kEqual = 1, kAnd = 2, kNor = 3 };

// The bodies, by name: a captured graph shows and changes their fields (aclmdlRITaskSetParams).
struct ValueWriteBody {
  void* address;
  uint64_t value;
  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) const;
};
struct ValueWaitBody {
  void* address;
  uint64_t value;
  ValueWait mode;
  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) const;
};

// Refuses what is no 8-byte aligned word of device or pinned memory.
Status CheckValueWord(void* address);

Status LaunchValueWrite(Stream* stream, void* address, uint64_t value);
Status LaunchValueWait(Stream* stream, void* address, uint64_t value, ValueWait mode);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_VALUE_TASK_H_
