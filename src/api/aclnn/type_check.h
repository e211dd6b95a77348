// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_API_ACLNN_TYPE_CHECK_H_
#define MILLPOND_SRC_API_ACLNN_TYPE_CHECK_H_

#include "src/base/status.h"
#include "src/ops/call.h"

namespace millpond::aclnn {

// Refuses tensors of types that the operator's page does not list for the current profile's product series, and types
// that no kernel here computes: in phase 1, where the client still gets the reason.
Status CheckTypes(const OpCall& call);

}  // namespace millpond::aclnn

#endif  // MILLPOND_SRC_API_ACLNN_TYPE_CHECK_H_
