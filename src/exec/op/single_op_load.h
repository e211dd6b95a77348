// SPDX-License-Identifier: Apache-2.0
// Models of single operators from files: what `atc --singleop` writes, aclopSetModelDir and aclopLoad read.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_LOAD_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_LOAD_H_

#include <cstddef>
#include <span>
#include <string>

#include "src/base/status.h"
#include "src/exec/op/single_op.h"
#include "src/graph/io/om.h"

namespace millpond {

// A model as an operator is asked by.
SingleOpDesc DescribeModel(const io::OmSingleOp& model);

// One model in memory; nothing of it is kept but its description.
Status LoadSingleOpModel(std::span<const std::byte> file);

// Every *.om file in `folder` and up to two folders below each other. Files of another kind (models of networks) are
// left alone; one that cannot be read fails the call, and then nothing is loaded.
Status LoadSingleOpModels(const std::string& folder);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_LOAD_H_
