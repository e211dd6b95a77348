// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_INCLUDE_GE_GE_API_TYPES_H_
#define MILLPOND_INCLUDE_GE_GE_API_TYPES_H_

#include "external/ge_common/ge_common_api_types.h"

#endif  // MILLPOND_INCLUDE_GE_GE_API_TYPES_H_
