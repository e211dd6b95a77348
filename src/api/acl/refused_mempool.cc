// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools.

#include "include/acl/acl_rt_memory_soma.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoPool[] =
    "stream-ordered pools are not in this release; use aclrtMalloc and free after aclrtSynchronizeStream";

}  // namespace

// Pools.
MP_REFUSE(aclError, aclrtMemPoolCreate, (aclrtMemPool*, const aclrtMemPoolProps*), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolDestroy, (aclrtMemPool), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolFreeAsync, (void*, aclrtStream), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolGetAttr, (aclrtMemPool, aclrtMemPoolAttr, void*), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolMallocAsync, (void**, size_t, aclrtMemPool, aclrtStream), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolSetAttr, (aclrtMemPool, aclrtMemPoolAttr, void*), kNoPool)
MP_REFUSE(aclError, aclrtMemPoolTrimTo, (aclrtMemPool, size_t), kNoPool)
