// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/kernel_table.h"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/interface.h"
#include "src/exec/op/interrupted_end.h"
#include "src/exec/op/torch_library.h"
#include "src/exec/op/torch_threads.h"
#include "src/kernels/runtime/interface.h"

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

bool SameSignature(const KernelSpec& kernel, const char* signature) {
  for (const ArgSpec& spec : kernel.parameters) {
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

Status BindRows(std::span<const kernels::Kernel* const> kernels, Table* table) {
  const auto specs = OpKernels();
  std::vector<const kernels::Kernel*> by_spec(specs.size(), nullptr);
  for (const kernels::Kernel* kernel : kernels) {
    const std::string_view name = kernel->name;
    const auto spec =
        std::lower_bound(specs.begin(), specs.end(), name,
                         [](const KernelSpec& have, std::string_view wanted) { return have.name < wanted; });
    MP_CHECK(spec != specs.end() && spec->name == name, kUnsupported, "no row of src/ops/table binds kernel %s",
             kernel->name);
    MP_CHECK(SameSignature(*spec, kernel->signature), kUnsupported,
             "kernel %s takes '%s', which is not what the table says; see src/kernels/runtime/kernel.h", kernel->name,
             kernel->signature);
    by_spec[static_cast<size_t>(spec - specs.begin())] = kernel;
  }
  for (const OpRow& row : OpRows()) table->by_row.push_back(by_spec[row.kernel.kernel]);
  return Ok();
}

Status Load(Table* table) {
  CalmOpenMp();
  std::string path;
  MP_RETURN_IF_ERROR(torch_library::Prepare(OwnFolder(), &path));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  MP_CHECK(library != nullptr, kUnsupported,
           "operators need %s, which could not be loaded: %s; './millpond doctor' tells which torch it needs and where "
           "one was found; MILLPOND_TORCH_LIB names the folder of another libtorch_cpu.so",
           path.c_str(), dlerror());
  const auto interface = reinterpret_cast<kernels::InterfaceFn>(dlsym(library, kernels::kInterfaceSymbol));
  MP_CHECK(interface != nullptr && std::string_view(interface()) == KernelsInterface(), kUnsupported,
           "%s was built for another release of the core; build it anew (millpond build-kernels), or remove its folder",
           path.c_str());
  const auto entry = reinterpret_cast<kernels::LibraryFn>(dlsym(library, kernels::kLibrarySymbol));
  MP_CHECK(entry != nullptr, kUnsupported, "%s has no %s: it is not of this release; build both together", path.c_str(),
           kernels::kLibrarySymbol);
  const kernels::Library* found = entry();
  found->start([](void* address) { return Reachable(address); });
  CalmTorchReleaseThread();
  DropWorkWhenInterrupted();
  if (found->leave != nullptr) SetAfterRun(found->leave);
  g_trim.store(found->trim, std::memory_order_release);
  return BindRows(found->kernels, table);
}

// The end of a process runs the destructors of torch's library, also while another thread still loads it or computes
// with it, which crashes. Python lets daemon threads go on until then: its last exit function waits for them here.
class Ending {
 public:
  static Ending& Get() {
    static auto& ending = *new Ending;  // leaked: asked from static destructors too
    return ending;
  }
  // Python's own list for libraries: called when no thread runs Python any more, just before the process ends.
  void RegisterWithPython() {
    using AtExit = int (*)(void (*)());
    if (const auto at_exit = reinterpret_cast<AtExit>(dlsym(RTLD_DEFAULT, "Py_AtExit"))) at_exit([] { Get().End(); });
  }
  Status LoadInTime(Table* table) {
    MutexLock lock(mutex_);
    MP_CHECK(!ended_, kUnsupported, "operators are not loaded any more: the process is ending");
    return Load(table);
  }

 private:
  void End() {
    {
      MutexLock lock(mutex_);  // after the load that is under way
      ended_ = true;
    }
    Runtime* const runtime = Runtime::Existing();
    if (runtime == nullptr) return;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (int32_t id = 0; id < runtime->device_count(); ++id) {
      for (Stream* stream : runtime->device(id)->StreamsOf(nullptr)) {
        // Nobody is left to be told of a failure, and what waits for something that never comes may go on waiting.
        stream->WaitFor(stream->enqueued(), deadline, Code::kStreamSyncTimeout).Ignore();
      }
    }
  }

  static constexpr std::chrono::seconds kPatience{1};
  Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
};

[[maybe_unused]] const bool g_registered = [] {
  Ending::Get().RegisterWithPython();  // while the library is loaded: a daemon thread could do it too late
  return true;
}();

const Table& Kernels() {
  static const Table* table = [] {
    auto* made = new Table;
    made->failure = Ending::Get().LoadInTime(made);
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
