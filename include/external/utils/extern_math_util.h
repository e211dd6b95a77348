// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_UTILS_EXTERN_MATH_UTIL_H_
#define MILLPOND_INCLUDE_EXTERNAL_UTILS_EXTERN_MATH_UTIL_H_

#include "utils/extern_math_util.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_UTILS_EXTERN_MATH_UTIL_H_
