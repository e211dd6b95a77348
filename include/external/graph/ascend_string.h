// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_GRAPH_ASCEND_STRING_H_
#define MILLPOND_INCLUDE_EXTERNAL_GRAPH_ASCEND_STRING_H_

#include "graph/ascend_string.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_GRAPH_ASCEND_STRING_H_
