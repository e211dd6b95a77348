// SPDX-License-Identifier: Apache-2.0
// aclrtPhysicalMemProp in our own terms.
#ifndef MILLPOND_SRC_API_ACL_RT_MEMORY_PHYSICAL_PROP_H_
#define MILLPOND_SRC_API_ACL_RT_MEMORY_PHYSICAL_PROP_H_

#include "include/acl/acl_rt.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/memory/vmm_physical.h"

namespace millpond::acl {

// Checks location and memAttr against the documents (CANN's chapter on virtual memory) and the profile. `*out_device`
// is null for host memory.
Status SpecFromProp(const aclrtPhysicalMemProp& prop, PhysicalSpec* out_spec, Device** out_device);
void PropFromSpec(const PhysicalSpec& spec, aclrtPhysicalMemProp* out_prop);

// Host (numbered or not) or device; anything else is `code`.
Status SideFromLocation(const aclrtMemLocation& location, Code code, MemorySide* out_side);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_MEMORY_PHYSICAL_PROP_H_
