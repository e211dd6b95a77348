// SPDX-License-Identifier: Apache-2.0
// Two functions that libascendcl exports for its neighbours: they leave a message where aclGetRecentErrMsg looks.
#ifndef MILLPOND_PYTHON_ACL_REPORT_H_
#define MILLPOND_PYTHON_ACL_REPORT_H_

#include <cstdint>

#include "include/acl/acl_base_rt.h"

extern "C" {
// "not supported", with what to do instead; answers 207000.
aclError millpondRefuse(const char* api, const char* advice);
// A failure of the runtime's own kind `code`; answers the acl number of that kind.
aclError millpondReport(const char* api, int32_t code, const char* message);
}

namespace millpond::python {

constexpr int32_t kReportInvalidArgument = 1;  // answers 100000; tests/python_acl/test_errors.py holds it to that

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_REPORT_H_
