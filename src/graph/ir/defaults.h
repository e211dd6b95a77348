// SPDX-License-Identifier: Apache-2.0
// The defaults of operators' attributes, as values.
#ifndef MILLPOND_SRC_GRAPH_IR_DEFAULTS_H_
#define MILLPOND_SRC_GRAPH_IR_DEFAULTS_H_

#include "src/base/status.h"
#include "src/graph/ir/value.h"
#include "src/ops/ge_ops.h"

namespace millpond::ir {

// Fails when the attribute is required or has no default.
Status DefaultOf(const GeAttribute& attribute, Attr* out);

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_DEFAULTS_H_
