// SPDX-License-Identifier: Apache-2.0
// libacl_tdt_channel.so: tensors between host and device queues.

#include "include/acl/acl_tdt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoChannels[] =
    "data channels to the device are not in this release; copy tensors with aclrtMemcpyAsync";

}  // namespace

// Channels, datasets and items.
MP_REFUSE(aclError, acltdtAddDataItem, (acltdtDataset*, acltdtDataItem*), kNoChannels)
MP_REFUSE(aclError, acltdtCleanChannel, (acltdtChannelHandle*), kNoChannels)
MP_REFUSE(acltdtChannelHandle*, acltdtCreateChannel, (uint32_t, const char*), kNoChannels)
MP_REFUSE(acltdtChannelHandle*, acltdtCreateChannelWithCapacity, (uint32_t, const char*, size_t), kNoChannels)
MP_REFUSE(acltdtDataItem*, acltdtCreateDataItem, (acltdtTensorType, const int64_t*, size_t, aclDataType, void*, size_t),
          kNoChannels)
MP_REFUSE(acltdtDataset*, acltdtCreateDataset, (), kNoChannels)
MP_REFUSE(aclError, acltdtDestroyChannel, (acltdtChannelHandle*), kNoChannels)
MP_REFUSE(aclError, acltdtDestroyDataItem, (acltdtDataItem*), kNoChannels)
MP_REFUSE(aclError, acltdtDestroyDataset, (acltdtDataset*), kNoChannels)
MP_REFUSE(void*, acltdtGetDataAddrFromItem, (const acltdtDataItem*), kNoChannels)
MP_REFUSE(acltdtDataItem*, acltdtGetDataItem, (const acltdtDataset*, size_t), kNoChannels)
MP_REFUSE(size_t, acltdtGetDataSizeFromItem, (const acltdtDataItem*), kNoChannels)
MP_REFUSE_WITH(aclDataType, ACL_DT_UNDEFINED, acltdtGetDataTypeFromItem, (const acltdtDataItem*), kNoChannels)
MP_REFUSE(const char*, acltdtGetDatasetName, (const acltdtDataset*), kNoChannels)
MP_REFUSE(size_t, acltdtGetDatasetSize, (const acltdtDataset*), kNoChannels)
MP_REFUSE(size_t, acltdtGetDimNumFromItem, (const acltdtDataItem*), kNoChannels)
MP_REFUSE(aclError, acltdtGetDimsFromItem, (const acltdtDataItem*, int64_t*, size_t), kNoChannels)
MP_REFUSE(aclError, acltdtGetSliceInfoFromItem, (const acltdtDataItem*, size_t*, size_t*), kNoChannels)
MP_REFUSE_WITH(acltdtTensorType, ACL_TENSOR_DATA_UNDEFINED, acltdtGetTensorTypeFromItem, (const acltdtDataItem*),
               kNoChannels)
MP_REFUSE(aclError, acltdtQueryChannelSize, (const acltdtChannelHandle*, size_t*), kNoChannels)
MP_REFUSE(aclError, acltdtReceiveTensor, (const acltdtChannelHandle*, acltdtDataset*, int32_t), kNoChannels)
MP_REFUSE(aclError, acltdtSendTensor, (const acltdtChannelHandle*, const acltdtDataset*, int32_t), kNoChannels)
MP_REFUSE(aclError, acltdtStopChannel, (acltdtChannelHandle*), kNoChannels)
