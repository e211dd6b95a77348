// SPDX-License-Identifier: Apache-2.0
// A single operator's description as the operator table reads it.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_SHAPES_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_SHAPES_H_

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/exec/op/single_op.h"
#include "src/ops/door.h"

namespace millpond {

// Shapes, types, attributes and constants; no memory. Dimensions that are not known stay negative.
Status DescribeForDoor(const SingleOp& op, DoorArguments* out);

// How many inputs each operand has, where members of dynamic operands say whose they are (one name for each input,
// empty: not a member). Where none does, nothing: the table then shares them out evenly.
Status CountMembers(std::string_view type, const DoorBinding& binding, std::span<const std::string_view> member_of,
                    std::vector<uint32_t>* out);

// The shapes of outputs that are not known, written into arguments->outputs. Where an input's values decide one,
// `need_values(input)` makes them known there.
Status InferUnknownShapes(const SingleOp& op, DoorArguments* arguments,
                          const std::function<Status(size_t)>& need_values);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_SHAPES_H_
