// SPDX-License-Identifier: Apache-2.0
// A single operator's description as the operator table reads it.
#ifndef MILLPOND_SRC_EXEC_SINGLE_OP_SHAPES_H_
#define MILLPOND_SRC_EXEC_SINGLE_OP_SHAPES_H_

#include <functional>

#include "src/base/status.h"
#include "src/exec/single_op.h"
#include "src/ops/door.h"

namespace millpond {

// Shapes, types, attributes and constants; no memory. Dimensions that are not known stay negative.
Status DescribeForDoor(const SingleOp& op, DoorArguments* out);

// The shapes of outputs that are not known, written into arguments->outputs. Where an input's values decide one,
// `need_values(input)` makes them known there.
Status InferUnknownShapes(const SingleOp& op, DoorArguments* arguments,
                          const std::function<Status(size_t)>& need_values);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SINGLE_OP_SHAPES_H_
