// SPDX-License-Identifier: Apache-2.0
//
// The same header under the path that it has in CANN's sources.
#ifndef MILLPOND_INCLUDE_GE_EAGER_STYLE_GRAPH_BUILDER_CPP_ES_GRAPH_BUILDER_H_
#define MILLPOND_INCLUDE_GE_EAGER_STYLE_GRAPH_BUILDER_CPP_ES_GRAPH_BUILDER_H_

#include "../../es_graph_builder.h"

#endif  // MILLPOND_INCLUDE_GE_EAGER_STYLE_GRAPH_BUILDER_CPP_ES_GRAPH_BUILDER_H_
