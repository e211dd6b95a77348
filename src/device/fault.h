// SPDX-License-Identifier: Apache-2.0
// What the fault reporter needs from the processor (fault_x86.cc), and what copies tell it.
#ifndef MILLPOND_SRC_DEVICE_FAULT_H_
#define MILLPOND_SRC_DEVICE_FAULT_H_

#include <csignal>
#include <cstdint>

#include "src/base/status.h"
#include "src/device/memory.h"

namespace millpond::internal {

struct FaultFacts {
  bool known = false;  // false: the signal was not caused by a memory access we can name
  uintptr_t address = 0;
  bool write = false;
  uintptr_t instruction = 0;
};
// Signal-safe.
FaultFacts FactsOfFault(const siginfo_t* info, const void* context);

// While one lives, a fault of this thread on device memory is this thread's to take (TakeFaultInTask), also outside
// tasks.
class OwnsFaults {
 public:
  OwnsFaults();
  ~OwnsFaults();
  OwnsFaults(const OwnsFaults&) = delete;
  OwnsFaults& operator=(const OwnsFaults&) = delete;
};

}  // namespace millpond::internal

namespace millpond {

// Runs `work` (copies and fills) on the calling thread, outside any task; fails when it touched device memory that had
// been unmapped under it.
template <class Work>
Status RunOnCaller(Work&& work) {
  const internal::OwnsFaults owns;
  work();
  Status status;
  TakeFaultInTask(&status);
  return status;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_FAULT_H_
