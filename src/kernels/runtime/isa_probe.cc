// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/isa_probe.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "src/base/log.h"

namespace millpond::kernels {
namespace {

constexpr char kCapVariable[] = "ONEDNN_MAX_CPU_ISA";
constexpr char kCap[] = "AVX512_CORE_FP16";  // the best without AMX

#if defined(__x86_64__)
uint64_t EnabledStates() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32U | low;
}

AmxFacts Look() {
  constexpr uint32_t kOsXsave = 1U << 27U, kAmxTile = 1U << 24U;
  constexpr uint64_t kTileStates = 3U << 17U;  // TILECFG, TILEDATA
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  AmxFacts facts;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0) return facts;
  facts.shown = true;
  facts.enabled =
      __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kOsXsave) != 0 && (EnabledStates() & kTileStates) == kTileStates;
  // Leaf 0x1D: palette 1 has registers (upper half of ebx).
  facts.described = __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) != 0 && a >= 1 &&
                    __get_cpuid_count(0x1D, 1, &a, &b, &c, &d) != 0 && (b >> 16U) != 0;
  facts.permitted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return facts;
}
#else
AmxFacts Look() { return {}; }
#endif

// A GEMM and a convolution of each half type; why they fail, or nothing.
std::string TryHalfTypes() {
  const c10::InferenceMode inference;
  try {
    for (const auto type : {at::kBFloat16, at::kHalf}) {
      const at::Tensor matrix = at::ones({32, 32}, at::TensorOptions().dtype(type));
      at::mm(matrix, matrix);
      at::conv2d(matrix.view({1, 16, 8, 8}), matrix.view({64, 16}).slice(0, 0, 16).reshape({16, 16, 1, 1}));
    }
  } catch (const std::exception& error) {
    return c10::str(error.what()).substr(0, 120);
  }
  return "";
}

std::string Find() {
  const AmxFacts facts = Look();
  if (!facts.shown) return "half types: oneDNN as it finds the processor (no AMX)";
  std::string finding = "half types: oneDNN with AMX";
  if (const char* why = WhyUnusable(facts)) {
    setenv(kCapVariable, kCap, /*overwrite=*/0);  // the user's own choice stays
    finding = c10::str("half types: AMX is shown but cannot be used (", why, "); oneDNN is held at ",
                       std::getenv(kCapVariable), " (", kCapVariable, ")");
  }
  // What oneDNN does in fact. Too late to hold it back now, and in a process that has used it before it always was.
  const std::string failure = TryHalfTypes();
  if (!failure.empty()) {
    at::globalContext().setUserEnabledMkldnn(false);
    finding =
        c10::str("half types: oneDNN fails (", failure, "); ATen's own kernels are used instead, which are slow; set ",
                 kCapVariable, "=", kCap, " before the program starts");
  }
  if (WhyUnusable(facts) != nullptr || !failure.empty()) {
    log::Write(log::Level::kWarning, log::kRuntime, finding);
  }
  return finding;
}

}  // namespace

const std::string& HalfTypesFinding() {
  static const auto* finding = new std::string(Find());
  return *finding;
}

}  // namespace millpond::kernels

extern "C" __attribute__((visibility("default"))) const char* millpondHalfTypesFinding() {
  return millpond::kernels::HalfTypesFinding().c_str();
}
