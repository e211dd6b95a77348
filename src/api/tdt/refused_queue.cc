// SPDX-License-Identifier: Apache-2.0
// libacl_tdt_queue.so: queues between processes.

#include "include/acl/acl_tdt_queue.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoQueues[] =
    "device queues are not in this release; share memory with aclrtIpcMemGetExportKey and order with notifies";

}  // namespace

// Queues, routes and buffers.
MP_REFUSE(aclError, acltdtAddQueueRoute, (acltdtQueueRouteList*, const acltdtQueueRoute*), kNoQueues)
MP_REFUSE(aclError, acltdtAllocBuf, (size_t, uint32_t, acltdtBuf*), kNoQueues)
MP_REFUSE(aclError, acltdtAppendBufChain, (acltdtBuf, acltdtBuf), kNoQueues)
MP_REFUSE(aclError, acltdtAttachQueue, (uint32_t, int32_t, uint32_t*), kNoQueues)
MP_REFUSE(aclError, acltdtBindQueueRoutes, (acltdtQueueRouteList*), kNoQueues)
MP_REFUSE(aclError, acltdtCopyBufRef, (acltdtBuf, acltdtBuf*), kNoQueues)
MP_REFUSE(aclError, acltdtCreateQueue, (const acltdtQueueAttr*, uint32_t*), kNoQueues)
MP_REFUSE(acltdtQueueAttr*, acltdtCreateQueueAttr, (), kNoQueues)
MP_REFUSE(acltdtQueueRoute*, acltdtCreateQueueRoute, (uint32_t, uint32_t), kNoQueues)
MP_REFUSE(acltdtQueueRouteList*, acltdtCreateQueueRouteList, (), kNoQueues)
MP_REFUSE(acltdtQueueRouteQueryInfo*, acltdtCreateQueueRouteQueryInfo, (), kNoQueues)
MP_REFUSE(aclError, acltdtDequeue, (uint32_t, acltdtBuf*, int32_t), kNoQueues)
MP_REFUSE(aclError, acltdtDequeueData, (uint32_t, void*, size_t, size_t*, void*, size_t, int32_t), kNoQueues)
MP_REFUSE(aclError, acltdtDestroyQueue, (uint32_t), kNoQueues)
MP_REFUSE(aclError, acltdtDestroyQueueAttr, (const acltdtQueueAttr*), kNoQueues)
MP_REFUSE(aclError, acltdtDestroyQueueRoute, (const acltdtQueueRoute*), kNoQueues)
MP_REFUSE(aclError, acltdtDestroyQueueRouteList, (const acltdtQueueRouteList*), kNoQueues)
MP_REFUSE(aclError, acltdtDestroyQueueRouteQueryInfo, (const acltdtQueueRouteQueryInfo*), kNoQueues)
MP_REFUSE(aclError, acltdtEnqueue, (uint32_t, acltdtBuf, int32_t), kNoQueues)
MP_REFUSE(aclError, acltdtEnqueueData, (uint32_t, const void*, size_t, const void*, size_t, int32_t, uint32_t),
          kNoQueues)
MP_REFUSE(aclError, acltdtFreeBuf, (acltdtBuf), kNoQueues)
MP_REFUSE(aclError, acltdtGetBufChainNum, (acltdtBuf, uint32_t*), kNoQueues)
MP_REFUSE(aclError, acltdtGetBufData, (acltdtBuf, void**, size_t*), kNoQueues)
MP_REFUSE(aclError, acltdtGetBufDataLen, (acltdtBuf, size_t*), kNoQueues)
MP_REFUSE(aclError, acltdtGetBufFromChain, (acltdtBuf, uint32_t, acltdtBuf*), kNoQueues)
MP_REFUSE(aclError, acltdtGetBufUserData, (acltdtBuf, void*, size_t, size_t), kNoQueues)
MP_REFUSE(aclError, acltdtGetQueueAttr, (const acltdtQueueAttr*, acltdtQueueAttrType, size_t, size_t*, void*),
          kNoQueues)
MP_REFUSE(aclError, acltdtGetQueueRoute, (const acltdtQueueRouteList*, size_t, acltdtQueueRoute*), kNoQueues)
MP_REFUSE(size_t, acltdtGetQueueRouteNum, (const acltdtQueueRouteList*), kNoQueues)
MP_REFUSE(aclError, acltdtGetQueueRouteParam,
          (const acltdtQueueRoute*, acltdtQueueRouteParamType, size_t, size_t*, void*), kNoQueues)
MP_REFUSE(aclError, acltdtGrantQueue, (uint32_t, int32_t, uint32_t, int32_t), kNoQueues)
MP_REFUSE(aclError, acltdtQueryQueueRoutes, (const acltdtQueueRouteQueryInfo*, acltdtQueueRouteList*), kNoQueues)
MP_REFUSE(aclError, acltdtSetBufDataLen, (acltdtBuf, size_t), kNoQueues)
MP_REFUSE(aclError, acltdtSetBufUserData, (acltdtBuf, const void*, size_t, size_t), kNoQueues)
MP_REFUSE(aclError, acltdtSetQueueAttr, (acltdtQueueAttr*, acltdtQueueAttrType, size_t, const void*), kNoQueues)
MP_REFUSE(aclError, acltdtSetQueueRouteQueryInfo,
          (acltdtQueueRouteQueryInfo*, acltdtQueueRouteQueryInfoParamType, size_t, const void*), kNoQueues)
MP_REFUSE(aclError, acltdtUnbindQueueRoutes, (acltdtQueueRouteList*), kNoQueues)
