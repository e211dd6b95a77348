// SPDX-License-Identifier: Apache-2.0
// Buffers passed between device queues.

#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoMbuf[] =
    "device queues and their buffers do not exist here; share memory with aclrtIpcMemGetExportKey instead";

}  // namespace

// Memory buffers.
MP_REFUSE(aclError, aclrtAllocBuf, (aclrtMbuf*, size_t), kNoMbuf)
MP_REFUSE(aclError, aclrtFreeBuf, (aclrtMbuf), kNoMbuf)
MP_REFUSE(aclError, aclrtGetBufChainNum, (aclrtMbuf, uint32_t*), kNoMbuf)
MP_REFUSE(aclError, aclrtGetBufData, (aclrtMbuf, void**, size_t*), kNoMbuf)
MP_REFUSE(aclError, aclrtGetBufDataLen, (aclrtMbuf, size_t*), kNoMbuf)
MP_REFUSE(aclError, aclrtGetBufFromChain, (aclrtMbuf, uint32_t, aclrtMbuf*), kNoMbuf)
MP_REFUSE(aclError, aclrtGetBufUserData, (aclrtMbuf, void*, size_t, size_t), kNoMbuf)
MP_REFUSE(aclError, aclrtSetBufDataLen, (aclrtMbuf, size_t), kNoMbuf)
MP_REFUSE(aclError, aclrtSetBufUserData, (aclrtMbuf, const void*, size_t, size_t), kNoMbuf)
MP_REFUSE(aclError, aclrtCopyBufRef, (aclrtMbuf, aclrtMbuf*), kNoMbuf)
MP_REFUSE(aclError, aclrtAppendBufChain, (aclrtMbuf, aclrtMbuf), kNoMbuf)
