// SPDX-License-Identifier: Apache-2.0
// Guard for HCCL's entry points: acl's Guard keeps the message and the trace event, HCCL's own number goes to the
// caller. The only table of HCCL numbers is result.cc.
#ifndef MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_
#define MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_

#include <utility>

#include "include/hccl/hccl_types.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"

namespace millpond::hccl {

HcclResult ResultFrom(const Status& status);

// What an entry point's body gives: a Status, with a number of its own where the Status alone does not tell.
struct Outcome {
  Outcome(Status failure) : result(ResultFrom(failure)), status(std::move(failure)) {}  // NOLINT: meant to convert
  Outcome(HcclResult number, Status failure) : result(number), status(std::move(failure)) {}

  HcclResult result;
  Status status;
};

template <class Body>
HcclResult Guard(const char* api, Body&& body) {
  HcclResult result = HCCL_SUCCESS;
  const aclError code = acl::Guard(api, [&]() -> Status {
    Outcome outcome = body();
    result = outcome.result;
    return std::move(outcome.status);
  });
  if (code == ACL_SUCCESS || result != HCCL_SUCCESS) return result;
  return code == ACL_ERROR_BAD_ALLOC ? HCCL_E_MEMORY : HCCL_E_RUNTIME;  // an exception, or a forked child
}

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_
