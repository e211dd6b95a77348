// SPDX-License-Identifier: Apache-2.0
// Runs one operator on a stream.
#ifndef MILLPOND_SRC_EXEC_OP_LAUNCH_H_
#define MILLPOND_SRC_EXEC_OP_LAUNCH_H_

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/device/stream/stream.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/call.h"

namespace millpond {

// Is every tensor's memory fit: does it lie in live device memory (or host memory that devices may use), reach no
// further than its block, and is it aligned to its type?
Status ValidateMemory(const OpCall& call);

// Queues the call, whose memory has been validated. What the kernel reports surfaces at the next synchronisation of the
// stream.
Status LaunchOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, const void* caller = nullptr);

// What the call touches, by the client's addresses.
std::vector<trace::Access> AccessesOf(const OpCall& call);

// For rows that wait: runs everything queued before and the call itself, then hands it back with its outputs' real
// shapes.
Status RunOp(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, OpCallPtr* out_call);

// torch_npu calls from a queue of its own, and an error there ends that queue for good: whatever comes later is dropped
// without a word. So for it a refused operation is queued and fails as a task: the next synchronisation reports it, and
// the operations after it run. Every other client gets the error from the call.
bool ClientIsTorch();
Status QueueRefusal(const char* name, std::string reason, Stream* stream);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_LAUNCH_H_
