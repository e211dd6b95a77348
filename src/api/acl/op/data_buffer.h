// SPDX-License-Identifier: Apache-2.0
// What a client's aclDataBuffer* points to. The buffer names memory; it never owns it.
#ifndef MILLPOND_SRC_API_ACL_OP_DATA_BUFFER_H_
#define MILLPOND_SRC_API_ACL_OP_DATA_BUFFER_H_

#include <cstddef>

#include "include/acl/acl_base_rt.h"
#include "src/api/common/magic.h"

struct aclDataBuffer {
  void* data;
  size_t length;
  millpond::acl::Magic<0x6d70446275666572> magic;
};

#endif  // MILLPOND_SRC_API_ACL_OP_DATA_BUFFER_H_
