// SPDX-License-Identifier: Apache-2.0
// The x86-64 part of the fault reporter: which address, read or write, which instruction. fault_arm64.cc is its
// twin; on a processor without one the address still comes from the kernel, and that is all.
#include <ucontext.h>

#include "src/device/memory/fault.h"

namespace millpond::internal {

#if defined(__x86_64__)

FaultFacts FactsOfFault(const siginfo_t* info, const void* context) {
  constexpr int64_t kPageFault = 14;
  constexpr int64_t kWriteBit = 2;
  const auto* registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  FaultFacts facts;
  facts.instruction = static_cast<uintptr_t>(registers[REG_RIP]);
  facts.write = (registers[REG_ERR] & kWriteBit) != 0;
  if (info->si_code > 0) {
    facts.known = true;
    facts.address = reinterpret_cast<uintptr_t>(info->si_addr);
  } else if (registers[REG_TRAPNO] == kPageFault) {
    // A handler installed after ours (Python's faulthandler) raises the signal again, which loses the address but not
    // the processor's record of the thread's last page fault.
    facts.known = true;
    facts.address = static_cast<uintptr_t>(registers[REG_CR2]);
  }
  return facts;
}

#elif !defined(__aarch64__)

FaultFacts FactsOfFault(const siginfo_t* info, const void*) {
  FaultFacts facts;
  facts.known = info->si_code > 0;
  facts.address = facts.known ? reinterpret_cast<uintptr_t>(info->si_addr) : 0;
  return facts;
}

#endif

}  // namespace millpond::internal
