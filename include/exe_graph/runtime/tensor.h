// SPDX-License-Identifier: Apache-2.0
//
// The older name of exe_graph/runtime/runtime_tensor.h.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_H_

#include "exe_graph/runtime/runtime_tensor.h"

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_H_
