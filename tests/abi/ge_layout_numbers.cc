// SPDX-License-Identifier: Apache-2.0
//
// Numbers of element types, formats, placements and results, as programs compiled against CANN have them.
#include "acl/acl_base.h"
#include "exe_graph/runtime/runtime_tensor.h"
#include "graph/ge_error_codes.h"
#include "graph/types.h"
#include "layout.h"

// clang-format off: the rows come after what they name.
#include "ge_numbers.def"
// clang-format on

// The C API numbers alike, but for "undefined".
static_assert(static_cast<int>(ge::DT_FLOAT) == ACL_FLOAT && static_cast<int>(ge::DT_BF16) == ACL_BF16);
static_assert(static_cast<int>(ge::DT_INT4) == ACL_INT4 && static_cast<int>(ge::DT_COMPLEX32) == ACL_COMPLEX32);
static_assert(static_cast<int>(ge::FORMAT_ND) == ACL_FORMAT_ND);
static_assert(static_cast<int>(ge::FORMAT_FRACTAL_NZ) == ACL_FORMAT_FRACTAL_NZ);
