// SPDX-License-Identifier: Apache-2.0
//
// The older name of graph/error_codes.h.
#ifndef MILLPOND_INCLUDE_GRAPH_GE_ERROR_CODES_H_
#define MILLPOND_INCLUDE_GRAPH_GE_ERROR_CODES_H_

#include "graph/error_codes.h"

#endif  // MILLPOND_INCLUDE_GRAPH_GE_ERROR_CODES_H_
