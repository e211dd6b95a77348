// SPDX-License-Identifier: Apache-2.0
#include "src/api/common/refuse.h"

#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"

aclError millpondRefuse(const char* api, const char* advice) {
  return millpond::acl::Guard(api, [advice] { return millpond::acl::NotSupported(advice); });
}

aclError millpondReport(const char* api, int32_t code, const char* message) {
  return millpond::internal::Fail(millpond::acl::AclAbi(), api,
                                  millpond::Status(static_cast<millpond::Code>(code), message));
}
