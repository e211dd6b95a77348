// SPDX-License-Identifier: Apache-2.0
// Answers whose acl number only one corner of the ABI gives, so that no code of ours stands for it.
#ifndef MILLPOND_SRC_API_ACL_ANSWER_H_
#define MILLPOND_SRC_API_ACL_ANSWER_H_

#include <string>
#include <utility>

#include "src/api/acl/guard.h"

namespace millpond::acl {

// Leaves the message as for any failure of that kind, and answers `number` instead of the kind's own.
inline aclError Answer(const char* api, aclError number, Code kind, std::string message) {
  static_cast<void>(Guard(api, [&] { return Status(kind, std::move(message)); }));
  return number;
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_ANSWER_H_
