// SPDX-License-Identifier: Apache-2.0
// Facts about the chip, as text.

#include "include/acl/acl_platform.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoPlatform[] =
    "the text tables of the chip are not shipped; ask aclrtGetDeviceInfo, aclGetDeviceCapability or aclrtGetSocName";

}  // namespace

// Platform facts.
MP_REFUSE(aclError, aclplatformGetDeviceInfo, (aclplatformDevInfo, char*, uint32_t), kNoPlatform)
MP_REFUSE(aclError, aclplatformGetInstructionInfo, (aclplatformCoreType, const char*, char*, uint32_t), kNoPlatform)
