// SPDX-License-Identifier: Apache-2.0
//
// The usual entry: runtime, single operators and offline models.
#ifndef MILLPOND_INCLUDE_ACL_ACL_H_
#define MILLPOND_INCLUDE_ACL_ACL_H_

#include "acl_mdl.h"
#include "acl_op.h"
#include "acl_rt.h"

#endif  // MILLPOND_INCLUDE_ACL_ACL_H_
