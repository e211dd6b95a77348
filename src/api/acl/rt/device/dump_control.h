// SPDX-License-Identifier: Apache-2.0
// Who turned dumps on: aclInit's file, or aclmdlInitDump; each ends what it began.
#ifndef MILLPOND_SRC_API_ACL_RT_DEVICE_DUMP_CONTROL_H_
#define MILLPOND_SRC_API_ACL_RT_DEVICE_DUMP_CONTROL_H_

#include "src/exec/op/dump.h"

namespace millpond::acl {

Status StartDumpByInit(const dump::Settings& settings);
void StopDumpByInit();

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_DEVICE_DUMP_CONTROL_H_
