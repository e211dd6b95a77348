// SPDX-License-Identifier: Apache-2.0
//
// What every part of the ABI shares: handles, error codes, data types, buffers and tensor descriptors.
#ifndef MILLPOND_INCLUDE_ACL_ACL_BASE_H_
#define MILLPOND_INCLUDE_ACL_ACL_BASE_H_

#include "acl_base_mdl.h"
#include "acl_base_rt.h"
#include "error_codes/ge_error_codes.h"
#include "error_codes/rt_error_codes.h"

#endif  // MILLPOND_INCLUDE_ACL_ACL_BASE_H_
