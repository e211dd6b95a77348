// SPDX-License-Identifier: Apache-2.0
//
// What clients of the C headers compile in, on x86-64: the compiler checks each row of the tables.
#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_platform.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt_allocator.h"
#include "acl/acl_rt_memory_soma.h"
#include "acl/acl_tdt.h"
#include "acl/acl_tdt_queue.h"
#include "acl/ops/acl_cblas.h"
#include "aclnn/aclnn_base.h"
#include "layout.h"

// clang-format off: the rows come after what they name.
#include "constants.def"
#include "enums.def"
#include "enums_rt.def"
#include "structs.def"
#include "types.def"
// clang-format on
