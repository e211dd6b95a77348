// SPDX-License-Identifier: Apache-2.0
// Limits of the whole process: stack and print buffer sizes of kernels (aclrtDeviceSetLimit and aclInit's file).
#ifndef MILLPOND_SRC_API_ACL_RT_DEVICE_LIMITS_H_
#define MILLPOND_SRC_API_ACL_RT_DEVICE_LIMITS_H_

#include <cstddef>

#include "include/acl/acl_rt.h"
#include "src/base/status.h"

namespace millpond::acl {

// Rounds as documented. 207000 where the device's series has no such limit, 107000 out of range.
Status SetDeviceLimit(aclrtDeviceLimit limit, size_t value);
Status GetDeviceLimit(aclrtDeviceLimit limit, size_t* out_value);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_DEVICE_LIMITS_H_
