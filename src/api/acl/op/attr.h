// SPDX-License-Identifier: Apache-2.0
// What a client's aclopAttr* points to.
#ifndef MILLPOND_SRC_API_ACL_OP_ATTR_H_
#define MILLPOND_SRC_API_ACL_OP_ATTR_H_

#include "include/acl/acl_op.h"
#include "src/api/common/magic.h"
#include "src/ops/door.h"

struct aclopAttr {
  millpond::Attributes values;
  millpond::acl::Magic<0x6d704f7041747472> magic;
};

#endif  // MILLPOND_SRC_API_ACL_OP_ATTR_H_
