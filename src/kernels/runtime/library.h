// SPDX-License-Identifier: Apache-2.0
// What libmillpond_kernels.so shows to the core. No torch type is here: the core does not link it.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_LIBRARY_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_LIBRARY_H_

#include <cstddef>
#include <span>

#include "src/base/status.h"
#include "src/ops/call.h"

namespace millpond::kernels {

struct Kernel {
  const char* name;       // as the operator table has it
  const char* signature;  // one letter for each parameter, compared with the table's
  // Runs on the calling thread, on memory the views name by the client's addresses; `reach` turns one of these
  // into one that may be touched. A view's shape may change when the row waits.
  Status (*run)(OpCall& call);
};

struct Library {
  const char* torch_version;  // built against
  std::span<const Kernel* const> kernels;
  // Told once, before the first run.
  void (*start)(void* (*reach)(void*));
  // Called on a thread that has run kernels, before it turns to anything else; may be null.
  void (*leave)() = nullptr;
  // Gives back memory that is kept from kernel to kernel; may be null.
  void (*trim)() = nullptr;
};

inline constexpr char kLibraryFile[] = "libmillpond_kernels.so";
inline constexpr char kLibrarySymbol[] = "millpondKernels";
using LibraryFn = const Library* (*)();

// The letter of a parameter in the table, as kernel.h gives one to each C++ type.
constexpr char SignatureLetter(const ArgSpec& spec) {
  const bool out = spec.flow != ArgFlow::kIn;
  switch (spec.kind) {
    case ArgKind::kTensor:
      if (spec.or_scalar) return 'X';
      return out ? (spec.optional ? 'Q' : 'O') : (spec.optional ? 'P' : 'T');
    case ArgKind::kTensorList:
      return out ? (spec.optional ? 'N' : 'M') : (spec.optional ? 'K' : 'L');
    case ArgKind::kScalar:
      return spec.optional ? 's' : 'S';
    case ArgKind::kScalarList:
      return 'V';
    case ArgKind::kInts:
      return spec.optional ? 'i' : 'I';
    case ArgKind::kFloats:
      return spec.optional ? 'f' : 'F';
    case ArgKind::kBools:
      return spec.optional ? 'i' : 'I';  // kept as ints are
    case ArgKind::kInt:
      return 'n';
    case ArgKind::kBool:
      return 'b';
    case ArgKind::kDouble:
      return 'd';
    case ArgKind::kDType:
      return 'y';
    case ArgKind::kString:
      return 'c';
  }
  return '?';
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_LIBRARY_H_
