// SPDX-License-Identifier: Apache-2.0
#include "src/exec/kernel_table.h"

#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/device/memory.h"
#include "src/device/stream.h"
#include "src/exec/torch_threads.h"

namespace millpond {
namespace {

struct Table {
  Status failure;
  std::vector<const kernels::Kernel*> by_row;  // null where a row has none
};

std::atomic<void (*)()> g_trim{nullptr};

// The folder of the library this code is in: the kernels' library lies beside it.
std::string OwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&FindKernel), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

bool SameSignature(const OpRow& row, const char* signature) {
  for (const ArgSpec& spec : row.args) {
    if (*signature++ != kernels::SignatureLetter(spec)) return false;
  }
  return *signature == '\0';
}

// OpenMP's threads spin for many milliseconds before they sleep. Beside a program that computes, the thread that the
// others spin for stands in line behind that program, while their spinning keeps the processor that could run it: one
// step then takes as long as a time slice. Read when OpenMP is loaded, which torch does; the user's own choice stays.
void CalmOpenMp() {
  if (getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
}

Status Load(Table* table) {
  CalmOpenMp();
  const std::string path = OwnFolder() + kernels::kLibraryFile;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  MP_CHECK(library != nullptr, kUnsupported,
           "operators need %s, which could not be loaded: %s; './millpond doctor' tells whether torch 2.13.0 is where "
           "the library "
           "was built against",
           kernels::kLibraryFile, dlerror());
  const auto entry = reinterpret_cast<kernels::LibraryFn>(dlsym(library, kernels::kLibrarySymbol));
  MP_CHECK(entry != nullptr, kUnsupported, "%s has no %s: it is not of this release; build both together", path.c_str(),
           kernels::kLibrarySymbol);
  const kernels::Library* found = entry();
  found->start([](void* address) { return Reachable(address); });
  CalmTorchReleaseThread();
  if (found->leave != nullptr) SetAfterRun(found->leave);
  g_trim.store(found->trim, std::memory_order_release);
  table->by_row.assign(OpRows().size(), nullptr);
  for (const kernels::Kernel* kernel : found->kernels) {
    const OpRow* row = FindOp(kernel->row);
    MP_CHECK(row != nullptr, kUnsupported, "kernel %s has no row in src/ops/table", kernel->row);
    MP_CHECK(SameSignature(*row, kernel->signature), kUnsupported,
             "kernel %s takes '%s', which is not what its row says; see src/kernels/kernel.h", kernel->row,
             kernel->signature);
    table->by_row[row->id] = kernel;
  }
  return Ok();
}

const Table& Kernels() {
  static const Table* table = [] {
    auto* made = new Table;
    made->failure = Load(made);
    return made;
  }();
  return *table;
}

}  // namespace

Status FindKernel(const OpRow& row, const kernels::Kernel** out_kernel) {
  const Table& table = Kernels();
  if (__builtin_expect(!table.failure.ok(), false)) return table.failure.Clone();
  const kernels::Kernel* kernel = table.by_row[row.id];
  MP_CHECK(kernel != nullptr, kUnsupported, "%s has no kernel in this release", row.name);
  *out_kernel = kernel;
  return Ok();
}

void RestKernels() {
  if (auto* trim = g_trim.load(std::memory_order_acquire)) trim();
}

void TrimKernels() {
  RestKernels();
  // Sanitizers have a heap of their own, and glibc's was never begun.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  malloc_trim(0);
#endif
}

}  // namespace millpond
