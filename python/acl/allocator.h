// SPDX-License-Identifier: Apache-2.0
// Allocators written in Python (allocator.cc has the functions). The rest of the binding tells when streams may have
// gone and when executions begin and end, because that decides how long the Python objects are kept.
#ifndef MILLPOND_PYTHON_ACL_ALLOCATOR_H_
#define MILLPOND_PYTHON_ACL_ALLOCATOR_H_

#include "python/acl/call.h"

namespace millpond::python {

// All with the GIL held. Lets go of the allocators of streams that are gone, as far as nobody uses them any more.
void ForgetAllocatorsOfGoneStreams();
void BeginExecution();
void EndExecution();
// Between them, on one thread: a block that is given and not taken back belongs to the caller afterwards.
class Handover;
Handover* BeginHandover();
void EndHandover(Handover* handover);

// Released, for calls that destroy streams.
template <class Call>
auto Destroying(Call call) {
  const auto result = Released(call);
  ForgetAllocatorsOfGoneStreams();
  return result;
}

// Released, for calls that take blocks from the registered allocator: one that is unregistered meanwhile stays until
// the call has ended.
template <class Call>
auto Allocating(Call call) {
  BeginExecution();
  const auto result = Released(call);
  EndExecution();
  return result;
}

// Allocating, for single operators: the memory of an output that had none is the caller's when the call returns, and
// the runtime never gives its block back.
template <class Call>
auto HandingOver(Call call) {
  Handover* handover = BeginHandover();
  const auto result = Allocating(call);
  EndHandover(handover);
  return result;
}

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_ALLOCATOR_H_
