// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that some clients name.
#ifndef MILLPOND_INCLUDE_EXTERNAL_GRAPH_TENSOR_H_
#define MILLPOND_INCLUDE_EXTERNAL_GRAPH_TENSOR_H_

#include "graph/tensor.h"

#endif  // MILLPOND_INCLUDE_EXTERNAL_GRAPH_TENSOR_H_
