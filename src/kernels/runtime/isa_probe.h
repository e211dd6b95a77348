// SPDX-License-Identifier: Apache-2.0
// Some virtual machines show AMX to the program and then do not let it be used: oneDNN, which ATen calls for GEMM
// and convolutions of half types, fails there with "could not create a primitive". What is wrong is visible from the
// processor's own words and the kernel's answer, before oneDNN is first used, and it can be told to keep off.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_ISA_PROBE_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_ISA_PROBE_H_

#include <string>

namespace millpond::kernels {

struct AmxFacts {
  bool shown = false;      // the processor names amx-tile
  bool enabled = false;    // the operating system saves tile registers (XCR0)
  bool described = false;  // a tile palette with registers in it
  bool permitted = false;  // the kernel lets this process use tiles
};

// Why AMX cannot be used though it is shown; null when there is nothing to say.
inline const char* WhyUnusable(const AmxFacts& facts) {
  if (!facts.shown) return nullptr;
  if (!facts.enabled) return "the operating system does not save tile registers";
  if (!facts.described) return "the processor describes no tile palette";
  if (!facts.permitted) return "the kernel refuses the permission to use tiles";
  return nullptr;
}

// Looks once, at the first call, and sets what must be set; the finding as a sentence, for the log and for `doctor`.
const std::string& HalfTypesFinding();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_ISA_PROBE_H_
