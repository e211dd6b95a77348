// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_GRAPH_GE_ERROR_CODES_H_
#define MILLPOND_INCLUDE_EXTERNAL_GRAPH_GE_ERROR_CODES_H_

#include "graph/ge_error_codes.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_GRAPH_GE_ERROR_CODES_H_
