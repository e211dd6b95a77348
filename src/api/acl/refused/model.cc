// SPDX-License-Identifier: Apache-2.0
// Of offline models: queues, and what only other hardware has.

#include "include/acl/acl_mdl.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoQueues[] =
    "queues belong to NPU hardware; load the model with aclmdlLoadFromFile or aclmdlLoadFromMem";
constexpr char kNoExeOm[] = "files of this kind are for other hardware; aclmdlQuerySize tells what a model needs";
constexpr char kNoOpDesc[] =
    "operators of a model are not numbered by task here; the stream's error names the one that failed";

}  // namespace

MP_REFUSE(aclError, aclmdlQueryExeOMDesc, (const char*, aclmdlExeOMDesc*), kNoExeOm)
MP_REFUSE(aclError, aclmdlLoadFromFileWithQ, (const char*, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t),
          kNoQueues)
MP_REFUSE(aclError, aclmdlLoadFromMemWithQ,
          (const void*, size_t, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t), kNoQueues)
MP_REFUSE(aclError, aclmdlCreateAndGetOpDesc,
          (uint32_t, uint32_t, uint32_t, char*, size_t, aclTensorDesc**, size_t*, aclTensorDesc**, size_t*), kNoOpDesc)
