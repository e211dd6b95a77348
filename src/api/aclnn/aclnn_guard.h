// SPDX-License-Identifier: Apache-2.0
// Guard for aclnn's entry points. The map from our codes to aclnn's is error_map.cc.
#ifndef MILLPOND_SRC_API_ACLNN_ACLNN_GUARD_H_
#define MILLPOND_SRC_API_ACLNN_ACLNN_GUARD_H_

#include <string>
#include <utility>

#include "include/aclnn/acl_meta.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"
#include "src/base/object_arena.h"
#include "src/base/status.h"

namespace millpond::aclnn {

// The codes of aclnn.
inline constexpr aclnnStatus kNullPointer = 161001;
inline constexpr aclnnStatus kInvalidParameter = 161002;
inline constexpr aclnnStatus kRuntimeError = 361001;
inline constexpr aclnnStatus kInnerError = 561000;
inline constexpr aclnnStatus kNoKernel = 561003;
inline constexpr aclnnStatus kNoExecutor = 561101;
inline constexpr aclnnStatus kInnerNull = 561103;

aclnnStatus NumberOf(Code code);

struct AclnnAbi : RuntimeAbi {
  using Result = aclnnStatus;
  static constexpr aclnnStatus kSuccess = 0;
  static constexpr aclnnStatus kNoMemory = kNoExecutor;
  static aclnnStatus Number(const Status& failure) { return NumberOf(failure.code()); }
};

using Outcome = BasicOutcome<aclnnStatus>;

template <class Body>
inline aclnnStatus Guard(const char* api, Body&& body) {
  return millpond::Guard(AclnnAbi(), api, body);
}

// aclnn has a number of its own for arguments that are NULL.
inline Outcome IsNull(std::string message) { return {kNullPointer, InvalidArgument(std::move(message))}; }

template <class T>
bool Alive(const T* object) {
  return ObjectArena<T>::Get().Alive(object);
}

// For a create function: null when the body fails.
template <class T, class Body>
T* GuardedCreate(const char* api, Body&& body) {
  T* made = nullptr;
  const aclnnStatus status = Guard(api, [&]() -> Status {
    made = ObjectArena<T>::Get().Create();
    return body(made);
  });
  if (__builtin_expect(status == 0, true)) return made;
  if (made != nullptr) ObjectArena<T>::Get().Destroy(made);
  return nullptr;
}

}  // namespace millpond::aclnn

#endif  // MILLPOND_SRC_API_ACLNN_ACLNN_GUARD_H_
