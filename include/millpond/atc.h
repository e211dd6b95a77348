// SPDX-License-Identifier: Apache-2.0
//
// What bin/atc does that CANN's libraries have no public function for. In libge_compiler.so.
#ifndef MILLPOND_INCLUDE_MILLPOND_ATC_H_
#define MILLPOND_INCLUDE_MILLPOND_ATC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes an .om into `folder` for each operator of a description file (atc --singleop). 0, or a graphStatus with the
// reason in aclGetRecentErrMsg.
__attribute__((visibility("default"))) uint32_t millpondBuildSingleOps(const char* json_file, const char* folder,
                                                                       size_t* count);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_MILLPOND_ATC_H_
