// SPDX-License-Identifier: Apache-2.0
// The aarch64 part of the fault reporter: fault_x86.cc has the other. Linux puts the syndrome of a thread's last memory
// fault among the records that follow the registers of a signal frame.
#if defined(__aarch64__)

#include <asm/sigcontext.h>
#include <ucontext.h>

#include <cstring>

#include "src/device/memory/fault.h"

namespace millpond::internal {

namespace {

constexpr uint64_t kClassShift = 26;  // exception class, bits 26 to 31
constexpr uint64_t kClassMask = 0x3F;
constexpr uint64_t kDataAbortBelow = 0x24;  // of user code
constexpr uint64_t kDataAbortHere = 0x25;
constexpr uint64_t kWriteBit = uint64_t{1} << 6;

// The syndrome, 0 where the frame has none.
uint64_t SyndromeIn(const mcontext_t& registers) {
  const auto* const all = reinterpret_cast<const unsigned char*>(registers.__reserved);
  size_t place = 0;
  while (place + sizeof(_aarch64_ctx) <= sizeof(registers.__reserved)) {
    _aarch64_ctx head;
    std::memcpy(&head, all + place, sizeof(head));
    if (head.magic == 0 || head.size < sizeof(head)) return 0;
    if (head.magic == ESR_MAGIC && place + sizeof(esr_context) <= sizeof(registers.__reserved)) {
      esr_context record;
      std::memcpy(&record, all + place, sizeof(record));
      return record.esr;
    }
    place += head.size;
  }
  return 0;
}

// Of the instructions that a program's code reads and writes memory with, bit 22 says which; without a syndrome (an
// emulator of user programs gives none) it is all there is to go by.
bool StoresAt(uintptr_t instruction) {
  uint32_t code = 0;
  std::memcpy(&code, reinterpret_cast<const void*>(instruction), sizeof(code));
  const bool accesses_memory = (code & 0x0A000000) == 0x08000000;
  return accesses_memory && (code & (uint32_t{1} << 22)) == 0;
}

}  // namespace

FaultFacts FactsOfFault(const siginfo_t* info, const void* context) {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
  const uint64_t syndrome = SyndromeIn(registers);
  const uint64_t kind = (syndrome >> kClassShift) & kClassMask;
  const bool data_abort = kind == kDataAbortBelow || kind == kDataAbortHere;
  FaultFacts facts;
  facts.instruction = registers.pc;
  if (info->si_code > 0) {
    facts.known = true;
    facts.address = reinterpret_cast<uintptr_t>(info->si_addr);
    const bool at_code = facts.address == facts.instruction;  // what cannot be fetched cannot be looked at
    facts.write = data_abort ? (syndrome & kWriteBit) != 0 : !at_code && StoresAt(facts.instruction);
  } else if (data_abort) {
    // Raised again by a later handler: the address is still that of the thread's last fault.
    facts.known = true;
    facts.address = registers.fault_address;
    facts.write = (syndrome & kWriteBit) != 0;
  }
  return facts;
}

}  // namespace millpond::internal

#endif
