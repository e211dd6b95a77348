// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_EXEC_OP_TORCH_THREADS_H_
#define MILLPOND_SRC_EXEC_OP_TORCH_THREADS_H_

namespace millpond {

// torch_npu has a thread that frees what its queue is done with, and asks some 15,000 times a second whether there is
// anything. An NPU's host has cores to spare for that; here each question interrupts a kernel, and a training step took
// up to twice as long. So that thread's sleeps become a millisecond longer; nothing waits for it. Does nothing where
// there is no such thread.
void CalmTorchReleaseThread();

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_TORCH_THREADS_H_
