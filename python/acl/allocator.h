// SPDX-License-Identifier: Apache-2.0
// Allocators written in Python (allocator.cc has the functions). The rest of the binding tells when streams may have
// gone and when executions begin and end, because that decides how long the Python objects are kept.
#ifndef MILLPOND_PYTHON_ACL_ALLOCATOR_H_
#define MILLPOND_PYTHON_ACL_ALLOCATOR_H_

#include "python/acl/call.h"

namespace millpond::python {

// With the GIL held: lets go of the allocators of streams that are gone, as far as nobody uses them any more.
void ForgetAllocatorsOfGoneStreams();
void BeginExecution();
void EndExecution();

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

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_ALLOCATOR_H_
