// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_
#define MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_

#include "exe_graph/runtime/tensor_data.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_
