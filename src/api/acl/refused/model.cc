// SPDX-License-Identifier: Apache-2.0
// Of offline models: queues, image preprocessing, and what only other hardware has.

#include "include/acl/acl_mdl.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoQueues[] =
    "queues belong to NPU hardware; load the model with aclmdlLoadFromFile or aclmdlLoadFromMem";
constexpr char kNoExeOm[] = "files of this kind are for other hardware; aclmdlQuerySize tells what a model needs";
constexpr char kNoOpDesc[] =
    "operators of a model are not numbered by task here; the stream's error names the one that failed";
constexpr char kNoAipp[] =
    "image preprocessing (AIPP) is NPU hardware, and models are built without it here; resize and convert on the host";

}  // namespace

MP_REFUSE(aclError, aclmdlQueryExeOMDesc, (const char*, aclmdlExeOMDesc*), kNoExeOm)
MP_REFUSE(aclError, aclmdlLoadFromFileWithQ, (const char*, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t),
          kNoQueues)
MP_REFUSE(aclError, aclmdlLoadFromMemWithQ,
          (const void*, size_t, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t), kNoQueues)
MP_REFUSE(aclError, aclmdlCreateAndGetOpDesc,
          (uint32_t, uint32_t, uint32_t, char*, size_t, aclTensorDesc**, size_t*, aclTensorDesc**, size_t*), kNoOpDesc)

// Image preprocessing.
MP_REFUSE(aclmdlAIPP*, aclmdlCreateAIPP, (uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlDestroyAIPP, (const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPAxSwapSwitch, (aclmdlAIPP*, int8_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPByInputIndex, (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPCropParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPCscParams,
          (aclmdlAIPP*, int8_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t,
           uint8_t, uint8_t, uint8_t, uint8_t, uint8_t, uint8_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPDtcPixelMean, (aclmdlAIPP*, int16_t, int16_t, int16_t, int16_t, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPDtcPixelMin, (aclmdlAIPP*, float, float, float, float, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPInputFormat, (aclmdlAIPP*, aclAippInputFormat), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPPaddingParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPPixelVarReci, (aclmdlAIPP*, float, float, float, float, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPRbuvSwapSwitch, (aclmdlAIPP*, int8_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPScfParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPSrcImageSize, (aclmdlAIPP*, int32_t, int32_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetInputAIPP, (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetAippDataSize, (uint64_t, size_t*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetAippType, (uint32_t, size_t, aclmdlInputAippType*, size_t*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetFirstAippInfo, (uint32_t, size_t, aclAippInfo*), kNoAipp)
