// SPDX-License-Identifier: Apache-2.0
// How the checker sees what happens inside torch_npu, whose wheel stays as it is:
// - The pieces of its caching allocator are told through mstx, for which the wheel wants to see a library among the
//   preloaded ones: the variable says so from aclInit until the first piece is told.
// - my_malloc and my_free of a pluggable allocator get a function of ours around them. Python hands their addresses to
//   the wheel, so that has to be done there: python/millpond's _torch.py, which the interpreter imports at our request.
#ifndef MILLPOND_SRC_CHECK_TORCH_DOOR_H_
#define MILLPOND_SRC_CHECK_TORCH_DOOR_H_

#include <cstdint>

#include "src/trace/records.h"

namespace millpond::check {

class Checker;

namespace torch_door {

// Who is told. Once, at the start.
void Open(Checker* checker);

// A call of the runtime, without a lock.
void OnCall(const trace::ApiCall& call);
// Whether calls need not be told any more: everything is in place, or there is no Python in the process.
bool IsSettled();
// The wheel tells its pieces: the environment is as it was from here on.
void PiecesAreTold();

// The stream that torch_npu works on in the calling thread; null when that cannot be told.
const void* CurrentStream(int32_t device);

}  // namespace torch_door

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_TORCH_DOOR_H_
