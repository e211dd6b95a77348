// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_GRAPH_COMPILER_DEF_H_
#define MILLPOND_INCLUDE_EXTERNAL_GRAPH_COMPILER_DEF_H_

#include "graph/compiler_def.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_GRAPH_COMPILER_DEF_H_
