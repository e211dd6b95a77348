// SPDX-License-Identifier: Apache-2.0
// Handles of single operators (aclopHandle): a looked-up operator that is run many times. Safe from any thread; a
// handle destroyed while another thread runs it lets that run finish.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_HANDLE_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_HANDLE_H_

#include <memory>

#include "src/base/status.h"
#include "src/exec/op/single_op.h"

namespace millpond {

Status CreateSingleOpHandle(SingleOp op, void** out_handle);
Status FindSingleOpHandle(const void* handle, std::shared_ptr<const SingleOp>* out_op);
Status DestroySingleOpHandle(const void* handle);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_HANDLE_H_
