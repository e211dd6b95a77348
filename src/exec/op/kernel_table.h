// SPDX-License-Identifier: Apache-2.0
// libmillpond_kernels.so, loaded when the first operation is made ready. The core links no torch.
#ifndef MILLPOND_SRC_EXEC_OP_KERNEL_TABLE_H_
#define MILLPOND_SRC_EXEC_OP_KERNEL_TABLE_H_

#include "src/base/status.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/row.h"

namespace millpond {

// The kernel of a row. Fails, every time alike, when the library cannot be loaded or has none for the row.
Status FindKernel(const OpRow& row, const kernels::Kernel** out_kernel);

// The calling thread has compiled: what kernels keep for it, threads among it, goes.
void RestKernels();

// Gives back to the system what kernels, packing and folding keep for the next time: after the work of compiling, which
// is not that of the runs.
void TrimKernels();

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_KERNEL_TABLE_H_
