// SPDX-License-Identifier: Apache-2.0
// Guard for HCCL's entry points. The only table of HCCL numbers is result.cc.
#ifndef MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_
#define MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_

#include "include/hccl/hccl_types.h"
#include "src/api/common/guard.h"
#include "src/api/common/message.h"
#include "src/api/common/runtime_abi.h"

namespace millpond::hccl {

using acl::InvalidParameter;
using acl::InvalidValue;

HcclResult ResultFrom(const Status& status);
// A failure for which an argument is to blame, under the code that HCCL has for arguments of operations (EI0003).
// Others as they are.
Status AsArgument(const Status& failure);

struct HcclAbi : RuntimeAbi {
  using Result = HcclResult;
  static constexpr HcclResult kSuccess = HCCL_SUCCESS;
  static constexpr HcclResult kNoMemory = HCCL_E_MEMORY;
  static HcclResult Number(const Status& failure) { return ResultFrom(failure); }
};

struct OperationAbi : HcclAbi {
  static void Keep(const char* api, int64_t number, const Status& failure) {
    HcclAbi::Keep(api, number, AsArgument(failure));
  }
};

using Outcome = BasicOutcome<HcclResult>;

template <class Body>
inline HcclResult Guard(const char* api, Body&& body) {
  return millpond::Guard(HcclAbi(), api, body);
}

// For operations, whose `body` is given the address that the entry point returns to: ranks that disagree are told the
// line. A default argument is evaluated where Guard is called, in the entry point itself.
template <class Body>
inline HcclResult GuardOperation(const char* api, Body&& body, const void* caller = __builtin_return_address(0)) {
  return millpond::Guard(OperationAbi(), api, [&] { return body(caller); });
}

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_HCCL_GUARD_H_
