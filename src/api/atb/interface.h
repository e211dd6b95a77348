// SPDX-License-Identifier: Apache-2.0
// The public interface of libatb, whose names this library exports: everything else in it is hidden.
#ifndef MILLPOND_SRC_API_ATB_INTERFACE_H_
#define MILLPOND_SRC_API_ATB_INTERFACE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "include/acl/acl.h"
#include "include/aclnn/acl_meta.h"
#include "include/hccl/hccl_types.h"

#pragma GCC visibility push(default)
#include "include/atb/atb_acl.h"
#include "include/atb/atb_infer.h"
#include "include/atb/comm.h"
#include "include/atb/operation_infra.h"
#pragma GCC visibility pop

#endif  // MILLPOND_SRC_API_ATB_INTERFACE_H_
