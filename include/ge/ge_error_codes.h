// SPDX-License-Identifier: Apache-2.0
//
// Error numbers of the graph engine that reach acl callers: the same as acl's own header has.
#ifndef MILLPOND_INCLUDE_GE_GE_ERROR_CODES_H_
#define MILLPOND_INCLUDE_GE_GE_ERROR_CODES_H_

#include "acl/error_codes/ge_error_codes.h"

#ifndef GE_FUNC_VISIBILITY
#if defined(__GNUC__)
#define GE_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define GE_FUNC_VISIBILITY
#endif
#endif

#endif  // MILLPOND_INCLUDE_GE_GE_ERROR_CODES_H_
