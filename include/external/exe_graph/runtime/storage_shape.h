// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_
#define MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_

#include "exe_graph/runtime/storage_shape.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_
