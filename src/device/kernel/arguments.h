// SPDX-License-Identifier: Apache-2.0
// Arguments that a client appends one by one (aclrtKernelArgs*). A launch copies them, so that a list may be changed
// and launched again at once.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_ARGUMENTS_H_
#define MILLPOND_SRC_DEVICE_KERNEL_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/kernel/call.h"

namespace millpond {

class KernelArguments {
 public:
  // `limit` bounds the bytes of arguments and of placeholders' data: what the client's memory has, where it brings one.
  KernelArguments(std::shared_ptr<const Kernel> kernel, size_t limit);

  Status Append(const void* value, size_t bytes, void** out_parameter) EXCLUDES(mutex_);
  Status AppendPlaceholder(void** out_parameter) EXCLUDES(mutex_);
  // Memory for the placeholder's data, the client's to fill until the launch. A second call replaces the first.
  Status PlaceholderBuffer(const void* parameter, size_t bytes, void** out_buffer) EXCLUDES(mutex_);
  Status Update(const void* parameter, const void* value, size_t bytes) EXCLUDES(mutex_);
  void Finalize() EXCLUDES(mutex_);

  // The call's kernel, bytes, arguments and placeholders.
  Status FillCall(const Kernel& kernel, KernelCall* call) EXCLUDES(mutex_);
  bool was_launched() const EXCLUDES(mutex_);
  const std::shared_ptr<const Kernel>& kernel() const { return kernel_; }

 private:
  struct One {
    size_t bytes = 0;
    bool is_placeholder = false;
    std::vector<std::byte> value;
    std::unique_ptr<std::byte[]> buffer;
    size_t buffer_bytes = 0;
  };
  Status Add(One one, void** out_parameter) REQUIRES(mutex_);
  Status Find(const void* parameter, One** out_one) REQUIRES(mutex_);

  const std::shared_ptr<const Kernel> kernel_;
  const size_t limit_;
  const uint64_t number_;  // of this list: part of its parameters' handles
  mutable Mutex mutex_;
  std::vector<One> all_ GUARDED_BY(mutex_);
  size_t used_ GUARDED_BY(mutex_) = 0;
  bool final_ GUARDED_BY(mutex_) = false;
  bool launched_ GUARDED_BY(mutex_) = false;
};

SharedTable<KernelArguments, HandleKind::kKernelArguments>& KernelArgumentLists();
// Adds a list; of many that nobody gives back, the oldest that was launched goes.
void* AddKernelArguments(std::shared_ptr<KernelArguments> list);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_ARGUMENTS_H_
