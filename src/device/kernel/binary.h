// SPDX-License-Identifier: Apache-2.0
// A client's kernels: a shared object for this CPU that exports them by name. What a card would run (an AI core's ELF)
// is told from it by the ELF header, and refused with the way on.
//
// A task that is queued keeps its kernel's library: unloading a binary takes the names away, and the code goes when the
// last task that uses it is done.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_BINARY_H_
#define MILLPOND_SRC_DEVICE_KERNEL_BINARY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/kernel/block.h"
#include "src/device/kernel/shared_table.h"

namespace millpond {

class KernelBinary;

// A function of a binary. Immutable once made.
struct Kernel {
  std::shared_ptr<const void> library;  // keeps the code mapped
  std::string name;
  const char* task_name = nullptr;   // the same, for as long as the process lives
  void* function = nullptr;          // null when only `info` knows it
  const KernelInfo* info = nullptr;  // null: each parameter is a word
  size_t code_bytes = 0;             // 0: unknown
  std::weak_ptr<KernelBinary> binary;
  void* binary_handle = nullptr;
};

class KernelBinary : public std::enable_shared_from_this<KernelBinary> {
 public:
  // What the client said when it loaded it.
  struct Options {
    bool lazy = false;
    uint32_t kernel_type = 2;  // as the client's ABI counts them: a vector kernel
  };

  static Status FromFile(const char* path, const Options& options, std::shared_ptr<KernelBinary>* out_binary);
  static Status FromData(const void* data, size_t bytes, const Options& options,
                         std::shared_ptr<KernelBinary>* out_binary);
  KernelBinary(std::shared_ptr<const void> library, std::string origin, std::vector<std::string> names,
               const Options& options);

  // The same handle each time for the same name.
  Status Find(const char* name, void** out_handle) EXCLUDES(mutex_);
  // The one exported function whose name ends with _<entry>.
  Status FindByEntry(uint64_t entry, void** out_handle);
  const Options& options() const { return options_; }

  void set_handle(void* handle) { handle_ = handle; }
  // Its kernels' handles are none from now on.
  void GiveUp();

 private:
  Status MakeKernel(const char* name, std::shared_ptr<Kernel>* out_kernel) const;
  std::string Names() const;

  const std::shared_ptr<const void> library_;
  const std::string origin_;              // the path, or "the data at 0x... "
  const std::vector<std::string> names_;  // functions that it exports
  const Options options_;
  void* handle_ = nullptr;
  Mutex mutex_;
  std::map<std::string, void*> handles_ GUARDED_BY(mutex_);
};

// A kernel that the program itself has; `info` may end with the call. Its function and parameters stay.
std::shared_ptr<const Kernel> KernelOfProgram(const KernelInfo& info);

SharedTable<KernelBinary, HandleKind::kKernelBinary>& KernelBinaries();
SharedTable<Kernel, HandleKind::kKernel>& Kernels();

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_BINARY_H_
