// SPDX-License-Identifier: Apache-2.0
// Handles of kernels and their arguments, looked up.
#ifndef MILLPOND_SRC_API_ACL_RT_KERNEL_KERNEL_H_
#define MILLPOND_SRC_API_ACL_RT_KERNEL_KERNEL_H_

#include <memory>

#include "src/base/status.h"
#include "src/device/kernel/arguments.h"
#include "src/device/kernel/binary.h"

namespace millpond::acl {

Status FindKernel(const char* parameter, const void* handle, std::shared_ptr<Kernel>* out_kernel);
Status FindBinary(const void* handle, std::shared_ptr<KernelBinary>* out_binary);
Status FindArguments(const void* handle, std::shared_ptr<KernelArguments>* out_list);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_KERNEL_KERNEL_H_
