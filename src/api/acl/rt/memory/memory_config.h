// SPDX-License-Identifier: Apache-2.0
// What the memory shims share: aclrtMallocConfig, and waiting for every device.
#ifndef MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_CONFIG_H_
#define MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_CONFIG_H_

#include "include/acl/acl_rt.h"
#include "src/base/status.h"

namespace millpond::acl {

struct MallocSettings {
  uint16_t module = 0;
  bool same_address = false;  // ACL_RT_MEM_ATTR_VA_FLAG
};
// A null `config` means no settings. `host`: for aclrtMallocHostWithCfg, which alone takes the VA flag.
Status ReadMallocConfig(const aclrtMallocConfig* config, bool host, MallocSettings* out_settings);

// Waits for all there is, for the frees that promise it; the first failure of any device.
Status SynchronizeAllDevices();

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_CONFIG_H_
