// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_EXEC_OP_INTERRUPTED_END_H_
#define MILLPOND_SRC_EXEC_OP_INTERRUPTED_END_H_

namespace millpond {

// Ctrl-C in a Python program that has queued minutes of work: torch_npu waits for all of it before the process may end,
// and an NPU would have done it long ago. So when Python ends because nobody caught KeyboardInterrupt, what is queued,
// and what torch_npu's own queue still launches, is dropped; who synchronises with it is told. A program that catches
// the interrupt keeps its work. Does nothing without Python. Called when the first operator is made ready: later than
// torch_npu's own registration, so that Python, which ends in the opposite order, comes here first.
void DropWorkWhenInterrupted();

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_INTERRUPTED_END_H_
