// SPDX-License-Identifier: Apache-2.0
// What the fault reporter needs from the processor (fault_x86.cc, fault_arm64.cc), and what copies tell it.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_FAULT_H_
#define MILLPOND_SRC_DEVICE_MEMORY_FAULT_H_

#include <csignal>
#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/device/memory/memory.h"

namespace millpond::internal {

struct FaultFacts {
  bool known = false;  // false: the signal was not caused by a memory access we can name
  uintptr_t address = 0;
  bool write = false;
  uintptr_t instruction = 0;
};
// Signal-safe.
FaultFacts FactsOfFault(const siginfo_t* info, const void* context);

// Makes ours the first handler of SIGSEGV, for as long as writes may have to wait. True when another was there, which
// *out_replaced tells; the caller puts it back.
bool PutFaultHandlerFirst(struct sigaction* out_replaced);

// While one lives, a fault of this thread on device memory, or of a copy on host memory, is this thread's to take
// (TakeFaultInTask), also outside tasks.
class OwnsFaults {
 public:
  OwnsFaults();
  ~OwnsFaults();
  OwnsFaults(const OwnsFaults&) = delete;
  OwnsFaults& operator=(const OwnsFaults&) = delete;
};

// Whether somebody will ask this thread for its faults: it runs a task, or has an OwnsFaults.
bool FaultsAreTaken();

// Where the handler goes on when host memory that a client named cannot be touched.
struct HostFault {
  uintptr_t address = 0;
  bool write = false;
};
// touch(argument) reads and writes memory and does nothing else: it may be left in the middle. False when it was.
// Costs some nanoseconds, which no look at the process's mappings could.
bool TouchHost(void (*touch)(const void* argument), const void* argument, HostFault* out_fault);
// The same for a kernel that the client wrote: it may also touch a device address that nobody translated for it.
bool TouchAsKernel(void (*touch)(const void* argument), const void* argument, HostFault* out_fault);
template <class Touch>
bool TouchHost(const Touch& touch, HostFault* out_fault) {
  return TouchHost([](const void* self) { (*static_cast<const Touch*>(self))(); }, &touch, out_fault);
}
// Leaves the fault to be taken. pre: FaultsAreTaken().
void LeaveHostFault(const HostFault& fault);
std::string HostFaultText(const HostFault& fault);

}  // namespace millpond::internal

namespace millpond {

// Runs `work` (copies and fills) on the calling thread, outside any task; fails when it touched device memory that had
// been unmapped under it, or host memory that cannot be touched.
template <class Work>
Status RunOnCaller(Work&& work) {
  const internal::OwnsFaults owns;
  work();
  Status status;
  TakeFaultInTask(&status);
  return status;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_FAULT_H_
