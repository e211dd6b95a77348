// SPDX-License-Identifier: Apache-2.0
// libopapi's entry points are generated: each packs its arguments into words and calls one of these two, which
// libnnopbase has. The row says what each word is.
#ifndef MILLPOND_SRC_API_ACLNN_ENTRY_H_
#define MILLPOND_SRC_API_ACLNN_ENTRY_H_

#include <bit>
#include <cstdint>

#include "include/aclnn/acl_meta.h"

extern "C" {
// Phase 1: checks, copies the arguments into an executor, tells the workspace (none is ever needed). `api` is the
// caller's own name (a row may have two first phases) and lives as long as the process.
ACL_FUNC_VISIBILITY aclnnStatus millpondAclnnPrepare(uint32_t row, const char* api, const uint64_t* words,
                                                     uint64_t* workspace_size, aclOpExecutor** executor);
// Phase 2: queues the operation; ends the executor unless it is repeatable. `caller` is the address that the entry
// point returns to: ranks that disagree are told the line.
ACL_FUNC_VISIBILITY aclnnStatus millpondAclnnLaunch(uint32_t row, const void* caller, aclOpExecutor* executor,
                                                    aclrtStream stream);
}

namespace millpond::aclnn {

inline uint64_t Word(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
inline uint64_t Word(int64_t value) { return static_cast<uint64_t>(value); }
inline uint64_t Word(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace millpond::aclnn

#endif  // MILLPOND_SRC_API_ACLNN_ENTRY_H_
