// SPDX-License-Identifier: Apache-2.0
// Operations that compute nothing: events in the stream, and a choice between two operations.
#ifndef ATB_COMMON_OP_PARAMS_H_
#define ATB_COMMON_OP_PARAMS_H_

#include <cstdint>

#include "acl/acl.h"
#include "atb/types.h"

namespace atb {
namespace common {

struct EventParam {
  enum OperatorType : int { UNDEFINED = 0, RECORD = 1, WAIT = 2 };
  aclrtEvent event;
  OperatorType operatorType = UNDEFINED;
  uint8_t rsv[16] = {0};

  friend bool operator==(const EventParam& a, const EventParam& b) {
    return a.event == b.event && a.operatorType == b.operatorType;
  }
};

// `handle` chooses opA (true) or opB while the host launches.
struct IfCondParam {
  void* userData;
  bool (*handle)(void* userData);
  Operation* opA = nullptr;
  Operation* opB = nullptr;
  uint8_t rsv[32] = {0};
};

}  // namespace common
}  // namespace atb

#endif  // ATB_COMMON_OP_PARAMS_H_
